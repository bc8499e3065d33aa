//! The run of one held operation: move after move, as the plan says.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use slipway_model::{
    Ending, KnownBug, LastError, OperationId, Reason, RecordKind, StepRecord, StepStatus, operation::Fields,
    ports::Next, recorder::Outcome, time::secs,
};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::attempt,
    context::StepCtx,
    events::Event,
    hold::{Hold, Saved},
    life::Life,
    memory::StageMemory,
    outcome::StepResult,
    plan::{Move, Settled, Situation, next_move},
    process::{Process, Row},
    recording::CurrentRun,
    settle::{After, Attempt, begin, settle},
    step::Domain,
};

/// What is kept of an operation that waits a moment under its lease.
pub(crate) struct Parked {
    pub(crate) fence: u64,
    cursor: usize,
    memories: Memories,
}

/// Memory per open stage: an outer stage keeps its own while an inner one runs.
type Memories = Vec<(&'static str, StageMemory)>;

/// How a run left its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Parked, held or ended, and written so.
    InOrder,
    /// The lease is lost.
    LeaseLost,
    /// A stop was asked for; the lease will be released with all others.
    Stopping,
}

pub(crate) struct Run<'p, D: Domain> {
    process: &'p Process<D>,
    pub(crate) ctx: StepCtx<D>,
    cursor: usize,
    memories: Memories,
    /// Published once the write they tell of is durable.
    news: Vec<Event>,
    slot: Slot,
}

/// The right to run steps of a class. It is given up when the last write of the run begins: that takes
/// the database several times as long as a step's, and another operation can use the time.
pub(crate) type Slot = Option<OwnedSemaphorePermit>;

impl<'p, D: Domain> Run<'p, D> {
    pub(crate) fn new(
        life: Arc<Life<D>>,
        hold: Hold<D>,
        process: &'p Process<D>,
        parked: Option<Parked>,
        slot: Slot,
    ) -> Self {
        let (cursor, memories) = parked.map_or((0, Vec::new()), |parked| (parked.cursor, parked.memories));
        let ctx = StepCtx {
            hold,
            life,
            memory: StageMemory::default(),
            ledger: StepRecord::new(0, "", "", StepStatus::Running),
            gives_up_after: Duration::ZERO,
            cancel: CancellationToken::new(),
            interrupt: None,
            interrupted: Arc::new(Notify::new()),
            saving: Arc::new(AtomicBool::new(false)),
        };
        Self { process, ctx, cursor, memories, news: Vec::new(), slot }
    }

    /// One move after the other. What a move changes is written before the next step runs, or
    /// together with the end.
    pub(crate) async fn go(&mut self, life: &Arc<Life<D>>) -> Left {
        loop {
            self.ctx.hold.acts_on_wishes();
            match self.next_move(life) {
                Move::Settle(index, why) => self.settle_without_run(index, why, life),
                Move::Decide(ending, error) => self.decide(ending, error),
                Move::Hold => return self.rest(life, Next::Hold).await,
                Move::End(ending) => return self.end(life, ending).await,
                Move::Run(index) => {
                    if self.ctx.hold.is_dirty() && self.save(life, Next::Run).await == Saved::LeaseLost {
                        return Left::LeaseLost;
                    }
                    if life.stopping.is_cancelled() {
                        return Left::Stopping;
                    }
                    // A wish may have arrived with the answer to the write.
                    if self.next_move(life) != Move::Run(index) {
                        continue;
                    }
                    if let Some(left) = self.run_row(life, index).await {
                        return left;
                    }
                }
            }
        }
    }

