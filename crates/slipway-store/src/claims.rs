//! What a claim does to an operation in memory, for the SQL stores: they write the same in SQL and
//! so need not read the row back.

use slipway_model::{
    Operation, OperationState,
    ports::{ClaimRequest, Want},
};

/// The wants with each class once, so that no row is looked at twice.
pub(crate) fn merged(wants: &[Want]) -> Vec<Want> {
    let mut merged: Vec<Want> = Vec::new();
    for want in wants {
        match merged.iter_mut().find(|other| other.class == want.class) {
            Some(other) => other.limit += want.limit,
            None => merged.push(*want),
        }
    }
    merged
}

/// The operation as it is once it has been claimed.
pub(crate) fn take(op: &mut Operation, request: &ClaimRequest, starts: bool) {
    op.schedule.due_at = None;
    if op.schedule.owner.is_none() {
        op.schedule.owner = Some(request.replica.clone());
        op.schedule.fence += 1;
        op.schedule.commits = 0;
    }
    if starts {
        op.state = OperationState::InProgress;
        op.started_at = Some(request.now);
        op.budget_from = op.budget_from.or(Some(request.now));
        op.updated_at = request.now;
        op.version += 1;
    }
}

/// Whether the first pending operation of an instance is made due when another one ends. Not while
/// it is paused, and not while somebody runs it (a pending one that is being canceled), who would
/// get it a second time.
pub(crate) fn may_be_made_due(pending: &Operation) -> bool {
    let runs = pending.schedule.owner.is_some() && pending.schedule.due_at.is_none();
    pending.control.pause.is_none() && !runs
}
