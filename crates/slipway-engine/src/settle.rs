//! What the result of a run does to ledger, recorder and schedule; pure.

use std::time::Duration;

use slipway_model::{
    Component, Ending, LastError, OperationState, RecordKind, StepRecord, StepStatus, Timestamp, WaitKey,
    recorder::Outcome,
};

use crate::outcome::StepResult;

/// One run of one step, as far as its bookkeeping goes.
pub struct Attempt {
    /// The ledger row, its series of runs begun: `first_run_at`, `last_run_at` and `attempts` are set.
    pub ledger: StepRecord,
    /// The step's component.
    pub component: Component,
    /// Engine time at the end of the run.
    pub now: Timestamp,
    /// How long the code ran.
    pub took: Duration,
    /// A finalizer cannot change the verdict: its failure is recorded and passed over.
    pub is_finalizer: bool,
    /// No wait goes beyond the end of the operation's budget.
    pub deadline: Option<Timestamp>,
    /// Waits up to this long keep lease and stage memory.
    pub park_memory_max: Duration,
}

/// The bookkeeping of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Effect {
    /// The new ledger row.
    pub ledger: StepRecord,
    /// The entry for the flight recorder.
    pub record: RecordKind,
    /// The step was given up.
    pub is_skipped: bool,
    /// What follows.
    pub after: After,
}

/// What follows a run.
#[derive(Debug, PartialEq, Eq)]
pub enum After {
    /// The next row.
    NextRow,
    /// A wait.
    Park {
        /// Looked at again at this time at the latest.
        due_at: Timestamp,
        /// What ends it early.
        wait_on: Option<WaitKey>,
        /// Lease and stage memory are kept.
        keep_lease: bool,
    },
    /// The verdict.
    Decide(Ending, Option<LastError>),
}

/// Begins a run in the ledger. A step that was settled before (its stage starts over) begins a new
/// series; an unfinished one goes on with its old clocks, whatever restarted in between.
pub fn begin(old: Option<&StepRecord>, seq: u32, stage: &str, step: &str, now: Timestamp) -> StepRecord {
    let mut ledger = match old {
        Some(old) => old.clone(),
        None => StepRecord::new(seq, stage, step, StepStatus::Running),
    };
    if ledger.status.is_settled() || ledger.first_run_at.is_none() {
        ledger.first_run_at = Some(now);
        ledger.first_failure_at = None;
    }
    ledger.status = StepStatus::Running;
    ledger.attempts += 1;
    ledger.last_run_at = Some(now);
    ledger.next_run_at = None;
    ledger
}

/// Ends a run: what `result` means for everything that is stored.
pub fn settle(attempt: Attempt, result: StepResult) -> Effect {
    let Attempt { mut ledger, component, now, took, is_finalizer, deadline, park_memory_max } = attempt;
    let result = match result {
        StepResult::Fail { error } if is_finalizer => StepResult::Skip { reason: error.message },
        StepResult::Finish { .. } if is_finalizer => StepResult::Done,
        other => other,
    };
    let park = |after: Duration, wait_on: Option<WaitKey>| {
        let due_at = deadline.map_or(now + after, |deadline| (now + after).min(deadline.max(now)));
        let keep_lease = due_at.since(now) <= park_memory_max;
        (due_at, After::Park { due_at, wait_on, keep_lease })
    };

    let (mut until, mut on) = (None, None);
    let (status, outcome, reason, after) = match result {
        StepResult::Done => (StepStatus::Done, Outcome::Done, None, After::NextRow),
        StepResult::Wait { on: key, at_latest, reason } => {
            on = key.as_ref().map(ToString::to_string);
            let (due_at, after) = park(at_latest, key);
            until = Some(due_at);
            // An answer came, so the errors before it are over.
            ledger.first_failure_at = None;
            (StepStatus::Running, Outcome::Wait, Some(reason), after)
        }
        StepResult::Retry { after, reason } => {
            let (due_at, after) = park(after, None);
            until = Some(due_at);
            ledger.first_failure_at = ledger.first_failure_at.or(Some(now));
            (StepStatus::Retrying, Outcome::Retry, Some(reason), after)
        }
        StepResult::Skip { reason } => (StepStatus::Skipped, Outcome::Skip, Some(reason), After::NextRow),
        StepResult::Fail { error } => {
            let last_error = LastError {
                message: error.message.clone(),
                reason: error.reason,
                component: error.component.unwrap_or(component),
                step: ledger.step.clone(),
            };
            let ending = Ending { state: OperationState::Failed, description: error.user_message };
            (StepStatus::Failed, Outcome::Fail, Some(error.message), After::Decide(ending, Some(last_error)))
        }
        StepResult::Finish { state, description } => {
            let last_error = (state == OperationState::Failed).then(|| LastError {
                message: description.clone(),
                reason: slipway_model::Reason::KebInternal,
                component,
                step: ledger.step.clone(),
            });
            let after = After::Decide(Ending { state, description: description.clone() }, last_error);
            (StepStatus::Done, Outcome::Finish, Some(description), after)
        }
    };
    ledger.status = status;
    ledger.next_run_at = until;
    ledger.reason.clone_from(&reason);
    if status.is_settled() {
        ledger.first_failure_at = None;
    }
    let record = RecordKind::Attempt {
        stage: ledger.stage.clone(),
        step: ledger.step.clone(),
        attempt: ledger.attempts,
        outcome,
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        reason,
        until,
        on,
    };
    Effect { ledger, record, is_skipped: status == StepStatus::Skipped, after }
}