    fn situation<'a>(&'a self, life: &'a Life<D>, is_disabled: &'a dyn Fn(&str) -> bool) -> Situation<'a, D> {
        Situation {
            process: self.process,
            operation: &self.ctx.hold.operation,
            op: &self.ctx.hold.op,
            steps: &self.ctx.hold.steps,
            cursor: self.cursor,
            is_disabled,
            now: life.shared.time.now(),
        }
    }

    fn next_move(&self, life: &Life<D>) -> Move {
        next_move(&self.situation(life, &|step| life.shared.registry.is_disabled(step)))
    }

    fn rows(&self) -> &'p [Row<D>] {
        if self.ctx.hold.operation.fields.ending.is_some() { &self.process.finalizers } else { &self.process.rows }
    }

    /// Position in the ledger: finalizers come behind all rows.
    fn seq(&self, index: usize) -> u32 {
        let offset = if self.ctx.hold.operation.fields.ending.is_some() { self.process.rows.len() } else { 0 };
        u32::try_from(offset + index).unwrap_or(u32::MAX)
    }

    fn settle_without_run(&mut self, index: usize, why: Settled, life: &Life<D>) {
        let row = self.rows()[index];
        let (stage, step) = (row.stage, row.step.name());
        let status = match why {
            Settled::Disabled => StepStatus::Disabled,
            Settled::NotApplicable => StepStatus::NotApplicable,
            Settled::SkippedByOperator | Settled::GivenUp => StepStatus::Skipped,
        };
        let seq = self.seq(index);
        let old = self.ctx.hold.step(stage, step).cloned();
        let mut ledger = old.unwrap_or_else(|| StepRecord::new(seq, stage, step, status));
        ledger.status = status;
        ledger.next_run_at = None;
        if status == StepStatus::Skipped {
            let reason = match (why, &self.ctx.hold.operation.control.skip) {
                (Settled::SkippedByOperator, Some(skip)) => {
                    format!("skipped by {}: {}", skip.request.by, skip.request.why)
                }
                _ => format!("given up: {}", ledger.reason.as_deref().unwrap_or("it did not end in its time")),
            };
            ledger.reason = Some(reason.clone());
            self.ctx.hold.record(
                life.shared.time.now(),
                RecordKind::Attempt {
                    stage: stage.to_owned(),
                    step: step.to_owned(),
                    attempt: ledger.attempts,
                    outcome: Outcome::Skip,
                    took_us: 0,
                    reason: Some(reason),
                    until: None,
                    on: None,
                },
            );
            if why == Settled::SkippedByOperator {
                self.ctx.hold.forget_skip();
            }
            self.note_skipped(step);
        }
        self.ctx.hold.put_step(ledger);
        self.advance(index, life);
    }

    fn note_skipped(&mut self, step: &'static str) {
        self.ctx.hold.change(move |fields: &mut Fields, _| {
            if !fields.skipped_steps.iter().any(|name| name == step) {
                fields.skipped_steps.push(step.to_owned());
            }
        });
    }

    /// A step that was given up before its stage started over, and has worked now, is complete;
    /// unless it was given up in another stage too.
    fn note_done(&mut self, step: &'static str) {
        let hold = &mut self.ctx.hold;
        let is_noted = hold.operation.fields.skipped_steps.iter().any(|name| name == step);
        if is_noted && !hold.steps.iter().any(|row| row.step == step && row.status == StepStatus::Skipped) {
            hold.change(move |fields: &mut Fields, _| fields.skipped_steps.retain(|name| name != step));
        }
    }

    /// The row is settled. Behind the last row of a stage the stage is finished for good.
    fn advance(&mut self, index: usize, life: &Life<D>) {
        let rows = self.rows();
        self.cursor = index + 1;
        if !Process::closes_stage(rows, index) {
            return;
        }
        let stage = rows[index].stage;
        self.memories.retain(|(name, _)| *name != stage);
        self.ctx.hold.change(move |fields: &mut Fields, _| {
            if !fields.finished_stages.iter().any(|name| name == stage) {
                fields.finished_stages.push(stage.to_owned());
            }
        });
        self.ctx.hold.record(life.shared.time.now(), RecordKind::StageFinished { stage: stage.to_owned() });
    }

    /// The verdict is in; the finalizers, if any, come next.
    fn decide(&mut self, ending: Ending, error: Option<LastError>) {
        self.ctx.hold.change(move |fields: &mut Fields, _| {
            fields.description.clone_from(&ending.description);
            fields.ending = Some(ending.clone());
            if let Some(error) = &error {
                fields.last_error = Some(error.clone());
            }
        });
        self.cursor = 0;
        self.memories.clear();
    }

    async fn end(&mut self, life: &Arc<Life<D>>, ending: Ending) -> Left {
        let now = life.shared.time.now();
        let operation = &self.ctx.hold.operation;
        let finished = Event::OperationFinished {
            operation: operation.id,
            instance_id: operation.instance_id.clone(),
            kind: operation.kind,
            process: operation.process.clone(),
            plan: operation.plan.clone(),
            state: ending.state,
            last_error: operation.fields.last_error.clone(),
            duration: now.since(operation.created_at),
        };
        self.news.push(finished);
        self.ctx.hold.record(now, RecordKind::Ended { state: ending.state, description: ending.description });
        self.rest(life, Next::End { state: ending.state }).await
    }

    async fn rest(&mut self, life: &Arc<Life<D>>, next: Next) -> Left {
        self.slot = None;
        match self.save(life, next).await {
            Saved::LeaseLost => Left::LeaseLost,
            Saved::Yes | Saved::Conflict => Left::InOrder,
        }
    }

    /// Saves until it is written or the lease is lost. Somebody who keeps changing the operation
    /// can delay this, but not make us forget what we have to write.
    async fn save(&mut self, life: &Arc<Life<D>>, next: Next) -> Saved {
        loop {
            match self.ctx.hold.save(life, next.clone()).await {
                Saved::Conflict => life.shared.clock.sleep(life.shared.random.jitter(secs(1))).await,
                Saved::LeaseLost => return Saved::LeaseLost,
                Saved::Yes => break,
            }
        }
        for event in self.news.drain(..) {
            // Nobody listening is fine.
            let _ = life.shared.events.send(event);
        }
        Saved::Yes
    }

    /// Runs one row; answers how the operation was left, or none to go on with the next move.
    async fn run_row(&mut self, life: &Arc<Life<D>>, index: usize) -> Option<Left> {
        let row = self.rows()[index];
        let begun = life.shared.time.now();
        self.prepare(index, row, begun);
        let run = CurrentRun::new(row.stage, row.step.name());
        let result = attempt(&mut self.ctx, life, row, &run).await;
        let calls = run.take_calls();
        self.put_memory_back(row.stage);
        let Some(result) = result else { return Some(Left::LeaseLost) };

        let now = life.shared.time.now();
        for call in &calls {
            self.ctx.hold.record(now, call.clone());
        }
        let is_finalizer = self.ctx.hold.operation.fields.ending.is_some();
        let reason = match &result {
            StepResult::Fail { error } => Some(error.reason.clone()),
            _ => None,
        };
        let effect = settle(
            Attempt {
                ledger: self.ctx.ledger.clone(),
                component: row.step.component(),
                now,
                took: now.since(begun),
                is_finalizer,
                deadline: if is_finalizer {
                    self.ctx.ledger.first_run_at.map(|first| first + row.step.gives_up_after())
                } else {
                    self.ctx.hold.operation.deadline()
                },
                park_memory_max: life.shared.config.park_memory_max,
            },
            result,
        );
        self.tell(row, &effect.record, now.since(begun), reason, calls);
        self.ctx.hold.record(now, effect.record);
        self.ctx.hold.put_step(effect.ledger);
        if effect.is_skipped {
            self.note_skipped(row.step.name());
        } else if effect.after == After::NextRow {
            self.note_done(row.step.name());
        }
        match effect.after {
            After::NextRow => {
                self.advance(index, life);
                None
            }
            After::Decide(ending, error) => {
                self.decide(ending, error);
                None
            }
            After::Park { due_at, wait_on, keep_lease } => {
                self.cursor = index;
                Some(self.park(life, Next::Park { due_at, wait_on, keep_lease }, keep_lease).await)
            }
        }
    }

    /// Parks. The memory must be in its place before the write: the operation may be due, and
    /// claimed again by our own dispatcher, the moment it is durable.
    async fn park(&mut self, life: &Arc<Life<D>>, next: Next, keep_lease: bool) -> Left {
        let id: OperationId = self.ctx.op().id;
        // The one known bug with its switches in here: stage memory never leaves the engine, so nobody
        // around it can mistake it.
        if keep_lease || life.shared.config.bugs.has(KnownBug::MemoryReusedAfterLeaseLoss) {
            let parked = Parked {
                fence: self.ctx.hold.lease.fence,
                cursor: self.cursor,
                memories: std::mem::take(&mut self.memories),
            };
            life.work().parked.insert(id, parked);
        }
        let due_at = if let Next::Park { due_at, .. } = &next { Some(*due_at) } else { None };
        let left = self.rest(life, next).await;
        if left == Left::LeaseLost {
            life.work().parked.remove(&id);
        } else if let Some(due_at) = due_at {
            life.look_at(due_at);
        }
        left
    }

    fn prepare(&mut self, index: usize, row: Row<D>, now: slipway_model::Timestamp) {
        let old = self.ctx.hold.step(row.stage, row.step.name());
        self.ctx.ledger = begin(old, self.seq(index), row.stage, row.step.name(), now);
        self.ctx.gives_up_after = row.step.gives_up_after();
        self.ctx.cancel = CancellationToken::new();
        self.ctx.interrupt = None;
        let kept = self.memories.iter().position(|(stage, _)| *stage == row.stage);
        self.ctx.memory = kept.map_or_else(StageMemory::default, |at| self.memories.swap_remove(at).1);
        // A skip of a step that has settled by itself came too late. One of a step that still lies
        // ahead, because the stage starts over, stays.
        let skip = self.ctx.hold.operation.control.skip.as_ref();
        let came_late = skip.is_some_and(|skip| {
            self.ctx.hold.steps.iter().filter(|row| row.step == skip.step).all(|row| row.status.is_settled())
        });
        if came_late {
            self.ctx.hold.forget_skip();
        }
    }

    fn put_memory_back(&mut self, stage: &'static str) {
        let memory = std::mem::take(&mut self.ctx.memory);
        self.memories.push((stage, memory));
    }

    fn tell(
        &mut self,
        row: Row<D>,
        record: &RecordKind,
        duration: Duration,
        reason: Option<Reason>,
        calls: Vec<RecordKind>,
    ) {
        let RecordKind::Attempt { outcome, .. } = record else { return };
        let operation = &self.ctx.hold.operation;
        self.news.push(Event::StepProcessed {
            operation: operation.id,
            instance_id: operation.instance_id.clone(),
            kind: operation.kind,
            process: operation.process.clone(),
            plan: operation.plan.clone(),
            stage: row.stage,
            step: row.step.name(),
            duration,
            outcome: *outcome,
            component: row.step.component(),
            reason,
            calls,
        });
    }
}
