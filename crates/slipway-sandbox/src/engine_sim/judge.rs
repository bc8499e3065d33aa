//! The judge: knows what must always hold, and looks after every write.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use slipway_engine::Process;
use slipway_model::{
    Action, Bugs, Operation, OperationId, OperationState, ProcessKey, Reason, ReplicaId, StepStatus, Timestamp,
    WaitKey,
    ports::{Clock, Commit, CommitOutcome, Next},
    time::secs,
};
use slipway_store::{MemoryStore, testing::FlawedStore};

use super::{
    clock::SimClock,
    steps::{FLAKY_INTERVAL, FLAKY_MAX, SimData, SimDomain, registry},
};

/// The judge, and the store it watches.
pub(crate) struct Judge {
    pub(crate) store: Arc<MemoryStore>,
    /// The store as it answers, with a known bug perhaps.
    pub(crate) database: FlawedStore,
    clock: Arc<SimClock>,
    /// For each process the steps that close a stage.
    closing_steps: BTreeMap<ProcessKey, BTreeSet<(&'static str, &'static str)>>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    violations: Vec<String>,
    writes: u64,
    digest: DefaultHasher,
    /// The latest engine time anybody has used: what is due later than this is not due.
    latest: Timestamp,
    /// Counts looks and wake-ups, to tell which came first.
    moment: u64,
    woken: BTreeMap<WaitKey, u64>,
    looked: BTreeMap<OperationId, u64>,
    /// True time of acceptance.
    accepted: BTreeMap<OperationId, Duration>,
    /// Increments of the outside field that were acknowledged.
    outside: BTreeMap<OperationId, u64>,
    finished: BTreeSet<(OperationId, String)>,
    running: BTreeSet<(OperationId, u64)>,
    failing_since: BTreeMap<OperationId, Timestamp>,
    /// Operations that were paused: their budgets are not followed.
    paused: BTreeSet<OperationId>,
    given_up: BTreeSet<ReplicaId>,
    jumped_at: Option<Duration>,
    last_heartbeat: Duration,
    /// How long the latest heartbeat was on its way.
    held_up: Duration,
    /// How much of the time is unknown to everybody: the silences between two heartbeats in which
    /// the database's clock jumped, for nobody can tell how long such a silence was; and what the
    /// heartbeat was held up that a new replica learned the time from.
    lost: Duration,
    /// Engine time at the beginning of the story.
    even_time: Option<Timestamp>,
    /// Engine time has slipped: budgets are not followed any more.
    slipped: bool,
}

/// By how much engine time may be uneven besides what was lost in silences: replicas of slightly
/// different times meet, and a jump is walked off at one part in a hundred.
const UNEVEN: Duration = secs(5);

/// What the judge remembers of a row before a commit.
pub(crate) struct Before {
    fence: u64,
    commits: u64,
    state: OperationState,
}

