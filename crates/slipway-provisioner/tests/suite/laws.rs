//! What every table of the provisioner obeys, those still to come included.

use std::{collections::BTreeSet, fs};

use slipway_provisioner::{processes::TABLES, registry};

use crate::golden;

/// File names and step names are the same but for case and underscores.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn steps() -> BTreeSet<&'static str> {
    TABLES.iter().flat_map(|table| table.rows.iter().chain(table.finalizers)).map(|row| row.step.name()).collect()
}

#[test]
fn every_table_can_be_run() {
    assert_eq!(registry().expect("all tables are right").processes().count(), TABLES.len());
}

/// The names appear in ledgers, metrics and scripts of operators. A change shows up in review as a
/// change of this file.
#[test]
fn the_names_in_the_tables_are_the_pinned_ones() {
    let mut text = String::new();
    for table in TABLES {
        for row in table.rows.iter().chain(table.finalizers) {
            text.push_str(&format!("{}@{} {} {}\n", table.name, table.version, row.stage, row.step.name()));
        }
    }
    golden::assert_same("crates/slipway-provisioner/tests/suite/names.txt", &text);
}

#[test]
fn no_two_steps_share_a_name() {
    let all = steps();
    assert_eq!(all.iter().map(|name| plain(name)).collect::<BTreeSet<_>>().len(), all.len());
}

#[test]
fn every_step_has_its_file_and_every_file_is_used_by_a_table() {
    let folder = golden::at("crates/slipway-provisioner/src/steps");
    let files = fs::read_dir(folder).expect("the folder of steps").map(|entry| entry.expect("an entry").path());
    let files: BTreeSet<_> = files.map(|path| plain(&path.file_stem().expect("a name").to_string_lossy())).collect();
    let used: BTreeSet<_> = steps().into_iter().map(plain).collect();
    assert_eq!(files, used);
}

/// The how-to shows this order, and reviewers look for it.
#[test]
fn every_step_file_says_why_it_is_there_why_a_repeat_is_harmless_and_when_it_gives_up() {
    let folder = golden::at("crates/slipway-provisioner/src/steps");
    for entry in fs::read_dir(folder).expect("the folder of steps") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a step file");
        let mut rest = text.as_str();
        for part in ["//! **Why here:**", "//! **Why a repeat does no harm:**", "//! **When we give up:**"] {
            let at = rest.find(part).unwrap_or_else(|| panic!("{} lacks {part} in its place", path.display()));
            rest = &rest[at..];
        }
    }
}
