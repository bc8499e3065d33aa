//! The storage port on PostgreSQL, SQLite and memory.
//!
//! The memory store is the executable description of the port: it is the shortest, it applies the
//! rules of `slipway-model` directly, and the simulation runs on it. The SQL stores say the same
//! in SQL: `sql`, `operations` and `runtimes` once for both databases, and their folders what they say
//! their own way. One conformance suite (`tests/suite`) holds all three to it.

mod claims;
mod error;
mod hints;
pub mod memory;
mod operations;
pub mod postgres;
mod rows;
mod runtimes;
mod schema;
pub mod secrets;
mod sql;
pub mod sqlite;
pub mod testing;

pub use error::OpenError;
pub use memory::MemoryStore;
pub use postgres::{PgOptions, PgStore};
pub use secrets::{Keyring, KeyringError};
pub use sqlite::SqliteStore;
