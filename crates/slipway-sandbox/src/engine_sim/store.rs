//! The memory store as one replica sees it: through the weather, and under the judge's eyes.

use std::sync::Arc;

use slipway_model::{
    Action, Class, NewOperation, Operation, OperationId, Record, ReplicaId, StepRecord, Timestamp, WaitKey,
    operation::Fields,
    ports::{
        BoxFuture, ClaimRequest, Claimed, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer, Registration,
        Storage, StoreResult, WakeListener,
    },
};

use super::{judge::Judge, weather::Site};

/// A store with weather.
pub(crate) struct WeatheredStore {
    pub(crate) judge: Arc<Judge>,
    pub(crate) site: Arc<Site>,
}

/// By which time the caller goes, before the effect, the effect and its judgement in one go, after
/// the effect. Commits tell when their step ended, which may be a while ago, and clients go by what
/// they last heard: both are not asked for their time.
macro_rules! weathered {
    ($self:ident, at $now:expr, $effect:expr) => {{
        $self.judge.time_is($now);
        weathered!($self, $effect)
    }};
    ($self:ident, $effect:expr) => {
        Box::pin(async move {
            $self.site.before().await?;
            let answer = $effect;
            $self.judge.look();
            $self.site.after().await?;
            answer
        })
    };
}

impl Storage for WeatheredStore {
    fn register<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Registration>> {
        weathered!(self, {
            self.judge.registers();
            self.judge.store.register(replica).await
        })
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        let sent = self.judge.now();
        weathered!(self, at now, {
            self.judge.acts(replica);
            let beat = self.judge.store.heartbeat(replica, now).await;
            self.judge.heartbeat(replica, sent, beat.as_ref().is_ok_and(|beat| beat.alive));
            beat
        })
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        weathered!(self, at now, {
            self.judge.store.take_over(dead, now).await
        })
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        weathered!(self, at now, {
            self.judge.store.release(replica, now).await
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        weathered!(self, self.judge.store.held(replica).await)
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        weathered!(self, at now, {
            self.judge.store.surrender(replica, leases, now).await
        })
    }

    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>> {
        weathered!(self, { self.judge.store.enqueue(new, now).await })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        weathered!(self, at request.now, {
            self.judge.store.claim(request).await
        })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        weathered!(self, {
            let before: Vec<_> = group.iter().map(|commit| self.judge.before_commit(commit)).collect();
            let outcomes = self.judge.store.commit(group).await;
            if let Ok(outcomes) = &outcomes {
                for ((commit, before), outcome) in group.iter().zip(before).zip(outcomes) {
                    self.judge.after_commit(commit, before, outcome);
                }
            }
            outcomes
        })
    }

    fn update<'a>(
        &'a self,
        id: OperationId,
        expected_version: u64,
        fields: Fields,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Option<u64>>> {
        weathered!(self, self.judge.store.update(id, expected_version, fields, now).await)
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        weathered!(self, {
            let woken = self.judge.store.wake(keys, cause, now).await;
            self.judge.woken(keys);
            woken
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
        weathered!(self, {
            self.judge.acted(id, action);
            self.judge.store.act(id, action, by, why, now).await
        })
    }

    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>> {
        weathered!(self, self.judge.store.operation(id).await)
    }

    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        weathered!(self, self.judge.store.operations(filter).await)
    }

    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>> {
        weathered!(self, self.judge.store.steps(id).await)
    }

    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>> {
        weathered!(self, self.judge.store.records(id, after, limit).await)
    }

    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        weathered!(self, self.judge.store.purge(before, limit).await)
    }

    fn reencrypt<'a>(&'a self, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        weathered!(self, self.judge.store.reencrypt(limit).await)
    }

    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>> {
        weathered!(self, self.judge.store.due(now).await)
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        Box::new(WeatheredListener { inner: self.judge.store.listen(), site: self.site.clone() })
    }
}

struct WeatheredListener {
    inner: Box<dyn WakeListener>,
    site: Arc<Site>,
}

impl WakeListener for WeatheredListener {
    fn hint(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            loop {
                self.inner.hint().await;
                self.site.wait_while_paused().await;
                if !self.site.loses_hint() {
                    return;
                }
            }
        })
    }
}
