//! The store with a fault around one commit. Everything else is passed on.

use std::sync::Arc;

use slipway_model::{
    Action, Class, Operation, OperationId, Record, ReplicaId, StepRecord, Timestamp, WaitKey,
    operation::{Fields, NewOperation},
    ports::{
        BoxFuture, ClaimRequest, Claimed, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer, Registration,
        Storage, StoreResult, WakeListener,
    },
};

use super::{
    fault::{Kind, Place},
    wire::Tap,
};

/// The store.
pub(super) struct FaultyStore {
    pub(super) inner: Arc<dyn Storage>,
    /// All rows of the process, to find a place by its names.
    pub(super) places: Vec<Place>,
    pub(super) tap: Arc<Tap>,
}

impl FaultyStore {
    /// Notes the rows of a group; answers what goes wrong with it.
    fn strikes(&self, group: &[Commit]) -> Option<Kind> {
        let mut seen = self.tap.seen();
        let mut strike = None;
        for step in group.iter().flat_map(|commit| &commit.steps) {
            let is_here = |place: &&Place| place.stage == step.stage && place.step == step.step;
            let Some(place) = self.places.iter().find(is_here) else { continue };
            seen.commits.push((*place, step.status));
            let fault = self.tap.fault.as_ref().filter(|fault| fault.place == *place && !seen.has_struck);
            let kind = fault.map(|fault| fault.kind).filter(|kind| match kind {
                Kind::CrashBeforeCommit | Kind::CrashAfterCommit => step.status.is_settled(),
                Kind::CrashWhileWaiting => !step.status.is_settled(),
                Kind::NotSentOnce
                | Kind::BrokenOnce
                | Kind::BusyOnce
                | Kind::GarbledOnce
                | Kind::AnswerLost
                | Kind::NotSentForGood
                | Kind::BrokenForGood
                | Kind::SilentForGood
                | Kind::RefusedForGood
                | Kind::CrashBeforeCall
                | Kind::CrashAfterCall => false,
            });
            strike = strike.or(kind);
        }
        seen.has_struck |= strike.is_some();
        strike
    }
}

impl Storage for FaultyStore {
    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            let strike = self.strikes(group);
            if strike == Some(Kind::CrashBeforeCommit) {
                return self.tap.die().await;
            }
            let outcomes = self.inner.commit(group).await;
            if strike.is_some() {
                return self.tap.die().await;
            }
            outcomes
        })
    }

    fn register<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Registration>> {
        self.inner.register(replica)
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        self.inner.heartbeat(replica, now)
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        self.inner.take_over(dead, now)
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        self.inner.release(replica, now)
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        self.inner.held(replica)
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        self.inner.surrender(replica, leases, now)
    }

    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>> {
        self.inner.enqueue(new, now)
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        self.inner.claim(request)
    }

    fn update<'a>(
        &'a self,
        id: OperationId,
        expected_version: u64,
        fields: Fields,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Option<u64>>> {
        self.inner.update(id, expected_version, fields, now)
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        self.inner.wake(keys, cause, now)
    }

    fn act<'a>(
        &'a self,
        id: OperationId,
        action: &'a Action,
        by: &'a str,
        why: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Operation>> {
        self.inner.act(id, action, by, why, now)
    }

    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>> {
        self.inner.operation(id)
    }

    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        self.inner.operations(filter)
    }

    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>> {
        self.inner.steps(id)
    }

    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>> {
        self.inner.records(id, after, limit)
    }

    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        self.inner.purge(before, limit)
    }

    fn reencrypt<'a>(&'a self, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        self.inner.reencrypt(limit)
    }

    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>> {
        self.inner.due(now)
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        self.inner.listen()
    }
}
