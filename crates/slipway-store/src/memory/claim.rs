//! Claiming one due operation, or setting it aside.

use slipway_model::{
    KnownBug, OperationId,
    ports::{Claim, ClaimRequest, Lease},
    preemption,
};

use super::{MemoryStore, Tables};
use crate::claims;

impl MemoryStore {
    pub(super) fn claim_one(&self, tables: &mut Tables, id: OperationId, request: &ClaimRequest) -> Option<Claim> {
        let op = &tables.operations.get(&id)?.operation;
        let is_willing = claims::wants_to_start(op, request.now);
        // The one known bug that is made here: nobody around a store can say who starts.
        let starts = is_willing
            && (preemption::may_start(op, tables.unfinished(op)) || self.bugs.has(KnownBug::TwoPendingBothStart));

        let row = tables.operations.get_mut(&id)?;
        let op = &mut row.operation;
        if is_willing && !starts {
            op.schedule.due_at = op.deadline();
            return None;
        }
        claims::take(op, request, starts);
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
