//! Which operation goes first, and what a new operation does to those already there.
//!
//! Pure rules; the stores apply them inside the transaction that inserts or starts an operation.

use crate::{
    action::{Action, Request},
    id::OperationId,
    operation::Operation,
    recorder::RecordKind,
    state::{OperationState, OperationType},
    time::Timestamp,
};

/// A removal for good. It goes before everything else of its instance and cancels it.
pub fn is_final(kind: OperationType, temporary: bool) -> bool {
    kind == OperationType::Deprovision && !temporary
}

/// The order of pending operations of one instance: removals for good first, then by age. The id
/// breaks ties, so exactly one is first.
pub fn start_order(op: &Operation) -> impl Ord + use<> {
    (!is_final(op.kind, op.temporary), op.created_at, op.id)
}

/// Whether a new operation of this kind joins the unfinished one instead of being inserted:
/// removing or suspending twice is one removal or suspension.
pub fn joins(kind: OperationType, temporary: bool, unfinished: &Operation) -> bool {
    kind == OperationType::Deprovision && unfinished.kind == kind && unfinished.temporary == temporary
}

/// Whether a new operation cancels this unfinished one.
pub fn cancels(kind: OperationType, temporary: bool, unfinished: &Operation) -> bool {
    is_final(kind, temporary) && unfinished.control.cancel.is_none() && !is_final(unfinished.kind, unfinished.temporary)
}

/// Cancels an operation for the sake of a removal, and gives the entry for the flight recorder.
pub fn cancel(victim: &mut Operation, by: OperationId, now: Timestamp) -> RecordKind {
    let (who, why) = ("preemption", format!("deprovisioning {by} was requested"));
    victim.control.cancel = Some(Request { by: who.to_owned(), why: why.clone(), at: now, preempted_by: Some(by) });
    victim.notice(now);
    RecordKind::Action { action: Action::Cancel.name().to_owned(), by: who.to_owned(), why, step: None }
}

/// Whether a pending operation may begin now, given all unfinished operations of its instance.
pub fn may_start<'a>(op: &Operation, unfinished: impl IntoIterator<Item = &'a Operation>) -> bool {
    unfinished.into_iter().filter(|other| other.id != op.id).all(|other| match other.state {
        OperationState::InProgress | OperationState::Canceling => false,
        OperationState::Pending => start_order(op) < start_order(other),
        OperationState::Retrying | OperationState::Succeeded | OperationState::Failed | OperationState::Canceled => {
            true
        }
    })
}
