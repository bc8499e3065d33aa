//! Runs one claimed operation until it parks, ends, or the lease does.

use std::sync::Arc;

use slipway_model::{
    Component, KnownBug, LastError, OperationId, OperationState, Reason, RecordKind,
    operation::Fields,
    ports::{Claim, Commit, CommitOutcome, Next},
};

use crate::{
    hold::Hold,
    life::Life,
    run::{Left, Parked, Run, Slot},
    step::Domain,
};

/// Runs a claim to its next rest.
pub(crate) async fn run<D: Domain>(life: Arc<Life<D>>, claim: Claim, ticket: u64, slot: Slot) {
    let mut in_hand = InHand { life: life.clone(), id: claim.operation.id, ticket, stays: false };
    tokio::select! {
        biased;
        () = life.over.cancelled() => {}
        left = drive(&life, claim, slot) => in_hand.stays = left == Left::Stopping,
    }
}

/// Clears the table of running operations, even if the run panics: then the audit gives the
/// operation back.
struct InHand<D: Domain> {
    life: Arc<Life<D>>,
    id: OperationId,
    ticket: u64,
    /// Put down for a stop: still ours until the release.
    stays: bool,
}

impl<D: Domain> Drop for InHand<D> {
    fn drop(&mut self) {
        if !self.stays {
            self.life.work().put_down(self.id, self.ticket);
        }
        self.life.freed.notify_one();
    }
}

async fn drive<D: Domain>(life: &Arc<Life<D>>, claim: Claim, slot: Slot) -> Left {
    let parked = take_parked(life, &claim);
    let Some(process) = life.shared.registry.get(&claim.operation.process) else {
        // The store hands out known processes only; should that fail, somebody else must run it.
        tracing::error!(process = %claim.operation.process, "claimed an operation of an unknown process");
        return Left::LeaseLost;
    };
    let (started, taken_from, woken_by) = (claim.started, claim.taken_from.clone(), claim.woken_by.clone());
    let hold = match Hold::new(claim) {
        Ok(hold) => hold,
        Err((claim, error)) => {
            return fail_unreadable(life, *claim, &error).await;
        }
    };
    let mut run = Run::new(life.clone(), hold, process, parked, slot);
    let now = life.shared.time.now();
    if started {
        run.ctx.hold.record(now, RecordKind::Started { replica: life.replica.clone() });
    }
    run.ctx.hold.record(now, RecordKind::Claimed { replica: life.replica.clone(), taken_from, woken_by });
    run.go(life).await
}

/// The stored data are not of the shape that the process works on. Looking again would not help,
/// and nothing may wait silently: the operation fails, its data untouched.
async fn fail_unreadable<D: Domain>(life: &Life<D>, claim: Claim, problem: &str) -> Left {
    let (operation, now) = (claim.operation, life.shared.time.now());
    tracing::error!(operation = %operation.id, problem, "the data of an operation cannot be read");
    let (state, description) = (OperationState::Failed, "internal error".to_owned());
    let fields = Fields {
        description: description.clone(),
        last_error: Some(LastError {
            message: format!("the data of the operation cannot be read: {problem}"),
            reason: Reason::KebInternal,
            component: Component::Keb,
            step: String::new(),
        }),
        ..operation.fields
    };
    let commit = Commit {
        operation: operation.id,
        lease: claim.lease,
        number: operation.schedule.commits + 1,
        expected_version: operation.version,
        seen_control: operation.control.seq,
        clear_skip: false,
        at: now,
        fields: Some(fields),
        steps: Vec::new(),
        records: vec![(now, RecordKind::Ended { state, description })],
        next: Next::End { state },
    };
    match life.committer.commit(commit).await {
        CommitOutcome::Committed { .. } => Left::InOrder,
        // Changed meanwhile or lost: the audit gives it back and it comes round again.
        CommitOutcome::Conflict(_) | CommitOutcome::Fenced => Left::LeaseLost,
    }
}

/// Stage memory is good only under the very lease it was made under.
fn take_parked<D: Domain>(life: &Life<D>, claim: &Claim) -> Option<Parked> {
    let parked = life.work().parked.remove(&claim.operation.id)?;
    let reuse = life.shared.config.bugs.has(KnownBug::MemoryReusedAfterLeaseLoss);
    (parked.fence == claim.lease.fence || reuse).then_some(parked)
}
