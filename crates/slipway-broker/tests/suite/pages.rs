//! Pages that are made from the tables, and a how-to that quotes code which is compiled.

use std::fs;

use slipway_broker::Broker;
use slipway_engine::{ProcessTable, Row, laws};
use slipway_model::time::spell;

use crate::laws::LAWS;

fn page(table: &ProcessTable<Broker>) -> String {
    format!(
        "# Process {name}\n\n<!-- Made from the table in slipway-broker/src/processes/{name}.rs. `UPDATE=1 cargo test -p slipway-broker` rewrites it. -->\n\n\
         Version {version}, runs as `{kind}`, and has {budget} for everything.\n\n\
         A stage that is finished never runs again; one that is not begins anew after a restart. *One run* is how long the step's code may \
         take before it is broken off and tried again.\n\n{rows}",
        name = table.name,
        version = table.version,
        kind = table.kind,
        budget = spell(table.budget),
        rows = all_rows(table),
    )
}

fn all_rows(table: &ProcessTable<Broker>) -> String {
    let mut text = rows(table.rows);
    if !table.finalizers.is_empty() {
        text.push_str(&format!("\nBefore the end, whatever it is:\n\n{}", rows(table.finalizers)));
    }
    text
}

fn rows(rows: &[Row<Broker>]) -> String {
    let mut text = String::from("| Stage | Weight | Step | Component | One run |\n|---|---|---|---|---|\n");
    for Row { stage, weight, step } in rows {
        let (name, component) = (step.name(), step.component());
        let deadline = spell(step.deadline());
        text.push_str(&format!("| `{stage}` | {weight} | `{name}` | `{component}` | {deadline} |\n"));
    }
    text
}

#[test]
fn every_process_has_its_page_and_it_is_up_to_date() {
    LAWS.assert_pages_are_up_to_date(page, all_rows);
}

/// The lines of a file from the first that begins with `from` to the next that begins with `to`.
fn quote(path: &str, from: &str, to: &str) -> String {
    let text = fs::read_to_string(laws::at(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines: Vec<_> = text.lines().collect();
    let begin = lines.iter().position(|line| line.starts_with(from));
    let begin = begin.unwrap_or_else(|| panic!("no line of {path} begins with {from:?}"));
    let length = lines[begin..].iter().position(|line| line.starts_with(to));
    let length = length.unwrap_or_else(|| panic!("no later line of {path} begins with {to:?}"));
    lines[begin..=begin + length].join("\n")
}

/// Puts the present text behind every mark `<!-- quote "path" "from" "to" -->`.
fn with_quotes(page: &str) -> String {
    let (mut text, mut lines) = (String::new(), page.lines());
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(mark) = line.strip_prefix("<!-- quote ").and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let parts: Vec<_> = mark.split('"').collect();
        let [_, path, _, from, _, to, _] = parts[..] else { panic!("a mark needs a path, a begin and an end: {line}") };
        assert_eq!(lines.next(), Some("```rust"), "a block follows the mark {line}");
        for old in lines.by_ref() {
            if old == "```" {
                break;
            }
        }
        text.push_str(&format!("```rust\n{}\n```\n", quote(path, from, to)));
    }
    text
}

#[test]
fn the_how_to_quotes_what_is_in_the_files() {
    let path = "docs/how-to-add-a-step.md";
    let page = fs::read_to_string(laws::at(path)).expect("the how-to");
    assert!(page.matches("<!-- quote ").count() >= 3, "it quotes the sample step");
    LAWS.assert_same(path, &with_quotes(&page));
}
