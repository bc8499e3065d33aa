//! A held operation: what is stored, what this run has changed, and how the change is written.

use slipway_model::{
    Control, JsonText, Operation, RecordKind, StepRecord, Timestamp,
    operation::Fields,
    ports::{Claim, Commit, CommitOutcome, Lease, Next},
    time::millis,
};

use crate::{
    life::Life,
    step::{Domain, Op},
};

/// How often a write is made anew when others keep changing the same operation.
const CONFLICT_TRIES: u32 = 5;

/// A change, kept so that it can be applied again to a newer state. It must name what it changes
/// and leave the rest alone.
type Change<D> = Box<dyn FnMut(&mut Fields, &mut <D as Domain>::Data) + Send>;

/// One operation under a lease.
pub(crate) struct Hold<D: Domain> {
    /// As last read or written, with the changes of this run applied to `fields`; `fields.data`
    /// lags behind `op.data` until the next save.
    pub(crate) operation: Operation,
    /// As steps see it.
    pub(crate) op: Op<D>,
    /// The ledger.
    pub(crate) steps: Vec<StepRecord>,
    pub(crate) lease: Lease,
    /// The control number the latest move was decided on. A wish that came with the answer to a
    /// write in the middle of a step is known, but not acted on: a wait must not sleep over it.
    acted_on: u64,
    changes: Vec<Change<D>>,
    unsaved_steps: Vec<StepRecord>,
    unsaved_records: Vec<(Timestamp, RecordKind)>,
    clear_skip: bool,
}

/// How a save went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saved {
    /// It is durable.
    Yes,
    /// The lease is gone; nothing was written and nothing may be.
    LeaseLost,
    /// Others changed the operation faster than we could; nothing was written.
    Conflict,
}

impl<D: Domain> Hold<D> {
    /// Takes a claim in hand. Fails when the stored data are not of the domain's shape.
    pub(crate) fn new(claim: Claim) -> Result<Self, (Box<Claim>, String)> {
        let data = match claim.operation.fields.data.to() {
            Ok(data) => data,
            Err(error) => return Err((Box::new(claim), error.to_string())),
        };
        let operation = claim.operation;
        let op = Op {
            id: operation.id,
            instance_id: operation.instance_id.clone(),
            kind: operation.kind,
            temporary: operation.temporary,
            plan: operation.plan.clone(),
            created_at: operation.created_at,
            data,
            secrets: operation.secrets.clone(),
        };
        Ok(Self {
            acted_on: operation.control.seq,
            operation,
            op,
            steps: claim.steps,
            lease: claim.lease,
            changes: Vec::new(),
            unsaved_steps: Vec::new(),
            unsaved_records: Vec::new(),
            clear_skip: false,
        })
    }

    /// Something waits to be written.
    pub(crate) fn is_dirty(&self) -> bool {
        !(self.changes.is_empty() && self.unsaved_steps.is_empty()) || self.clear_skip
    }

    /// Changes what a process may change.
    pub(crate) fn change(&mut self, mut change: impl FnMut(&mut Fields, &mut D::Data) + Send + 'static) {
        change(&mut self.operation.fields, &mut self.op.data);
        self.changes.push(Box::new(change));
    }

    /// Changes the data of the steps.
    pub(crate) fn change_data(&mut self, mut change: impl FnMut(&mut D::Data) + Send + 'static) {
        self.change(move |_, data| change(data));
    }

    /// Replaces a ledger row.
    pub(crate) fn put_step(&mut self, row: StepRecord) {
        let is_same = |old: &StepRecord| old.stage == row.stage && old.step == row.step;
        self.unsaved_steps.retain(|old| !is_same(old));
        self.unsaved_steps.push(row.clone());
        match self.steps.iter_mut().find(|old| is_same(old)) {
            Some(old) => *old = row,
            None => self.steps.push(row),
        }
    }

    /// The ledger row of a step.
    pub(crate) fn step(&self, stage: &str, step: &str) -> Option<&StepRecord> {
        self.steps.iter().find(|row| row.stage == stage && row.step == step)
    }

    /// Adds an entry for the flight recorder; written with the next save.
    pub(crate) fn record(&mut self, at: Timestamp, kind: RecordKind) {
        self.unsaved_records.push((at, kind));
    }

    /// A move is decided on all wishes known now.
    pub(crate) fn acts_on_wishes(&mut self) {
        self.acted_on = self.operation.control.seq;
    }

    /// The operator's skip request is met or void.
    pub(crate) fn forget_skip(&mut self) {
        self.clear_skip |= self.operation.control.skip.take().is_some();
    }

    /// Writes everything that is not written yet, in one transaction.
    pub(crate) async fn save(&mut self, life: &Life<D>, next: Next) -> Saved {
        for attempt in 0..CONFLICT_TRIES {
            let fields = match self.fields_to_write() {
                Ok(fields) => fields,
                Err(error) => {
                    // A domain whose data do not serialize is a defect; the lease is given back
                    // and an operator sees the operation come round with this message.
                    tracing::error!(operation = %self.op.id, %error, "the data of an operation cannot be stored");
                    return Saved::LeaseLost;
                }
            };
            let changes_version = u64::from(fields.is_some());
            let commit = Commit {
                operation: self.op.id,
                lease: self.lease.clone(),
                number: self.operation.schedule.commits + 1,
                expected_version: self.operation.version,
                seen_control: self.acted_on,
                clear_skip: self.clear_skip,
                at: life.shared.time.now(),
                fields,
                steps: self.unsaved_steps.clone(),
                records: self.unsaved_records.clone(),
                next: next.clone(),
            };
            match life.committer.commit(commit).await {
                CommitOutcome::Committed { control } => {
                    // Our own count of versions: when this answer is the repeat of a lost one,
                    // somebody may have written since, and that must show as a conflict.
                    self.operation.version += changes_version;
                    self.written(*control, life.shared.time.now());
                    return Saved::Yes;
                }
                CommitOutcome::Fenced => return Saved::LeaseLost,
                CommitOutcome::Conflict(current) => {
                    if let Err(error) = self.rebase(*current) {
                        tracing::error!(operation = %self.op.id, %error, "an operation was changed into something unreadable");
                        return Saved::LeaseLost;
                    }
                    let pause = life.shared.random.jitter(millis(5 << attempt));
                    life.shared.clock.sleep(pause).await;
                }
            }
        }
        Saved::Conflict
    }

    fn fields_to_write(&mut self) -> Result<Option<Fields>, String> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        self.operation.fields.data = JsonText::of(&self.op.data).map_err(|error| error.to_string())?;
        Ok(Some(self.operation.fields.clone()))
    }

    fn written(&mut self, control: Control, now: Timestamp) {
        self.operation.schedule.commits += 1;
        self.operation.control = control;
        self.operation.updated_at = now;
        self.changes.clear();
        self.unsaved_steps.clear();
        self.unsaved_records.clear();
        self.clear_skip = false;
    }

    /// Applies the unsaved changes to a newer state. The wishes stay those this run has acted on:
    /// a newer one must be noticed by the store when the operation parks, and by us after a write.
    fn rebase(&mut self, current: Operation) -> Result<(), String> {
        self.op.data = current.fields.data.to().map_err(|error| error.to_string())?;
        let control = std::mem::take(&mut self.operation.control);
        let commits = self.operation.schedule.commits;
        self.operation = current;
        self.operation.control = control;
        self.operation.schedule.commits = commits;
        for change in &mut self.changes {
            change(&mut self.operation.fields, &mut self.op.data);
        }
        Ok(())
    }
}
