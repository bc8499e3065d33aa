//! The storage port on PostgreSQL: any number of replicas share one database.
//!
//! Every transaction is READ COMMITTED, and the files below say for each race why it is harmless.
//! They lean on three things:
//!
//! * **Row locks.** Whoever changes an operation holds its row. A statement that waited for a row
//!   judges it by its newest version.
//! * **A lock per instance**, taken before any row lock by those who insert or end an operation, so
//!   that "who is next" is asked by one at a time. Claims do not take it; see `claim`.
//! * **A lock per wait key**, shared by those who are about to wait and exclusive for those who
//!   wake; see `commit`.
//!
//! Locks are taken in the order of their numbers, so they cannot form a ring. Where rows can (two
//! groups that share rows after a take-over), the database breaks the ring and the call is made
//! again, which every call of the port allows.

mod claim;
mod commit;
mod group;
mod listen;
mod open;
mod queue;
mod wake;

use std::{sync::Arc, time::Duration};

use slipway_model::{ports::Clock, time::secs};
use sqlx::{PgConnection, PgPool};

use crate::{
    error::OpenError,
    secrets::Keyring,
    sql::{Access, Database, SqlStore, send_by_sqlx},
};
use listen::Channel;

/// How a store uses its server.
#[derive(Debug, Clone)]
pub struct PgOptions {
    /// Connections at most, one for hints not counted. Four to eight are enough for two cores; see
    /// the measurements in the store's design notes.
    pub max_connections: u32,
    /// How long a call waits for a free connection.
    pub acquire_timeout: Duration,
    /// How long the server works on one statement at most.
    pub statement_timeout: Duration,
}

impl Default for PgOptions {
    fn default() -> Self {
        Self { max_connections: 8, acquire_timeout: secs(5), statement_timeout: secs(30) }
    }
}

/// Storage on PostgreSQL.
pub type PgStore = SqlStore<Postgres>;

/// The connections to a server.
pub struct Postgres {
    pool: PgPool,
    channel: Channel,
    /// A server that has vanished without closing the connection answers nothing, not even its own
    /// timeout.
    patience: Duration,
}

impl Database for Postgres {
    type Driver = sqlx::Postgres;

    fn pool(&self, _: Access) -> &PgPool {
        &self.pool
    }

    fn begins_with(access: Access) -> Option<&'static str> {
        match access {
            // A statement is a transaction by itself.
            Access::Read | Access::Statement => None,
            Access::Transaction => Some("BEGIN"),
        }
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.patience)
    }

    fn tell_others(&self) {
        self.channel.tell();
    }
}

send_by_sqlx!(
    PgConnection,
    sqlx::Postgres,
    lock_instance: Some("SELECT pg_advisory_xact_lock(hashtextextended('instance/' || $1, 0))"),
    list: |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>()
);

impl PgStore {
    /// Connects, brings the schema up to date and checks the keys; refuses with one sentence, and
    /// without having written anything, where that cannot be right.
    pub async fn open(
        url: &str,
        keyring: Keyring,
        options: PgOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        open::open(url, keyring, options, clock).await
    }

    /// Closes all connections; later calls answer that the store is closed.
    pub async fn close(&self) {
        self.database.channel.stop();
        self.database.pool.close().await;
    }
}
