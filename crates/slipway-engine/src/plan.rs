//! The dispatcher's next move, as a pure function of what is stored and the time.

use std::time::Duration;

use slipway_model::{
    Component, Ending, LastError, Operation, OperationState, Reason, StepRecord, Timestamp, time::spell,
};

use crate::{
    process::{Process, Row},
    step::{Domain, Op},
};

/// What to do with a held operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// Run the row at this position (of the finalizers, once the ending is decided).
    Run(usize),
    /// The row needs no run: switched off, not applicable, or skipped by an operator.
    Settle(usize, Settled),
    /// The verdict is in; finalizers may follow.
    Decide(Ending, Option<LastError>),
    /// Nothing is left to do: write the end.
    End(Ending),
    /// Paused: put it aside.
    Hold,
}

/// Why a row needs no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Switched off by configuration.
    Disabled,
    /// Its condition does not hold.
    NotApplicable,
    /// An operator asked for it.
    SkippedByOperator,
    /// A finalizer whose time is over.
    GivenUp,
}

/// Everything the next move depends on.
pub struct Situation<'a, D: Domain> {
    /// The table.
    pub process: &'a Process<D>,
    /// The operation as last seen in the database.
    pub operation: &'a Operation,
    /// The same as steps see it.
    pub op: &'a Op<D>,
    /// Its ledger.
    pub steps: &'a [StepRecord],
    /// Rows before this one are settled in this run of their stages.
    pub cursor: usize,
    /// Steps switched off.
    pub is_disabled: &'a dyn Fn(&str) -> bool,
    /// Engine time.
    pub now: Timestamp,
}

impl<'a, D: Domain> Situation<'a, D> {
    /// The rows that apply: the process, or its finalizers once the ending is decided.
    pub fn rows(&self) -> &'a [Row<D>] {
        if self.operation.fields.ending.is_some() { &self.process.finalizers } else { &self.process.rows }
    }

    /// A finalizer that found no end in its own time is passed over, so that the operation ends.
    fn is_given_up(&self, row: &Row<D>) -> bool {
        let is_finalizer = self.operation.fields.ending.is_some();
        let ledger = self.steps.iter().find(|old| old.stage == row.stage && old.step == row.step.name());
        let first_run_at = ledger.filter(|old| !old.status.is_settled()).and_then(|old| old.first_run_at);
        is_finalizer && first_run_at.is_some_and(|first| self.now >= first + row.step.gives_up_after())
    }
}

/// The next move. A verdict once decided stands; otherwise a cancel goes before the budget, the
/// budget before a pause, and a pause before work.
pub fn next_move<D: Domain>(s: &Situation<'_, D>) -> Move {
    let operation = s.operation;
    if let Some(ending) = &operation.fields.ending {
        // What never began has nothing to finalize, and another operation of the instance may run.
        if operation.state == OperationState::Pending {
            return Move::End(ending.clone());
        }
        return next_row(s).unwrap_or_else(|| Move::End(ending.clone()));
    }
    if let Some(request) = &operation.control.cancel {
        let (state, description) = request.end_of(operation.kind, operation.state);
        let error = (state == OperationState::Failed).then(|| LastError {
            message: description.clone(),
            reason: Reason::KebInternal,
            component: Component::Keb,
            step: String::new(),
        });
        return Move::Decide(Ending { state, description }, error);
    }
    if operation.deadline().is_some_and(|deadline| s.now >= deadline) {
        return timed_out(operation.budget);
    }
    if operation.control.pause.is_some() {
        return Move::Hold;
    }
    next_row(s).unwrap_or_else(|| {
        let ending = Ending { state: OperationState::Succeeded, description: "Processing finished".to_owned() };
        Move::Decide(ending, None)
    })
}

fn next_row<D: Domain>(s: &Situation<'_, D>) -> Option<Move> {
    let is_open = |row: &Row<D>| !s.operation.fields.finished_stages.iter().any(|stage| stage == row.stage);
    let (index, row) = s.rows().iter().enumerate().skip(s.cursor).find(|(_, row)| is_open(row))?;
    let name = row.step.name();
    let asked_to_skip = s.operation.control.skip.as_ref().is_some_and(|skip| skip.step == name);
    Some(if (s.is_disabled)(name) {
        Move::Settle(index, Settled::Disabled)
    } else if !row.step.applies(s.op) {
        Move::Settle(index, Settled::NotApplicable)
    } else if asked_to_skip {
        Move::Settle(index, Settled::SkippedByOperator)
    } else if s.is_given_up(row) {
        Move::Settle(index, Settled::GivenUp)
    } else {
        Move::Run(index)
    })
}

fn timed_out(budget: Duration) -> Move {
    let message = format!("operation has reached the time limit: {}", spell(budget));
    Move::Decide(
        Ending { state: OperationState::Failed, description: message.clone() },
        Some(LastError { message, reason: Reason::KebTimeout, component: Component::Keb, step: String::new() }),
    )
}

#[cfg(test)]
mod tests {
    use slipway_model::{
        OperationType, Request, StepStatus,
        action::SkipRequest,
        time::{hours, mins, secs},
    };

    use super::*;
    use crate::{
        process::row,
        sample::{A, B, BEGIN, C, Sample, UNFIT, op, operation, table},
    };

    static ROWS: &[Row<Sample>] = &[row("one", 1, &A), row("two", 1, &B), row("one", 1, &UNFIT)];
    static FINALIZERS: &[Row<Sample>] = &[row("last", 1, &C)];

