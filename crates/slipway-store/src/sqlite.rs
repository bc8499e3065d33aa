//! The storage port on SQLite: one process, one file.
//!
//! There is exactly one writing connection, so writes come one after the other and no race of the
//! PostgreSQL store exists here; each call is one `BEGIN IMMEDIATE` transaction, durable when it
//! answers (`synchronous=FULL`). Readers have connections of their own and, with the write-ahead
//! log, never wait for the writer. Another process may open the same file; it takes turns.

mod actions;
mod claim;
mod commit;
mod enqueue;
mod open;
mod read;
mod replicas;

use std::{path::Path, sync::Arc};

use slipway_model::{
    Action, Operation, OperationId, Record, ReplicaId, StepRecord, Timestamp, WaitKey,
    operation::{Fields, NewOperation},
    ports::{
        BoxFuture, ClaimRequest, Claimed, Clock, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer,
        Registration, Storage, StoreError, StoreResult, WakeListener,
    },
    state::Class,
};
use sqlx::{Sqlite, SqlitePool, Transaction};

use crate::{
    error::{Fault, OpenError, Tried},
    hints::{Hints, News},
    runtimes::keys,
    secrets::Keyring,
};

/// Storage in one SQLite file.
pub struct SqliteStore {
    /// One connection.
    writer: SqlitePool,
    readers: SqlitePool,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    hints: Hints,
}

/// Runs `$work` as one transaction of the writer, lent as `$tx`; whatever fails is rolled back.
macro_rules! write {
    ($store:expr, $tx:ident => $work:expr) => {{
        let tried = async {
            let mut own = $store.begin().await?;
            let $tx = &mut own;
            let answer = $work.await?;
            own.commit().await?;
            Tried::Ok(answer)
        };
        tried.await.map_err(StoreError::from)
    }};
}

/// Runs `$work` on a reading connection, lent as `$conn`.
macro_rules! read {
    ($store:expr, $conn:ident => $work:expr) => {{
        let tried = async {
            let mut lent = $store.readers.acquire().await?;
            let $conn: &mut sqlx::SqliteConnection = &mut lent;
            $work.await
        };
        tried.await.map_err(|fault: Fault| StoreError::from(fault))
    }};
}

// Below the macros, which it uses.
mod runtimes;

impl SqliteStore {
    /// Opens or creates the file, brings the schema up to date and checks the keys; refuses with
    /// one sentence, and without having written anything, where that cannot be right.
    pub async fn open(path: &Path, keyring: Keyring, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        open::open(path, keyring, clock).await
    }

    /// Closes the file; later calls answer that the store is closed.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.writer.begin_with("BEGIN IMMEDIATE").await
    }
}

impl Storage for SqliteStore {
    fn register<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Registration>> {
        Box::pin(async move { write!(self, tx => replicas::register(tx, replica, self.clock.wall())) })
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        Box::pin(async move { write!(self, tx => replicas::heartbeat(tx, replica, now, self.clock.wall())) })
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let taken = write!(self, tx => replicas::give_up(tx, &dead.id, Some(dead.beat), now))?;
            self.hints.give();
            Ok(taken)
        })
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let released = write!(self, tx => replicas::give_up(tx, replica, None, now))?;
            self.hints.give();
            Ok(released)
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        Box::pin(async move { read!(self, conn => replicas::held(conn, replica)) })
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let given_back = write!(self, tx => replicas::surrender(tx, replica, leases, now))?;
            self.hints.give();
            Ok(given_back)
        })
    }

    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>> {
        Box::pin(async move {
            let enqueued = write!(self, tx => enqueue::enqueue(tx, &self.keyring, new, now))?;
            self.hints.give();
            Ok(enqueued)
        })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        Box::pin(async move { write!(self, tx => claim::claim(tx, &self.keyring, request)) })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            let (outcomes, news) = write!(self, tx => commit::commit(tx, &self.keyring, group))?;
            if news > News::None {
                self.hints.give();
            }
            Ok(outcomes)
        })
    }

    fn update<'a>(
        &'a self,
        id: OperationId,
        expected_version: u64,
        fields: Fields,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Option<u64>>> {
        Box::pin(async move { write!(self, tx => actions::update(tx, id, expected_version, &fields, now)) })
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let woken = write!(self, tx => actions::wake(tx, keys, cause, now))?;
            self.hints.give();
            Ok(woken)
        })
    }

    fn act<'a>(
        &'a self,
        id: OperationId,
        action: &'a Action,
        by: &'a str,
        why: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Operation>> {
        Box::pin(async move {
            let wish = actions::Wish { action, by, why, now };
            let operation = write!(self, tx => actions::act(tx, &self.keyring, id, &wish))?;
            self.hints.give();
            Ok(operation)
        })
    }

    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>> {
        Box::pin(async move { read!(self, conn => read::operation(conn, &self.keyring, id)) })
    }

    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move { read!(self, conn => read::operations(conn, &self.keyring, filter)) })
    }

    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>> {
        Box::pin(async move { read!(self, conn => read::steps(conn, id)) })
    }

    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>> {
        Box::pin(async move { read!(self, conn => read::records(conn, id, after, limit)) })
    }

    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move { write!(self, tx => read::purge(tx, before, limit)) })
    }

    fn reencrypt<'a>(&'a self, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let operations = write!(self, tx => actions::reencrypt(tx, &self.keyring, limit));
            let room = limit - *operations.as_ref().unwrap_or(&0);
            let keys = write!(self, tx => keys::rewrap(&mut **tx, &self.keyring, room));
            keys::both(operations, keys)
        })
    }

    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>> {
        Box::pin(async move { read!(self, conn => read::due(conn, now)) })
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        Box::new(self.hints.listen())
    }
}
