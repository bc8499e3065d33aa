//! The port to operations in SQL, for both databases.
//!
//! The queue is the hot path, so what is tuned to a database or proven by its locks is in its folder
//! ([`Queue`]); the rest is in the files below. Why no race does harm is told where the race is.

mod actions;
mod enqueue;
mod queue;
mod read;
mod replicas;

use slipway_model::{
    Action, Operation, OperationId, Record, ReplicaId, StepRecord, Timestamp, WaitKey,
    operation::{Fields, NewOperation, ProcessKey},
    ports::{
        BoxFuture, ClaimRequest, Claimed, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer, Registration,
        Storage, StoreResult, WakeListener,
    },
    state::Class,
};

use crate::{
    hints::News,
    runtimes::keys,
    sql::{Database, SqlStore, call},
};
pub(crate) use enqueue::{BY_ID, insert, record};
pub(crate) use queue::{MAKE_DUE, Queue, end_of};
pub(crate) use read::{operation, steps};

impl<D: Database> Storage for SqlStore<D> {
    fn register<'a>(
        &'a self,
        replica: &'a ReplicaId,
        known: &'a [ProcessKey],
    ) -> BoxFuture<'a, StoreResult<Registration>> {
        Box::pin(
            async move { call!(self, Statement, conn => replicas::register(conn, replica, known, self.clock.wall())) },
        )
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        Box::pin(
            async move { call!(self, Statement, conn => replicas::heartbeat(conn, replica, now, self.clock.wall())) },
        )
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let taken = call!(self, Transaction, conn => replicas::give_up(conn, &dead.id, Some(dead.beat), now))?;
            if taken.is_some() {
                self.tell();
            }
            Ok(taken.unwrap_or(0))
        })
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let released = call!(self, Transaction, conn => replicas::give_up(conn, replica, None, now))?;
            self.tell();
            Ok(released.unwrap_or(0))
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        Box::pin(async move { call!(self, Read, conn => replicas::held(conn, replica)) })
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let given_back = call!(self, Statement, conn => conn.surrender(replica, leases, now))?;
            self.tell();
            Ok(count(given_back))
        })
    }

    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>> {
        Box::pin(async move {
            let enqueued = call!(self, Transaction, conn => enqueue::enqueue(conn, &self.keyring, &new, now))?;
            if matches!(enqueued, Enqueued::New(_)) {
                self.tell();
            }
            Ok(enqueued)
        })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        Box::pin(async move { call!(self, Transaction, conn => conn.claim(&self.keyring, request)) })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            let (outcomes, news) = call!(self, Statement, conn => conn.commit(&self.keyring, group))?;
            match news {
                News::OthersDue => self.tell(),
                // Ours to look at again, and never told to other replicas: steps commit too often.
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
        Box::pin(
            async move { call!(self, Statement, conn => actions::update(conn, id, expected_version, &fields, now)) },
        )
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let woken = call!(self, Transaction, conn => actions::wake(conn, keys, cause, now))?;
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
            let operation = call!(self, Transaction, conn => actions::act(conn, &self.keyring, id, &wish))?;
            self.tell();
            Ok(operation)
        })
    }

    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>> {
        Box::pin(async move { call!(self, Read, conn => read::operation(conn, &self.keyring, id)) })
    }

    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move { call!(self, Read, conn => read::operations(conn, &self.keyring, filter)) })
    }

    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>> {
        Box::pin(async move { call!(self, Read, conn => read::steps(conn, id)) })
    }

    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>> {
        Box::pin(async move { call!(self, Read, conn => read::records(conn, id, after, limit)) })
    }

    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move { call!(self, Statement, conn => read::purge(conn, before, limit)) })
    }

    fn reencrypt<'a>(&'a self, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let operations = call!(self, Transaction, conn => actions::reencrypt(conn, &self.keyring, limit));
            let room = limit - *operations.as_ref().unwrap_or(&0);
            let keys = call!(self, Transaction, conn => keys::rewrap(conn, &self.keyring, room));
            keys::both(operations, keys)
        })
    }

    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>> {
        Box::pin(async move { call!(self, Read, conn => read::due(conn, now)) })
    }

    fn stranded<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<(ProcessKey, usize)>>> {
        Box::pin(async move { call!(self, Read, conn => replicas::stranded(conn)) })
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        Box::new(self.hints.listen())
    }
}

/// A count of rows.
fn count(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}