    /// The move for an operation that a case has changed, its cursor and its ledger, this long after its begin.
    fn moved(change: impl FnOnce(&mut Operation), cursor: usize, steps: &[StepRecord], after: Duration) -> Move {
        let process = Process::of(&table(ROWS, FINALIZERS), &[]).expect("a right table");
        let mut operation = operation();
        change(&mut operation);
        let (op, now) = (op(&operation), BEGIN + after);
        let is_disabled = |step: &str| step == "B" && op.plan == "without b";
        let (op, operation) = (&op, &operation);
        next_move(&Situation { process: &process, operation, op, steps, cursor, is_disabled: &is_disabled, now })
    }

    fn request(by: &str) -> Request {
        Request { by: by.to_owned(), why: "because".to_owned(), at: BEGIN, preempted_by: None }
    }

    fn ending() -> Ending {
        Ending { state: OperationState::Failed, description: "it does not work".to_owned() }
    }

    #[test]
    fn rows_run_in_order_and_finished_stages_are_passed_over() {
        for (finished, cursor, wanted) in [
            (vec![], 0, Move::Run(0)),
            (vec![], 1, Move::Run(1)),
            (vec!["two"], 0, Move::Run(0)),
            (vec!["two"], 1, Move::Settle(2, Settled::NotApplicable)),
            (vec!["one"], 0, Move::Run(1)),
        ] {
            let finished: Vec<_> = finished.into_iter().map(str::to_owned).collect();
            let seen = moved(|op| op.fields.finished_stages.clone_from(&finished), cursor, &[], secs(1));
            assert_eq!(seen, wanted, "finished {finished:?}, cursor {cursor}");
        }
    }

    #[test]
    fn behind_the_last_row_the_operation_has_succeeded() {
        let Move::Decide(ending, None) = moved(|_| (), 3, &[], secs(1)) else { panic!("a verdict") };
        assert_eq!((ending.state, ending.description.as_str()), (OperationState::Succeeded, "Processing finished"));
    }

    #[test]
    fn a_step_that_is_switched_off_or_skipped_by_an_operator_does_not_run() {
        let off = moved(|op| op.plan = "without b".to_owned(), 1, &[], secs(1));
        assert_eq!(off, Move::Settle(1, Settled::Disabled));
        let skip = |op: &mut Operation| {
            op.control.skip = Some(SkipRequest { step: "A".to_owned(), request: request("ann") });
        };
        assert_eq!(moved(skip, 0, &[], secs(1)), Move::Settle(0, Settled::SkippedByOperator));
        assert_eq!(moved(skip, 1, &[], secs(1)), Move::Run(1), "it was asked for another step");
    }

    #[test]
    fn a_cancel_goes_before_the_budget_the_budget_before_a_pause_and_a_pause_before_work() {
        let late = hours(1);
        let all = |op: &mut Operation| {
            op.control.cancel = Some(request("ann"));
            op.control.pause = Some(request("bob"));
        };
        let Move::Decide(ending, None) = moved(all, 0, &[], late) else { panic!("a verdict") };
        assert_eq!(
            (ending.state, ending.description.as_str()),
            (OperationState::Canceled, "operation canceled by ann: because")
        );

        let paused = |op: &mut Operation| op.control.pause = Some(request("bob"));
        let Move::Decide(ending, Some(error)) = moved(paused, 0, &[], late) else { panic!("a verdict") };
        assert_eq!((ending.state, error.reason), (OperationState::Failed, Reason::KebTimeout));
        assert_eq!(error.message, "operation has reached the time limit: 1h");
        assert_eq!(moved(paused, 0, &[], late - secs(1)), Move::Hold);
    }

    #[test]
    fn a_canceled_provisioning_has_failed_and_says_why() {
        let cancel = |op: &mut Operation| {
            op.kind = OperationType::Provision;
            op.control.cancel = Some(request("ann"));
        };
        let Move::Decide(ending, Some(error)) = moved(cancel, 0, &[], secs(1)) else {
            panic!("a verdict with a reason")
        };
        assert_eq!((ending.state, error.message), (OperationState::Failed, ending.description));
    }

    #[test]
    fn a_verdict_stands_whatever_is_asked_for_later_and_finalizers_follow() {
        let decided = |op: &mut Operation| {
            op.fields.ending = Some(ending());
            op.control.cancel = Some(request("ann"));
            op.control.pause = Some(request("bob"));
        };
        assert_eq!(moved(decided, 0, &[], hours(2)), Move::Run(0), "the finalizer");
        assert_eq!(moved(decided, 1, &[], hours(2)), Move::End(ending()));
    }

    #[test]
    fn what_never_began_has_nothing_to_finalize() {
        let pending = |op: &mut Operation| {
            op.state = OperationState::Pending;
            op.fields.ending = Some(ending());
        };
        assert_eq!(moved(pending, 0, &[], secs(1)), Move::End(ending()));
    }

    #[test]
    fn a_finalizer_is_given_up_when_its_own_time_is_over() {
        let decided = |op: &mut Operation| op.fields.ending = Some(ending());
        let mut ledger = StepRecord::new(3, "last", "C", StepStatus::Retrying);
        ledger.first_run_at = Some(BEGIN + secs(10));
        let after = |time| moved(decided, 0, std::slice::from_ref(&ledger), time);
        assert_eq!(after(mins(5)), Move::Run(0));
        assert_eq!(after(mins(5) + secs(10)), Move::Settle(0, Settled::GivenUp));
    }
}
