//! `slipway config`: questions about the configuration that need no server.

use clap::{Args, Subcommand};
use slipway_server::config::{self, Database};

use super::serve::From;
use crate::failure::{EXIT_CODES, Failure};

/// Questions about the configuration.
#[derive(Subcommand)]
pub(super) enum Config {
    Check(Check),
}

/// Check the configuration of `slipway serve` without starting anything.
///
/// Reads file, environment and flags as `serve` does, and says what is wrong first. It does not
/// talk to the database.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Check {
    #[command(flatten)]
    from: From,
}

impl Config {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self::Check(check) = self;
        let settings = config::load(&check.from.sources()).map_err(Failure::usage)?;
        let database = match &settings.database {
            Database::Postgres { .. } => "PostgreSQL".to_owned(),
            Database::Sqlite { path } => format!("SQLite in {}", path.display()),
        };
        println!("the configuration is good: {database}, API on {}", settings.listen);
        Ok(())
    }
}
