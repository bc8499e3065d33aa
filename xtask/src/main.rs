//! The workshop: house rules as checks, and the one test command.
//!
//! Standard library only, so that it builds in seconds before anything else does and cannot be
//! broken by the dependencies it watches over.

mod ci;
mod layers;
mod manifest;
mod testbins;
mod tidy;
mod tree;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

const HELP: &str = "\
The workshop of Slipway.

Usage: cargo xtask <command>

Commands:
  tidy      check the house rules that the compiler and clippy cannot
  testbins  build the real servers that the contract suites judge by, and print their folder
  ci        run everything: tools, format, lints, tidy, tests; what `make test` calls
  help      print this

Exit codes: 0 all is well, 1 something is to be mended, 2 the command was not understood.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        ["tidy"] => exit(tidy::run(&root())),
        ["testbins"] => exit(testbins::run(&root())),
        ["ci"] => exit(ci::run(&root())),
        other => {
            eprintln!("xtask does not know `{}`.\n\n{HELP}", other.join(" "));
            ExitCode::from(2)
        }
    }
}

fn exit(all_well: bool) -> ExitCode {
    if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The repository: the folder above this crate, so that the command works from any folder in it.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
