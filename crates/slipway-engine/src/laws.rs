//! Test machinery: the laws that the process tables of every service obey, and the files that are made from them.
//!
//! Files that are made from code are checked in and compared; with `UPDATE=1` they are made anew.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use crate::{
    process::{ProcessTable, Row},
    step::Domain,
};

/// A path from the top of the repository.
pub fn at(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// All tables of a service.
pub struct Laws<D: Domain> {
    /// The crate they are in.
    pub krate: &'static str,
    /// The tables.
    pub tables: &'static [&'static ProcessTable<D>],
}

impl<D: Domain> Laws<D> {
    /// The file must say this. With `UPDATE=1` it is made to.
    pub fn assert_same(&self, path: &str, wanted: &str) {
        let file = at(path);
        if env::var_os("UPDATE").is_some() {
            fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the folder can be made");
            fs::write(&file, wanted).expect("the file can be written");
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        let krate = self.krate;
        assert!(found == wanted, "{path} is not what the code says; `UPDATE=1 cargo test -p {krate}` rewrites it");
    }

    /// The names appear in ledgers, metrics and scripts of operators. A change shows up in review as a change of
    /// the file `names.txt` of the crate's suite.
    pub fn assert_names_are_pinned(&self) {
        let mut text = String::new();
        for table in self.tables {
            for row in rows(table) {
                text.push_str(&format!("{}@{} {} {}\n", table.name, table.version, row.stage, row.step.name()));
            }
        }
        self.assert_same(&format!("crates/{}/tests/suite/names.txt", self.krate), &text);
    }

    /// No two steps share a name, and each has its file; no other file is among them.
    pub fn assert_steps_and_files_match(&self) {
        let steps: BTreeSet<_> = self.tables.iter().flat_map(|table| rows(table)).map(|row| row.step.name()).collect();
        let names: BTreeSet<_> = steps.iter().map(|name| plain(name)).collect();
        assert_eq!(names.len(), steps.len(), "two steps share a name");
        let stem = |path: PathBuf| plain(&path.file_stem().unwrap_or_default().to_string_lossy());
        assert_eq!(self.step_files().map(stem).collect::<BTreeSet<_>>(), names);
    }

    /// The how-to shows this order, and reviewers look for it.
    pub fn assert_step_files_give_their_reasons(&self) {
        for path in self.step_files() {
            let text = fs::read_to_string(&path).expect("a step file");
            let mut rest = text.as_str();
            for part in ["//! **Why here:**", "//! **Why a repeat does no harm:**", "//! **When we give up:**"] {
                let at = rest.find(part).unwrap_or_else(|| panic!("{} lacks {part} in its place", path.display()));
                rest = &rest[at..];
            }
        }
    }

    /// Every process has its page. Of several versions it shows the newest first: that is what a new request gets.
    pub fn assert_pages_are_up_to_date(
        &self,
        page: impl Fn(&ProcessTable<D>) -> String,
        rows: impl Fn(&ProcessTable<D>) -> String,
    ) {
        let names: BTreeSet<_> = self.tables.iter().map(|table| table.name).collect();
        for name in names {
            let mut versions: Vec<_> = self.tables.iter().filter(|table| table.name == name).collect();
            versions.sort_by_key(|table| std::cmp::Reverse(table.version));
            let mut text = page(versions[0]);
            for old in &versions[1..] {
                let heading = format!("\n## Version {}, for operations that began on it\n\n", old.version);
                text.push_str(&heading);
                text.push_str(&rows(old));
            }
            self.assert_same(&format!("docs/processes/{name}.md"), &text);
        }
    }

    fn step_files(&self) -> impl Iterator<Item = PathBuf> {
        let folder = at(&format!("crates/{}/src/steps", self.krate));
        fs::read_dir(folder).expect("the folder of steps").map(|entry| entry.expect("an entry").path())
    }
}

fn rows<D: Domain>(table: &'static ProcessTable<D>) -> impl Iterator<Item = &'static Row<D>> {
    table.rows.iter().chain(table.finalizers)
}

/// File names and step names are the same but for case and underscores.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}
