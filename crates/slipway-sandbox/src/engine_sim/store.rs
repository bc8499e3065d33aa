//! The database as one replica sees it: through the weather, and under the judge's eyes.
//!
//! Callers are asked for their time when they call. Not so commits, which tell when their step ended,
//! which may be a while ago, and clients, who go by what they last heard.

use std::sync::Arc;

use slipway_model::{
    Action, Operation, OperationId, ProcessKey, ReplicaId, Timestamp, WaitKey,
    ports::{
        AroundStore, BoxFuture, ClaimRequest, Claimed, Commit, CommitOutcome, Heartbeat, Peer, Registration, Storage,
        StoreResult, WakeListener,
    },
};

use super::{judge::Judge, weather::Site};

/// A store with weather.
pub(crate) struct WeatheredStore {
    pub(crate) judge: Arc<Judge>,
    pub(crate) site: Arc<Site>,
}

impl AroundStore for WeatheredStore {
    fn inside(&self) -> &dyn Storage {
        &self.judge.database
    }

    /// Before the effect, the effect and its judgement in one go, after the effect.
    fn surround<'a, T: Send + 'a>(&'a self, effect: BoxFuture<'a, StoreResult<T>>) -> BoxFuture<'a, StoreResult<T>> {
        Box::pin(async move {
            self.site.before().await?;
            let answer = effect.await;
            self.judge.look();
            self.site.after().await?;
            answer
        })
    }

    fn register<'a>(
        &'a self,
        replica: &'a ReplicaId,
        known: &'a [ProcessKey],
    ) -> BoxFuture<'a, StoreResult<Registration>> {
        self.surround(Box::pin(async move {
            self.judge.registers();
            self.inside().register(replica, known).await
        }))
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        let sent = self.judge.now();
        self.judge.time_is(now);
        self.surround(Box::pin(async move {
            self.judge.acts(replica);
            let beat = self.inside().heartbeat(replica, now).await;
            self.judge.heartbeat(replica, sent, beat.as_ref().is_ok_and(|beat| beat.alive));
            beat
        }))
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        self.judge.time_is(now);
        self.surround(self.inside().take_over(dead, now))
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        self.judge.time_is(now);
        self.surround(self.inside().release(replica, now))
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        self.judge.time_is(now);
        self.surround(self.inside().surrender(replica, leases, now))
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        self.judge.time_is(request.now);
        self.surround(self.inside().claim(request))
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        self.surround(Box::pin(async move {
            let before: Vec<_> = group.iter().map(|commit| self.judge.before_commit(commit)).collect();
            let outcomes = self.inside().commit(group).await;
            if let Ok(outcomes) = &outcomes {
                for ((commit, before), outcome) in group.iter().zip(before).zip(outcomes) {
                    self.judge.after_commit(commit, before, outcome);
                }
            }
            outcomes
        }))
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        self.surround(Box::pin(async move {
            let woken = self.inside().wake(keys, cause, now).await;
            self.judge.woken(keys);
            woken
        }))
    }

    fn act<'a>(
        &'a self,
        id: OperationId,
        action: &'a Action,
        by: &'a str,
        why: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Operation>> {
        self.surround(Box::pin(async move {
            self.judge.acted(id, action);
            self.inside().act(id, action, by, why, now).await
        }))
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        Box::new(WeatheredListener { inner: self.inside().listen(), site: self.site.clone() })
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
