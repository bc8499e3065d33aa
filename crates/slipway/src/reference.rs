//! The command reference `docs/cli.md`, made from the commands themselves. `UPDATE=1 cargo test -p
//! slipway` rewrites it; otherwise a difference fails the test, so that reviewers see what changes
//! for users.

use clap::{Command, CommandFactory as _};

use crate::commands::Cli;

const HEAD: &str = "# The command line\n\n\
    Made from the commands themselves; `UPDATE=1 cargo test -p slipway` rewrites it.\n\
    Data goes to standard output, everything else to standard error.\n";

fn page() -> String {
    // A fixed width, whatever the terminal.
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut page = HEAD.to_owned();
    write(&mut page, &mut root, "");
    page
}

fn write(page: &mut String, command: &mut Command, above: &str) {
    let name = format!("{above}{}", command.get_name());
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end()));
    for inner in command.get_subcommands_mut() {
        write(page, inner, &format!("{name} "));
    }
}

#[test]
fn the_command_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).expect("written");
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "docs/cli.md is out of date; run: UPDATE=1 cargo test -p slipway");
}
