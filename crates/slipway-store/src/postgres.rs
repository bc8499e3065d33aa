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

mod actions;
mod claim;
mod commit;
mod enqueue;
mod group;
mod listen;
mod open;
mod read;
mod replicas;

use std::{sync::Arc, time::Duration};

use slipway_model::{
    Action, Operation, OperationId, Record, ReplicaId, StepRecord, Timestamp, WaitKey,
    operation::{Fields, NewOperation},
    ports::{
        BoxFuture, ClaimRequest, Claimed, Clock, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer,
        Registration, Storage, StoreError, StoreResult, WakeListener,
    },
    state::Class,
    time::secs,
};
use sqlx::{Connection, PgPool};

use crate::{
    error::{Fault, OpenError, Tried, store_error},
    hints::{Hints, News},
    runtimes::keys,
    secrets::Keyring,
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
pub struct PgStore {
    pool: PgPool,
    keyring: Keyring,
    clock: Arc<dyn Clock>,
    hints: Hints,
    channel: Channel,
    /// A server that has vanished without closing the connection answers nothing, not even its own
    /// timeout.
    patience: Duration,
}

/// How often a call is made again after a race before its caller is told.
const RACES: u32 = 8;

/// Runs `$work` on a connection lent as `$conn`, in bounded time, and again after a race.
/// A macro, because a closure cannot promise the compiler that its future may change threads.
macro_rules! attempt {
    ($store:expr, $conn:ident => $work:expr) => {{
        let store: &PgStore = $store;
        let mut races = 0;
        loop {
            let mut lent = match store.pool.acquire().await {
                Ok(lent) => lent,
                Err(error) => break Err(store_error(&error)),
            };
            let tried = {
                let $conn: &mut sqlx::PgConnection = &mut lent;
                tokio::select! {
                    biased;
                    tried = $work => tried,
                    () = store.clock.sleep(store.patience) => Err(Fault::TooSlow),
                }
            };
            let fault = match tried {
                Ok(answer) => break Ok(answer),
                Err(fault) => fault,
            };
            // A transaction that is dropped is rolled back at the next use of its connection. That
            // must be now: claims pass over rows that are still locked.
            let clean = match fault {
                Fault::TooSlow => false,
                _ => tokio::select! {
                    pinged = lent.ping() => pinged.is_ok(),
                    () = store.clock.sleep(store.patience) => false,
                },
            };
            if !clean {
                lent.close_on_drop();
            }
            if !fault.is_race() || races == RACES {
                break Err(StoreError::from(fault));
            }
            races += 1;
        }
    }};
}

/// Runs `$work` as one transaction, lent as `$tx`, in bounded time, and again after a race.
macro_rules! transact {
    ($store:expr, $tx:ident => $work:expr) => {
        attempt!($store, conn => async {
            let mut $tx = conn.begin().await?;
            let answer = $work.await?;
            $tx.commit().await?;
            Tried::Ok(answer)
        })
    };
}

// Below the macros, which it uses.
mod runtimes;

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
        self.channel.stop();
        self.pool.close().await;
    }

    /// Something became due: tells this process at once and the others through the server.
    fn tell(&self) {
        self.hints.give();
        self.channel.tell();
    }
}

impl Storage for PgStore {
    fn register<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Registration>> {
        Box::pin(async move { attempt!(self, conn => replicas::register(conn, replica)) })
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        Box::pin(async move { attempt!(self, conn => replicas::heartbeat(conn, replica, now)) })
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let taken = attempt!(self, conn => replicas::give_up(conn, &dead.id, Some(dead.beat), now))?;
            if taken.is_some() {
                self.tell();
            }
            Ok(taken.unwrap_or(0))
        })
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let released = attempt!(self, conn => replicas::give_up(conn, replica, None, now))?;
            self.tell();
            Ok(released.unwrap_or(0))
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        Box::pin(async move { attempt!(self, conn => replicas::held(conn, replica)) })
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let given_back = attempt!(self, conn => replicas::surrender(conn, replica, leases, now))?;
            self.tell();
            Ok(given_back)
        })
    }

    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>> {
        Box::pin(async move {
            let enqueued = attempt!(self, conn => enqueue::enqueue(conn, &self.keyring, &new, now))?;
            if matches!(enqueued, Enqueued::New(_)) {
                self.tell();
            }
            Ok(enqueued)
        })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        Box::pin(async move { attempt!(self, conn => claim::claim(conn, &self.keyring, request)) })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            let (outcomes, news) = attempt!(self, conn => commit::commit(conn, &self.keyring, group))?;
            match news {
                News::OthersDue => self.tell(),
                // Ours to look at again, and never told through the server: steps commit too often.
                News::DueAtOnce => self.hints.give(),
                News::None => {}
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
        Box::pin(async move { attempt!(self, conn => actions::update(conn, id, expected_version, &fields, now)) })
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let woken = attempt!(self, conn => actions::wake(conn, keys, cause, now))?;
            if woken > 0 {
                self.tell();
            }
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
            let operation = attempt!(self, conn => actions::act(conn, &self.keyring, id, &wish))?;
            self.tell();
            Ok(operation)
        })
    }

    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>> {
        Box::pin(async move { attempt!(self, conn => read::operation(conn, &self.keyring, id)) })
    }

    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move { attempt!(self, conn => read::operations(conn, &self.keyring, filter)) })
    }

    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>> {
        Box::pin(async move { attempt!(self, conn => read::steps(conn, id)) })
    }

    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>> {
        Box::pin(async move { attempt!(self, conn => read::records(conn, id, after, limit)) })
    }

    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move { attempt!(self, conn => read::purge(conn, before, limit)) })
    }

    fn reencrypt<'a>(&'a self, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let operations = attempt!(self, conn => actions::reencrypt(conn, &self.keyring, limit));
            let room = limit - *operations.as_ref().unwrap_or(&0);
            let keys = transact!(self, tx => keys::rewrap(&mut *tx, &self.keyring, room));
            keys::both(operations, keys)
        })
    }

    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>> {
        Box::pin(async move { attempt!(self, conn => read::due(conn, now)) })
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        Box::new(self.hints.listen())
    }
}
