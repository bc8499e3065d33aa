//! The storage port on SQLite: one process, one file.
//!
//! There is exactly one writing connection, so writes come one after the other and no race of the
//! PostgreSQL store exists here; each call is one `BEGIN IMMEDIATE` transaction, durable when it
//! answers (`synchronous=FULL`). Readers have connections of their own and, with the write-ahead
//! log, never wait for the writer. Another process may open the same file; it takes turns.

mod claim;
mod commit;
mod open;
mod queue;

use std::{path::Path, sync::Arc, time::Duration};

use slipway_model::ports::Clock;
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    error::OpenError,
    rows::json,
    secrets::Keyring,
    sql::{Access, Database, SqlStore, send_by_sqlx},
};

/// Storage in one SQLite file.
pub type SqliteStore = SqlStore<Sqlite>;

/// The connections to a file.
pub struct Sqlite {
    /// One connection.
    writer: SqlitePool,
    readers: SqlitePool,
}

/// Takes the right to write at once, instead of finding it taken in the middle.
const BEGIN: &str = "BEGIN IMMEDIATE";

impl Database for Sqlite {
    type Driver = sqlx::Sqlite;

    fn pool(&self, access: Access) -> &SqlitePool {
        match access {
            Access::Read => &self.readers,
            Access::Statement | Access::Transaction => &self.writer,
        }
    }

    fn begins_with(access: Access) -> Option<&'static str> {
        match access {
            Access::Read => None,
            Access::Statement | Access::Transaction => Some(BEGIN),
        }
    }

    /// A file always answers.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// There are none.
    fn tell_others(&self) {}
}

send_by_sqlx!(SqliteConnection, sqlx::Sqlite, lock_instance: None, list: |list: Vec<&str>| json(&list));

impl SqliteStore {
    /// Opens or creates the file, brings the schema up to date and checks the keys; refuses with
    /// one sentence, and without having written anything, where that cannot be right.
    pub async fn open(path: &Path, keyring: Keyring, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        open::open(path, keyring, clock).await
    }

    /// Closes the file; later calls answer that the store is closed.
    pub async fn close(&self) {
        self.database.readers.close().await;
        self.database.writer.close().await;
    }
}
