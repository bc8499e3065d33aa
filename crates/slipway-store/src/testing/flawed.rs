//! Stores that make known mistakes, so that tests can prove that they would find them.
//!
//! A [`FlawedStore`] makes the mistakes of a database, a [`FlawedProgram`] those of a program, as far as
//! they show in what it sends and believes. Both leave the product's own path alone.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use slipway_model::{
    Bugs, KnownBug, OperationId, OperationState, ReplicaId, Timestamp, WaitKey,
    operation::Schedule,
    ports::{
        AroundStore, BoxFuture, ClaimRequest, Claimed, Commit, CommitOutcome, Filter, Heartbeat, Lease, Next, Storage,
        StoreResult,
    },
    time::secs,
};

/// A database with a known bug. All replicas of a story share one.
pub struct FlawedStore {
    inside: Arc<dyn Storage>,
    bugs: Bugs,
    released: Mutex<BTreeSet<ReplicaId>>,
    lost: Mutex<BTreeSet<OperationId>>,
}

/// A program with a known bug, between its engine and its store.
pub struct FlawedProgram {
    inside: Arc<dyn Storage>,
    bugs: Bugs,
    lost: Mutex<BTreeSet<OperationId>>,
}

fn locked<T>(set: &Mutex<T>) -> MutexGuard<'_, T> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FlawedStore {
    /// The store `inside` with a known bug.
    pub fn new(inside: Arc<dyn Storage>, bugs: Bugs) -> Self {
        Self { inside, bugs, released: Mutex::default(), lost: Mutex::default() }
    }

    /// Operations whose timer has passed a while ago.
    async fn overdue(&self, now: Timestamp) -> StoreResult<Vec<OperationId>> {
        let all = self.inside.operations(&Filter { limit: usize::MAX, ..Filter::default() }).await?;
        let is_late = |due: Timestamp| now.since(due) > secs(3);
        Ok(all.into_iter().filter(|op| op.schedule.due_at.is_some_and(is_late)).map(|op| op.id).collect())
    }

    /// Writes a commit under the lease of whoever holds the operation now.
    async fn steal(&self, commit: &Commit) -> StoreResult<CommitOutcome> {
        let Schedule { owner, fence, commits, .. } = self.inside.operation(commit.operation).await?.schedule;
        let Some(replica) = owner else { return Ok(CommitOutcome::Fenced) };
        let stolen = Commit { lease: Lease { replica, fence }, number: commits + 1, ..commit.clone() };
        Ok(self.inside.commit(&[stolen]).await?.pop().unwrap_or(CommitOutcome::Fenced))
    }
}

impl AroundStore for FlawedStore {
    fn inside(&self) -> &dyn Storage {
        &*self.inside
    }

    /// The replica leaves, keeps its operations, and nobody sees it any more.
    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            if self.bugs.has(KnownBug::LostOnRollout) {
                locked(&self.released).insert(replica.clone());
                return Ok(0);
            }
            self.inside.release(replica, now).await
        })
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        Box::pin(async move {
            let mut beat = self.inside.heartbeat(replica, now).await?;
            beat.peers.retain(|peer| !locked(&self.released).contains(&peer.id));
            Ok(beat)
        })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        Box::pin(async move {
            if !self.bugs.has(KnownBug::TimerInPastNeverFires) {
                return self.inside.claim(request).await;
            }
            let overdue = self.overdue(request.now).await?;
            let mut claimed = self.inside.claim(request).await?;
            let late = claimed.claims.extract_if(.., |claim| overdue.contains(&claim.operation.id));
            locked(&self.lost).extend(late.map(|claim| claim.operation.id));
            Ok(claimed)
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        Box::pin(async move {
            let held = self.inside.held(replica).await?;
            Ok(held.into_iter().filter(|(id, _)| !locked(&self.lost).contains(id)).collect())
        })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            if self.bugs.has(KnownBug::CancelLostDuringWait) {
                let deaf = |commit: &Commit| Commit { seen_control: u64::MAX, clear_skip: false, ..commit.clone() };
                return self.inside.commit(&group.iter().map(deaf).collect::<Vec<_>>()).await;
            }
            let mut outcomes = self.inside.commit(group).await?;
            if self.bugs.has(KnownBug::LeaseStolenByPausedReplica) {
                for (commit, outcome) in group.iter().zip(&mut outcomes) {
                    if matches!(outcome, CommitOutcome::Fenced) {
                        *outcome = self.steal(commit).await?;
                    }
                }
            }
            Ok(outcomes)
        })
    }

    /// Reaches only who waits already: forgotten before anybody else could ask for it.
    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let woken = self.inside.wake(keys, cause, now).await?;
            if self.bugs.has(KnownBug::WakeUpLostBeforeWait) {
                self.inside.purge(Timestamp::from_micros(i64::MAX), usize::MAX).await?;
            }
            Ok(woken)
        })
    }
}

