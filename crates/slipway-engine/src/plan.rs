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
