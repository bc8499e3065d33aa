//! What a step is given, and the only ways it can change its operation.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use slipway_model::{
    Ending, LastError, OperationState, OperationType, StepRecord, Timestamp, WaitKey,
    operation::Fields,
    ports::Next,
    time::{mins, secs, spell},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    hold::{Hold, Saved},
    life::Life,
    memory::StageMemory,
    outcome::{StepError, StepResult},
    step::{Domain, Op},
};

/// In a deprovisioning no single outside system may hold up the removal of the rest for longer.
pub const DEPROVISIONING_GIVE_UP_MAX: Duration = mins(5);

/// The context of a running step.
pub struct StepCtx<D: Domain> {
    pub(crate) hold: Hold<D>,
    pub(crate) life: Arc<Life<D>>,
    pub(crate) memory: StageMemory,
    /// The ledger row of the present run.
    pub(crate) ledger: StepRecord,
    pub(crate) gives_up_after: Duration,
    pub(crate) cancel: CancellationToken,
    /// Set when the run must not go on; the step's future is dropped, wherever it stands.
    pub(crate) interrupt: Option<Interrupt>,
    pub(crate) interrupted: Arc<Notify>,
    /// A write is under way: the run may not be dropped now, or nobody would know whether the
    /// write took place.
    pub(crate) saving: Arc<AtomicBool>,
}

/// Why a run was broken off from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The lease is gone: another replica goes on with the operation.
    LeaseLost,
    /// Others keep changing the operation: the step runs again in a moment.
    Conflict,
}

impl<D: Domain> StepCtx<D> {
    /// The operation as this run sees it, changes of this run included.
    pub fn op(&self) -> &Op<D> {
        &self.hold.op
    }

    /// Outputs of steps so far.
    pub fn data(&self) -> &D::Data {
        &self.hold.op.data
    }

    /// Clients of the outside systems.
    pub fn systems(&self) -> Arc<D::Systems> {
        self.life.shared.systems.clone()
    }

    /// The memory of the present stage.
    pub fn memory(&mut self) -> &mut StageMemory {
        &mut self.memory
    }

    /// Engine time: steady, and the same for all replicas.
    pub fn now(&self) -> Timestamp {
        self.life.shared.time.now()
    }

    /// Which run of this step this is, from 1, counted over restarts.
    pub fn attempt(&self) -> u32 {
        self.ledger.attempts
    }

    /// Fires when the run is to be given up; hand it to long calls.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The fence of the lease this run is under. Only simulations look at it.
    pub fn fence(&self) -> u64 {
        self.hold.lease.fence
    }

    /// Writes a change at once, for what must be on record before the call that needs it. Returns
    /// when it is durable. If somebody else changed the operation meanwhile, the same change is
    /// applied to the new state. If it cannot be written (the lease is lost), it never returns:
    /// the engine drops the run.
    pub async fn update(&mut self, change: impl FnMut(&mut D::Data) + Send + 'static) {
        self.hold.change_data(change);
        self.saving.store(true, Ordering::Relaxed);
        let saved = self.hold.save(&self.life, Next::Run).await;
        self.saving.store(false, Ordering::Relaxed);
        let interrupt = match saved {
            Saved::Yes => return,
            Saved::LeaseLost => Interrupt::LeaseLost,
            Saved::Conflict => Interrupt::Conflict,
        };
        self.interrupt = Some(interrupt);
        self.interrupted.notify_one();
        std::future::pending().await
    }

    /// Changes the data; written with the result of the run, whatever that is.
    pub fn remember(&mut self, change: impl FnMut(&mut D::Data) + Send + 'static) {
        self.hold.change_data(change);
    }

    /// The verdict, once there is one: what a finalizer looks at.
    pub fn ending(&self) -> Option<&Ending> {
        self.hold.operation.fields.ending.as_ref()
    }

    /// What made the operation fail, once that is decided.
    pub fn last_error(&self) -> Option<&LastError> {
        self.hold.operation.fields.last_error.as_ref()
    }

    /// Sets the sentence users read while the operation runs; written with the result of the run.
    pub fn describe(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        self.hold.change(move |fields: &mut Fields, _| fields.description.clone_from(&sentence));
    }

    /// The goal is reached.
    pub fn done(&self) -> StepResult {
        StepResult::Done
    }

    /// The goal is reached, and this is the output; both are one write.
    pub fn done_with(&mut self, change: impl FnMut(&mut D::Data) + Send + 'static) -> StepResult {
        self.hold.change_data(change);
        StepResult::Done
    }

    /// An expected state is not reached yet.
    pub fn wait(&self, on: Option<WaitKey>, at_latest: Duration, reason: impl Into<String>) -> StepResult {
        StepResult::Wait { on, at_latest, reason: reason.into() }
    }

    /// The same with an end: after `max`, counted from the first run of this step, `on_timeout`
    /// fails the operation.
    pub fn wait_for(
        &self,
        on: Option<WaitKey>,
        at_latest: Duration,
        max: Duration,
        reason: impl Into<String>,
        on_timeout: StepError,
    ) -> StepResult {
        match max.checked_sub(self.running_for()) {
            Some(left) if !left.is_zero() => self.wait(on, at_latest.min(left), reason),
            _ => StepResult::Fail { error: on_timeout },
        }
    }

    /// Tries again after `interval`; once errors have lasted for `max`, the operation fails with
    /// this error.
    pub fn retry(&self, error: StepError, interval: Duration, max: Duration) -> StepResult {
        if self.failing_for() < max {
            return StepResult::Retry { after: self.jitter(interval), reason: error.message };
        }
        StepResult::Fail { error }
    }

    /// Tries again after `interval`; once errors have lasted for [`crate::Step::gives_up_after`],
    /// the step is skipped and the operation goes on.
    pub fn retry_without_fail(&mut self, reason: impl Into<String>, interval: Duration) -> StepResult {
        let reason = reason.into();
        let max = match self.hold.op.kind {
            OperationType::Deprovision => self.gives_up_after.min(DEPROVISIONING_GIVE_UP_MAX),
            _ => self.gives_up_after,
        };
        if self.failing_for() < max {
            return StepResult::Retry { after: self.jitter(interval), reason };
        }
        self.describe(reason.clone());
        StepResult::Skip { reason: format!("given up after {}: {reason}", spell(max)) }
    }

    /// Tries again once, after `wait`.
    pub fn retry_once(&self, error: StepError, wait: Duration) -> StepResult {
        if self.ledger.first_failure_at.is_none() {
            return StepResult::Retry { after: wait, reason: error.message };
        }
        StepResult::Fail { error }
    }

    /// Gives the step up at once.
    pub fn skip(&self, reason: impl Into<String>) -> StepResult {
        StepResult::Skip { reason: reason.into() }
    }

    /// Fails the operation.
    pub fn fail(&self, error: StepError) -> StepResult {
        StepResult::Fail { error }
    }

    /// Ends the operation.
    pub fn finish(&self, state: OperationState, description: impl Into<String>) -> StepResult {
        StepResult::Finish { state, description: description.into() }
    }

    /// How long this step has been at it, from its first run: waits and errors alike, over restarts.
    pub fn running_for(&self) -> Duration {
        self.ledger.first_run_at.map_or(Duration::ZERO, |first| self.now().since(first))
    }

    /// How long errors have lasted, from the ledger: no restart and no write resets it.
    pub fn failing_for(&self) -> Duration {
        self.ledger.first_failure_at.map_or(Duration::ZERO, |since| self.now().since(since))
    }

    fn jitter(&self, interval: Duration) -> Duration {
        self.life.shared.random.jitter(interval.max(secs(0)))
    }
}
