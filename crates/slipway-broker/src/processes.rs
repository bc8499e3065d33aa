//! The broker's processes: one table each. A table in use is never edited: copy it, raise the
//! version, and keep the old one until no unfinished operation needs it.

pub mod hello;

pub use hello::HELLO;

use slipway_engine::{ProcessTable, Registry, TableError};

use crate::domain::Broker;

/// All tables.
pub static TABLES: &[&ProcessTable<Broker>] = &[&HELLO];

/// All processes the broker can run.
pub fn registry() -> Result<Registry<Broker>, TableError> {
    TABLES.iter().try_fold(Registry::default(), |registry, table| registry.with(table))
}
