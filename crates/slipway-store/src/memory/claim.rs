//! Claiming one due operation, or setting it aside.

use slipway_model::{
    KnownBug, OperationId, OperationState,
    ports::{Claim, ClaimRequest, Lease},
    preemption,
};

use super::{MemoryStore, Tables};

impl MemoryStore {
    pub(super) fn claim_one(&self, tables: &mut Tables, id: OperationId, request: &ClaimRequest) -> Option<Claim> {
        let op = &tables.operations.get(&id)?.operation;
        let pending = op.state == OperationState::Pending;
        let starts = pending
            && op.deadline().is_none_or(|deadline| deadline > request.now)
            && op.control.cancel.is_none()
            && op.control.pause.is_none()
            && (preemption::may_start(op, tables.unfinished(op)) || self.bugs.has(KnownBug::TwoPendingBothStart));
        let deadline = op.deadline();
        let is_late = deadline.is_some_and(|deadline| deadline <= request.now);
        let blocked = pending && !starts && !is_late && op.control.cancel.is_none() && op.control.pause.is_none();

        let row = tables.operations.get_mut(&id)?;
        let op = &mut row.operation;
        op.schedule.due_at = if blocked { deadline } else { None };
        if blocked {
            return None;
        }
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
        Some(Claim {
            operation: op.clone(),
            steps: row.steps.clone(),
            lease: Lease { replica: request.replica.clone(), fence: op.schedule.fence },
            started: starts,
            woken_by: row.woken_by.take(),
            taken_from: row.taken_from.take(),
        })
    }
}
