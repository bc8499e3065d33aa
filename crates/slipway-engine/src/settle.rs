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

#[cfg(test)]
mod tests {
    use slipway_model::{
        Reason,
        time::{hours, millis, mins, secs},
    };

    use super::*;
    use crate::{outcome::StepError, sample::BEGIN};

    const NOW: Timestamp = BEGIN;

    fn attempt() -> Attempt {
        Attempt {
            ledger: begin(None, 3, "stage", "Step", NOW - secs(1)),
            component: Component::Avs,
            now: NOW,
            took: millis(7),
            is_finalizer: false,
            deadline: Some(NOW + hours(1)),
            park_memory_max: secs(60),
        }
    }

    fn wait(at_latest: Duration) -> StepResult {
        StepResult::Wait { on: Some("gate/1".parse().expect("key")), at_latest, reason: "waiting".to_owned() }
    }

    fn retry(after: Duration) -> StepResult {
        StepResult::Retry { after, reason: "status 500".to_owned() }
    }

    fn fail() -> StepResult {
        StepResult::Fail { error: StepError::new(Reason::HttpStatusCode, "it does not work", "status 403") }
    }

    fn finish(state: OperationState) -> StepResult {
        StepResult::Finish { state, description: "enough".to_owned() }
    }

    #[test]
    fn every_outcome_has_its_status_its_word_and_what_follows() {
        let skip = StepResult::Skip { reason: "not needed".to_owned() };
        for (result, status, word, reason) in [
            (StepResult::Done, StepStatus::Done, Outcome::Done, None),
            (wait(secs(5)), StepStatus::Running, Outcome::Wait, Some("waiting")),
            (retry(secs(5)), StepStatus::Retrying, Outcome::Retry, Some("status 500")),
            (skip, StepStatus::Skipped, Outcome::Skip, Some("not needed")),
            (fail(), StepStatus::Failed, Outcome::Fail, Some("status 403")),
            (finish(OperationState::Succeeded), StepStatus::Done, Outcome::Finish, Some("enough")),
        ] {
            let effect = settle(attempt(), result);
            assert_eq!(effect.ledger.status, status);
            assert_eq!(effect.ledger.reason.as_deref(), reason);
            assert_eq!(effect.is_skipped, status == StepStatus::Skipped);
            assert_eq!(effect.ledger.next_run_at.is_some(), !status.is_settled());
            let RecordKind::Attempt { outcome, attempt, took_us, until, .. } = &effect.record else {
                panic!("an attempt")
            };
            assert_eq!((*outcome, *attempt, *took_us), (word, 1, 7000));
            assert_eq!(*until, effect.ledger.next_run_at);
            let parks = matches!(effect.after, After::Park { .. });
            assert_eq!(parks, !status.is_settled(), "{word:?}");
        }
    }

    #[test]
    fn a_failure_blames_the_step_and_its_component_unless_it_names_another() {
        let After::Decide(ending, Some(error)) = settle(attempt(), fail()).after else { panic!("a verdict") };
        assert_eq!((ending.state, ending.description.as_str()), (OperationState::Failed, "it does not work"));
        assert_eq!(
            (error.step.as_str(), error.component, error.message.as_str()),
            ("Step", Component::Avs, "status 403")
        );
        let inner = StepError::internal("gardener says no").blamed_on(Component::Provisioner);
        let After::Decide(_, Some(error)) = settle(attempt(), StepResult::Fail { error: inner }).after else {
            panic!("a verdict")
        };
        assert_eq!(error.component, Component::Provisioner);
    }

    #[test]
    fn only_a_failed_finish_leaves_an_error_on_record() {
        for (state, has_error) in
            [(OperationState::Succeeded, false), (OperationState::Canceled, false), (OperationState::Failed, true)]
        {
            let After::Decide(ending, error) = settle(attempt(), finish(state)).after else { panic!("a verdict") };
            assert_eq!((ending.state, error.is_some()), (state, has_error));
        }
    }

    #[test]
    fn a_finalizer_cannot_change_the_verdict() {
        let finalizer = || Attempt { is_finalizer: true, ..attempt() };
        let failed = settle(finalizer(), fail());
        assert_eq!(
            (failed.ledger.status, failed.after, failed.is_skipped),
            (StepStatus::Skipped, After::NextRow, true)
        );
        let finished = settle(finalizer(), finish(OperationState::Succeeded));
        assert_eq!((finished.ledger.status, finished.after), (StepStatus::Done, After::NextRow));
    }

    #[test]
    fn a_short_wait_keeps_lease_and_memory_and_none_goes_beyond_the_budget() {
        for (wish, due, keeps) in [
            (secs(60), secs(60), true),
            (secs(61), secs(61), false),
            (hours(3), hours(1), false),
            (Duration::ZERO, Duration::ZERO, true),
        ] {
            for result in [wait(wish), retry(wish)] {
                let After::Park { due_at, keep_lease, .. } = settle(attempt(), result).after else { panic!("a wait") };
                assert_eq!((due_at, keep_lease), (NOW + due, keeps), "{wish:?}");
            }
        }
        let overdue = Attempt { deadline: Some(NOW - mins(1)), ..attempt() };
        let After::Park { due_at, .. } = settle(overdue, wait(secs(5))).after else { panic!("a wait") };
        assert_eq!(due_at, NOW, "a spent budget is looked at now, not in the past");
    }

    #[test]
    fn errors_are_counted_from_the_first_until_a_good_answer() {
        let first = settle(attempt(), retry(secs(5))).ledger;
        assert_eq!(first.first_failure_at, Some(NOW));
        let again = begin(Some(&first), 3, "stage", "Step", NOW + secs(5));
        let later = Attempt { ledger: again, now: NOW + secs(6), ..attempt() };
        let second = settle(later, retry(secs(5))).ledger;
        assert_eq!((second.first_failure_at, second.attempts), (Some(NOW), 2), "the clock goes on");
        let good = Attempt { ledger: begin(Some(&second), 3, "stage", "Step", NOW + secs(11)), ..attempt() };
        let waiting = settle(good, wait(secs(5))).ledger;
        assert_eq!(waiting.first_failure_at, None, "an answer came");
        assert_eq!(waiting.first_run_at, first.first_run_at, "the wait goes on");
    }

    #[test]
    fn a_settled_step_that_runs_again_begins_a_new_series_and_keeps_its_place() {
        let done = settle(attempt(), StepResult::Done).ledger;
        let again = begin(Some(&done), 9, "stage", "Step", NOW + mins(1));
        assert_eq!((again.seq, again.attempts, again.status), (3, 2, StepStatus::Running));
        assert_eq!((again.first_run_at, again.first_failure_at), (Some(NOW + mins(1)), None));
        assert_eq!(again.next_run_at, None);
    }
}
