//! The broker's processes: one table each. A table in use is never edited: copy it, raise the
//! version, and keep the old one until no unfinished operation needs it.

pub mod hello;

pub use hello::HELLO;

use std::collections::BTreeMap;

use slipway_clients::Connections;
use slipway_engine::{ProcessTable, Registry, TableError};

use crate::domain::Broker;

/// All tables.
pub static TABLES: &[&ProcessTable<Broker>] = &[&HELLO];

/// The processes that cannot be started while these systems are as they are, and why.
pub fn not_offered(outside: &Connections) -> BTreeMap<&'static str, String> {
    let without_hello = outside.find::<slipway_clients::hello::Client>().is_none();
    let why = "the system it calls is not set up; give its address as hello.url".to_owned();
    without_hello.then_some((HELLO.name, why)).into_iter().collect()
}

/// All processes the broker can run.
pub fn registry() -> Result<Registry<Broker>, TableError> {
    TABLES.iter().try_fold(Registry::default(), |registry, table| registry.with(table))
}