impl Judge {
    pub(crate) fn new(clock: Arc<SimClock>, bugs: Bugs) -> Arc<Self> {
        let store = Arc::new(MemoryStore::with_bugs(clock.clone(), bugs));
        let database = FlawedStore::new(store.clone(), bugs);
        let closing_steps = registry(true).processes().map(|p| (p.key.clone(), closing_steps(p))).collect();
        Arc::new(Self { store, database, clock, closing_steps, notes: Mutex::default() })
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn violation(&self, what: impl Into<String>) {
        let at = self.clock.monotonic();
        let mut notes = self.notes();
        // The first few tell the story; the rest are its consequences.
        if notes.violations.len() < 5 {
            notes.violations.push(format!("at {:.3} s: {}", at.as_secs_f64(), what.into()));
        }
    }

    pub(crate) fn verdict(&self) -> (Vec<String>, u64, u64) {
        let notes = self.notes();
        (notes.violations.clone(), notes.writes, notes.digest.clone().finish())
    }

    /// Somebody goes by this engine time, now: asked when a call sets out, because one that is held
    /// up on its way arrives with an old time and does no harm. Engine time must go on evenly,
    /// whatever the wall clocks do; it may slip only if the database's clock jumped and nobody
    /// lived to notice.
    pub(crate) fn time_is(&self, now: Timestamp) {
        let at = self.clock.monotonic();
        let mut notes = self.notes();
        notes.latest = notes.latest.max(now);
        let even = *notes.even_time.get_or_insert(now - at) + at;
        let slip = even.since(now).max(now.since(even));
        if slip <= UNEVEN + notes.lost || notes.slipped {
            return;
        }
        notes.slipped = true;
        let noticed = notes.jumped_at.is_none_or(|jump| notes.last_heartbeat > jump);
        drop(notes);
        if noticed {
            self.violation(format!("engine time slipped by {slip:?}"));
        }
    }

    pub(crate) fn latest(&self) -> Timestamp {
        self.notes().latest
    }

    /// Everything that was accepted has ended.
    pub(crate) fn all_ended(&self) -> bool {
        let accepted: Vec<_> = self.notes().accepted.keys().copied().collect();
        self.store.inspect(|all| accepted.iter().all(|id| all.operation(*id).is_some_and(|op| op.state.is_finished())))
    }

    pub(crate) fn accepted(&self, id: OperationId) {
        let at = self.clock.monotonic();
        self.notes().accepted.entry(id).or_insert(at);
    }

    pub(crate) fn outside_wrote(&self, id: OperationId) {
        *self.notes().outside.entry(id).or_default() += 1;
    }

    pub(crate) fn woken(&self, keys: &[WaitKey]) {
        let mut notes = self.notes();
        notes.moment += 1;
        let moment = notes.moment;
        notes.woken.extend(keys.iter().map(|key| (key.clone(), moment)));
    }

    /// A step has looked at the world and may wait now.
    pub(crate) fn looked(&self, id: OperationId) {
        let mut notes = self.notes();
        notes.moment += 1;
        let moment = notes.moment;
        notes.looked.insert(id, moment);
    }

    pub(crate) fn acted(&self, id: OperationId, action: &Action) {
        if matches!(action, Action::Pause) {
            self.notes().paused.insert(id);
        }
    }

    pub(crate) fn clock_jumped(&self) {
        let at = self.clock.monotonic();
        self.notes().jumped_at = Some(at);
    }

    /// A replica does something under its id.
    pub(crate) fn acts(&self, replica: &ReplicaId) {
        if self.notes().given_up.contains(replica) {
            self.violation(format!("replica {replica} was given up and goes on under the same id"));
        }
    }

    /// A new replica is told the time.
    pub(crate) fn registers(&self) {
        let mut notes = self.notes();
        let held_up = std::mem::take(&mut notes.held_up);
        notes.lost += held_up;
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    pub(crate) fn heartbeat(&self, replica: &ReplicaId, sent: Duration, alive: bool) {
        let at = self.clock.monotonic();
        let mut notes = self.notes();
        if alive {
            notes.held_up = at - sent;
            let silence = at - notes.last_heartbeat;
            if notes.jumped_at.is_some_and(|jump| jump >= notes.last_heartbeat) {
                notes.lost += silence;
            }
            notes.last_heartbeat = at;
        } else {
            notes.given_up.insert(replica.clone());
        }
    }

    /// A step begins. Whoever holds the lease must not begin what is finished or already running.
    pub(crate) fn step_begins(self: &Arc<Self>, id: OperationId, fence: u64, stage: &str) -> Option<RunningStep> {
        let operation = self.store.inspect(|all| all.operation(id).cloned())?;
        if operation.schedule.fence != fence {
            // A replica that was paused and does not know yet that it has lost the lease. It can
            // write nothing, so what it does here counts for nothing.
            return None;
        }
        if self.notes().finished.contains(&(id, stage.to_owned())) {
            self.violation(format!("stage {stage} of {id} is finished and runs again"));
        }
        if !self.notes().running.insert((id, fence)) {
            self.violation(format!("{id} runs twice under one lease"));
        }
        Some(RunningStep { judge: self.clone(), key: (id, fence) })
    }

    pub(crate) fn before_commit(&self, commit: &Commit) -> Option<Before> {
        let mut notes = self.notes();
        notes.latest = notes.latest.max(commit.at);
        drop(notes);
        self.store.inspect(|all| {
            all.operation(commit.operation).map(|op| Before {
                fence: op.schedule.fence,
                commits: op.schedule.commits,
                state: op.state,
            })
        })
    }

    pub(crate) fn after_commit(&self, commit: &Commit, before: Option<Before>, outcome: &CommitOutcome) {
        let (CommitOutcome::Committed { .. }, Some(before)) = (outcome, before) else { return };
        if before.fence == commit.lease.fence && before.commits >= commit.number {
            return; // The repeat of one that went through.
        }
        let id = commit.operation;
        if before.fence != commit.lease.fence {
            self.violation(format!("{id}: a write under the old fence {} was accepted", commit.lease.fence));
        }
        if before.state.is_finished() {
            self.violation(format!("{id}: a write after the end was accepted"));
        }
        self.follow_stages(commit);
        self.follow_flaky(commit);
        if let Next::End { state } = commit.next {
            self.ended(commit, state);
        }
    }

    /// A stage is finished with the step that closes it, whatever the operation says of itself.
    fn follow_stages(&self, commit: &Commit) {
        let process = self.store.inspect(|all| all.operation(commit.operation).map(|op| op.process.clone()));
        let closing = process.and_then(|process| self.closing_steps.get(&process));
        let settled = commit.steps.iter().filter(|step| step.status.is_settled());
        for step in settled.filter(|step| closing.is_some_and(|c| c.contains(&(&step.stage, &step.step)))) {
            self.notes().finished.insert((commit.operation, step.stage.clone()));
        }
    }

    /// The retry budget of the flaky step, followed from outside the engine.
    fn follow_flaky(&self, commit: &Commit) {
        let Some(step) = commit.steps.iter().find(|step| step.step == "Flaky") else { return };
        let mut notes = self.notes();
        if step.status != StepStatus::Retrying {
            notes.failing_since.remove(&commit.operation);
            return;
        }
        let since = *notes.failing_since.entry(commit.operation).or_insert(commit.at);
        let is_followed = !notes.paused.contains(&commit.operation) && !notes.slipped;
        let uneven = UNEVEN + notes.lost;
        drop(notes);
        if is_followed && commit.at.since(since) > FLAKY_MAX + FLAKY_INTERVAL + uneven {
            self.violation(format!(
                "{}: a step fails for {:?} and is still tried",
                commit.operation,
                commit.at.since(since)
            ));
        }
    }

    fn ended(&self, commit: &Commit, state: OperationState) {
        let id = commit.operation;
        let (operation, failed) = self.store.inspect(|all| {
            let (operation, steps) = all.operations().find(|(op, _)| op.id == id).expect("it was just written");
            (operation.clone(), steps.iter().any(|step| step.status == StepStatus::Failed))
        });
        if state == OperationState::Succeeded && failed {
            self.violation(format!("{id} succeeded although a step failed"));
        }
        if state == OperationState::Failed && operation.fields.last_error.is_none() {
            self.violation(format!("{id} failed without an error on record"));
        }
        let timed_out = operation.fields.last_error.is_some_and(|error| error.reason == Reason::KebTimeout);
        let notes = self.notes();
        let lived = notes.accepted.get(&id).map(|accepted| self.clock.monotonic().saturating_sub(*accepted));
        let is_followed = !notes.slipped && !notes.paused.contains(&id);
        drop(notes);
        // Engine time walks off a jump at one part in a hundred.
        if timed_out && is_followed && lived.is_some_and(|lived| lived + secs(10) < operation.budget) {
            self.violation(format!("{id} was timed out after {lived:?} of its budget of {:?}", operation.budget));
        }
    }

    /// What must hold after every write.
    pub(crate) fn look(&self) {
        let mut found = Vec::new();
        self.store.inspect(|all| {
            let mut notes = self.notes();
            notes.writes += 1;
            let mut occupied = BTreeSet::new();
            for (operation, _) in all.operations() {
                digest(&mut notes.digest, operation);
                if operation.state.occupies_instance() && !occupied.insert(&operation.instance_id) {
                    found.push(format!("two operations of {} are in progress", operation.instance_id));
                }
                if let Some(owner) = &operation.schedule.owner
                    && !all.is_registered(owner)
                {
                    found.push(format!("{} is held by {owner}, who is not registered", operation.id));
                }
                notes.check_sleep(operation, &mut found);
                notes.check_outside(operation, &mut found);
            }
        });
        for what in found {
            self.violation(what);
        }
    }

    /// News of an end has reached a listener: the database must say the same.
    pub(crate) fn published(&self, id: OperationId, state: OperationState) {
        let stored = self.store.inspect(|all| all.operation(id).map(|op| op.state));
        if stored != Some(state) {
            self.violation(format!("{id} was published as {state} but is stored as {stored:?}"));
        }
    }

    /// The story is over: everything that was accepted must have ended.
    pub(crate) fn close(&self) {
        let accepted: Vec<_> = self.notes().accepted.keys().copied().collect();
        for id in accepted {
            let operation = self.store.inspect(|all| all.operation(id).cloned());
            match operation {
                None => self.violation(format!("{id} was accepted and is gone")),
                Some(op) if op.state.is_finished() => {}
                Some(op) => self.violation(format!(
                    "{id} never ended: {} {} {:?} control {:?}",
                    op.kind, op.state, op.schedule, op.control
                )),
            }
        }
    }
}

impl Notes {
    /// Nobody sleeps over an event or a wish.
    fn check_sleep(&self, op: &Operation, found: &mut Vec<String>) {
        let sleeps = op.schedule.due_at.is_some_and(|due| due > self.latest);
        if !sleeps || op.fields.ending.is_some() || op.control.pause.is_some() {
            return;
        }
        if op.control.cancel.is_some() {
            found.push(format!("{} sleeps over a cancel: {:?}", op.id, op.schedule));
        }
        if let Some(key) = &op.schedule.wait_on
            && let (Some(woken), Some(looked)) = (self.woken.get(key), self.looked.get(&op.id))
            && woken > looked
        {
            found.push(format!("{} sleeps over a wake-up of {key}", op.id));
        }
    }

    /// Nobody's acknowledged write is lost.
    fn check_outside(&self, op: &Operation, found: &mut Vec<String>) {
        let Some(acknowledged) = self.outside.get(&op.id) else { return };
        let stored = op.fields.data.to::<SimData>().map_or(0, |data| data.outside);
        if stored < *acknowledged {
            found.push(format!("{} lost a write of somebody else: {stored} of {acknowledged}", op.id));
        }
    }
}

fn closing_steps(process: &Process<SimDomain>) -> BTreeSet<(&'static str, &'static str)> {
    [&process.rows, &process.finalizers]
        .into_iter()
        .flat_map(|rows| rows.iter().enumerate().filter(|(index, _)| Process::closes_stage(rows, *index)))
        .map(|(_, row)| (row.stage, row.step.name()))
        .collect()
}

fn digest(digest: &mut DefaultHasher, op: &Operation) {
    (op.id, op.version, op.state, &op.schedule.due_at, op.schedule.fence, op.schedule.commits).hash(digest);
    op.fields.description.hash(digest);
}

/// A step that runs; leaves the judge's list when it ends or its replica dies.
pub(crate) struct RunningStep {
    judge: Arc<Judge>,
    key: (OperationId, u64),
}

impl Drop for RunningStep {
    fn drop(&mut self) {
        self.judge.notes().running.remove(&self.key);
    }
}
