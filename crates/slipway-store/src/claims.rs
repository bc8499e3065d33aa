//! What the SQL stores have in common about claims and about who is next.

use std::time::Duration;

use slipway_model::{
    Operation, OperationId, OperationState, OperationType, Timestamp,
    ports::{ClaimRequest, StoreResult, Want},
    preemption,
    time::secs,
};

use crate::rows::{Cells, unreadable};

/// How long a row that cannot be read is left alone before somebody tries again: it must neither
/// hold up the others nor be forgotten.
pub(crate) const UNREADABLE_PAUSE: Duration = secs(60);

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

/// A pending operation that wants to start. One that was asked to cancel or to hold, or whose budget
/// is spent, does not: its holder sees to that.
pub(crate) fn wants_to_start(op: &Operation, now: Timestamp) -> bool {
    op.state == OperationState::Pending
        && op.control.cancel.is_none()
        && op.control.pause.is_none()
        && op.deadline().is_none_or(|deadline| deadline > now)
}

/// The operation as it is once it has been claimed; the SQL says the same, so that the row need not
/// be read back.
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

/// A pending operation as the end of another one sees it. Read without the rest of the row, so that
/// one that cannot be read keeps nobody else from ending.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) id: OperationId,
    pub(crate) instance: String,
    kind: OperationType,
    temporary: bool,
    created_at: i64,
    paused: bool,
    /// Somebody runs it: it is being canceled before it could start.
    runs: bool,
}

/// The columns of a [`Waiting`].
macro_rules! waiting_columns {
    () => {
        "id, instance_id, kind, temporary, created_at, pause_request, owner, due_at"
    };
}
pub(crate) use waiting_columns;

impl Waiting {
    pub(crate) fn read(row: &impl Cells) -> StoreResult<Self> {
        Ok(Self {
            id: OperationId::from(row.uuid("id")?),
            instance: row.text("instance_id")?,
            kind: row.text("kind")?.parse().map_err(unreadable)?,
            temporary: row.flag("temporary")?,
            created_at: row.int("created_at")?,
            paused: row.maybe_text("pause_request")?.is_some(),
            runs: row.maybe_text("owner")?.is_some() && row.maybe_int("due_at")?.is_none(),
        })
    }

    /// Which of these is made due now that another operation of the instance has ended: the first
    /// by [`preemption::start_order`]. None while that one is paused, or while somebody runs it, who
    /// would get it a second time.
    pub(crate) fn next<'a>(waiting: impl Iterator<Item = &'a Self>) -> Option<OperationId> {
        let order = |op: &&Self| (!preemption::is_final(op.kind, op.temporary), op.created_at, op.id);
        waiting.min_by_key(order).filter(|op| !op.paused && !op.runs).map(|op| op.id)
    }
}
