//! The one binary. Data goes to standard output, everything else to standard error, and the exit
//! code says how it ended.

mod commands;
mod failure;
#[cfg(test)]
mod reference;

use std::process::ExitCode;

use clap::Parser as _;

/// Most of what we hold are trees of small pieces; why this one, is said in the workspace manifest.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = commands::Cli::parse();
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.is_told() {
                eprintln!("slipway: {failure}");
            }
            failure.exit_code()
        }
    }
}