impl FlawedProgram {
    /// The way of a program with a known bug to its store.
    pub fn new(inside: Arc<dyn Storage>, bugs: Bugs) -> Self {
        Self { inside, bugs, lost: Mutex::default() }
    }

    /// What the program writes by mistake.
    fn mistaken(&self, commit: &Commit) -> Commit {
        let mut commit = commit.clone();
        if self.bugs.has(KnownBug::RetryClockResetByWrite) {
            let failing = commit.steps.iter_mut().filter(|step| step.first_failure_at.is_some());
            failing.for_each(|step| step.first_failure_at = Some(commit.at));
        }
        if self.bugs.has(KnownBug::FinishedStageRunsAgain)
            && let Some(fields) = &mut commit.fields
        {
            fields.finished_stages.clear();
        }
        if self.bugs.has(KnownBug::ErrorOverwrittenBySave) {
            if let Some(fields) = &mut commit.fields {
                fields.last_error = None;
            }
            if commit.next == (Next::End { state: OperationState::Failed }) {
                commit.next = Next::End { state: OperationState::Succeeded };
            }
        }
        commit
    }

    /// What the program makes of a save that failed for now.
    fn shrug(&self, group: &[Commit]) -> Option<Vec<CommitOutcome>> {
        let is_end = |commit: &Commit| matches!(commit.next, Next::End { .. });
        if self.bugs.has(KnownBug::DroppedWhenSaveFails) {
            locked(&self.lost).extend(group.iter().map(|commit| commit.operation));
        } else if !self.bugs.has(KnownBug::PublishedBeforeCommit) || !group.iter().any(is_end) {
            return None;
        }
        let answer = |commit: &Commit| match self.bugs.has(KnownBug::PublishedBeforeCommit) && is_end(commit) {
            true => CommitOutcome::Committed { control: Box::default() },
            false => CommitOutcome::Fenced,
        };
        Some(group.iter().map(answer).collect())
    }

    /// Writes stale fields over those that somebody else has written.
    async fn overwrite(&self, commit: &Commit, version: u64) -> StoreResult<CommitOutcome> {
        let again = Commit { expected_version: version, ..commit.clone() };
        Ok(self.inside.commit(&[again]).await?.pop().unwrap_or(CommitOutcome::Fenced))
    }
}

impl AroundStore for FlawedProgram {
    fn inside(&self) -> &dyn Storage {
        &*self.inside
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        Box::pin(async move {
            let mut beat = self.inside.heartbeat(replica, now).await?;
            beat.alive |= self.bugs.has(KnownBug::ZombieKeepsRunning);
            Ok(beat)
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        Box::pin(async move {
            let mut held = self.inside.held(replica).await?;
            let blind = self.bugs.has(KnownBug::LostClaimNeverFound);
            held.retain(|(id, _)| !blind && !locked(&self.lost).contains(id));
            Ok(held)
        })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        Box::pin(async move {
            let mut claimed = self.inside.claim(request).await?;
            if self.bugs.has(KnownBug::RetryClockResetByRestart) {
                let fresh = claimed.claims.iter_mut().filter(|claim| claim.operation.schedule.commits == 0);
                for step in fresh.flat_map(|claim| &mut claim.steps) {
                    (step.first_run_at, step.first_failure_at) = (None, None);
                }
            }
            Ok(claimed)
        })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        if self.bugs == Bugs::NONE {
            return self.inside.commit(group);
        }
        Box::pin(async move {
            let group: Vec<Commit> = group.iter().map(|commit| self.mistaken(commit)).collect();
            let mut outcomes = match self.inside.commit(&group).await {
                Ok(outcomes) => outcomes,
                Err(error) => return self.shrug(&group).filter(|_| error.is_temporary()).ok_or(error),
            };
            for (commit, outcome) in group.iter().zip(&mut outcomes) {
                if self.bugs.has(KnownBug::ConflictOverwritesField)
                    && let CommitOutcome::Conflict(current) = &*outcome
                {
                    *outcome = self.overwrite(commit, current.version).await?;
                }
            }
            Ok(outcomes)
        })
    }
}
