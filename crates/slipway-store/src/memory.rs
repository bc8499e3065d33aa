//! The storage port in memory: for simulations and tests, and as the plainest description of what
//! each call means. Every method is one critical section, which is what a transaction is to the
//! SQL stores.

mod claim;
mod commit;
mod runtimes;
mod snapshot;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use slipway_model::{
    Action, Bugs, Operation, OperationId, OperationState, Record, RecordKind, ReplicaId, StepRecord, Timestamp,
    WaitKey,
    operation::{Fields, NewOperation, ProcessKey, Schedule},
    ports::{
        BoxFuture, ClaimRequest, Claimed, Clock, Commit, CommitOutcome, Enqueued, Filter, Heartbeat, Peer,
        Registration, Storage, StoreError, StoreResult, WakeListener,
    },
    preemption,
    state::Class,
};

use crate::{
    hints::Hints,
    rows::{has_ended, no_operation, refuse_doubles},
};

pub use snapshot::Snapshot;

/// Storage that forgets everything with the process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    bugs: Bugs,
    tables: Mutex<Tables>,
    hints: Hints,
}

#[derive(Default)]
struct Tables {
    operations: BTreeMap<OperationId, Row>,
    records: Vec<Record>,
    /// Latest wake-up of each key. Numbers come from one counter and never repeat, so forgetting
    /// an old row cannot make a new wake-up look seen.
    signals: BTreeMap<WaitKey, Signal>,
    replicas: BTreeMap<ReplicaId, Life>,
    /// Engine time and our own clock at the latest heartbeat of anybody.
    fleet_time: Option<(Timestamp, Timestamp)>,
    last_record: u64,
    last_signal: u64,
    of_runtimes: runtimes::RuntimeTables,
}

struct Row {
    operation: Operation,
    steps: Vec<StepRecord>,
    /// The latest wake-up of `schedule.wait_on` that this operation has been run for.
    wait_seen: u64,
    woken_by: Option<String>,
    taken_from: Option<ReplicaId>,
}

impl Row {
    /// A new row.
    fn of(operation: Operation) -> Self {
        Self { operation, steps: Vec::new(), wait_seen: 0, woken_by: None, taken_from: None }
    }
}

struct Life {
    beat: u64,
    at: Timestamp,
    known: Vec<ProcessKey>,
}

struct Signal {
    number: u64,
    at: Timestamp,
}

impl MemoryStore {
    /// An empty store whose own time is `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_bugs(clock, Bugs::NONE)
    }

    /// The same with a known bug, for the simulation's own test; most are made by a store around this one.
    pub fn with_bugs(clock: Arc<dyn Clock>, bugs: Bugs) -> Self {
        Self { clock, bugs, tables: Mutex::default(), hints: Hints::new() }
    }

    /// Looks at everything at once; for the simulation's invariants.
    pub fn inspect<R>(&self, look: impl FnOnce(&Snapshot<'_>) -> R) -> R {
        look(&Snapshot { tables: &self.tables() })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // A panic inside a critical section is a failed test already; the data stays readable.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_hint(&self) {
        self.hints.give();
    }

    fn take_leases(&self, tables: &mut Tables, from: &ReplicaId, now: Timestamp) -> usize {
        let mut taken = 0;
        for row in tables.operations.values_mut() {
            if row.operation.schedule.owner.as_ref() == Some(from) {
                let schedule = &mut row.operation.schedule;
                let was_running = schedule.due_at.is_none();
                give_up_lease(schedule, now);
                row.taken_from = was_running.then(|| from.clone());
                taken += 1;
            }
        }
        self.give_hint();
        taken
    }
}

/// The lease ends here: the next holder gets a higher fence, and a running step runs again at once.
fn give_up_lease(schedule: &mut Schedule, now: Timestamp) {
    schedule.owner = None;
    schedule.fence += 1;
    schedule.commits = 0;
    schedule.due_at = Some(schedule.due_at.unwrap_or(now));
}

impl Tables {
    fn record(&mut self, operation: OperationId, at: Timestamp, kind: RecordKind) {
        self.last_record += 1;
        self.records.push(Record { id: self.last_record, operation, at, kind });
    }

    fn row(&mut self, id: OperationId) -> StoreResult<&mut Row> {
        self.operations.get_mut(&id).ok_or_else(|| no_operation(id))
    }

    fn unfinished<'a>(&'a self, of: &'a Operation) -> impl Iterator<Item = &'a Operation> {
        self.operations
            .values()
            .map(|row| &row.operation)
            .filter(|op| op.instance_id == of.instance_id && !op.state.is_finished())
    }

    /// What a replica could claim of a class, now or later, in the order of time.
    fn scheduled(&self, class: Class, request: &ClaimRequest) -> Vec<(Timestamp, OperationId)> {
        let mut scheduled: Vec<_> = self
            .operations
            .values()
            .map(|row| &row.operation)
            .filter(|op| op.kind.class() == class && request.known.contains(&op.process))
            .filter(|op| op.schedule.owner.as_ref().is_none_or(|owner| *owner == request.replica))
            .filter_map(|op| Some((op.schedule.due_at?, op.id)))
            .collect();
        scheduled.sort_unstable();
        scheduled
    }

    fn wake(&mut self, key: &WaitKey, cause: &str, now: Timestamp) -> usize {
        self.last_signal += 1;
        let number = self.last_signal;
        self.signals.insert(key.clone(), Signal { number, at: now });
        let mut woken = 0;
        for row in self.operations.values_mut() {
            let schedule = &mut row.operation.schedule;
            // A paused operation keeps still; it looks for itself when it is resumed.
            let waits = schedule.due_at.is_some() && schedule.wait_on.as_ref() == Some(key);
            if waits && row.operation.control.pause.is_none() {
                schedule.due_at = schedule.due_at.min(Some(now));
                row.wait_seen = number;
                row.woken_by = Some(cause.to_owned());
                woken += 1;
            }
        }
        woken
    }

    /// Makes the first pending operation of an instance due, now that another has ended.
    fn wake_next_pending(&mut self, ended: &Operation, now: Timestamp) -> usize {
        let next = self
            .unfinished(ended)
            .filter(|op| op.state == OperationState::Pending)
            .min_by_key(|op| preemption::start_order(op))
            .map(|op| op.id);
        if let Some(row) = next.and_then(|id| self.operations.get_mut(&id))
            && row.operation.control.pause.is_none()
            // Somebody runs a pending one that is being canceled, and must not get it a second time.
            && (row.operation.schedule.owner.is_none() || row.operation.schedule.due_at.is_some())
        {
            row.operation.schedule.due_at = Some(now);
            row.woken_by = Some(format!("end of operation {}", ended.id));
            return 1;
        }
        0
    }
}

impl Storage for MemoryStore {
    fn register<'a>(
        &'a self,
        replica: &'a ReplicaId,
        known: &'a [ProcessKey],
    ) -> BoxFuture<'a, StoreResult<Registration>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let wall = self.clock.wall();
            let (latest, then) = tables.fleet_time.unwrap_or((wall, wall));
            let gap = wall.since(then);
            let at = tables.fleet_time.unwrap_or_default().0;
            tables.replicas.entry(replica.clone()).or_insert_with(|| Life { beat: 0, at, known: known.to_vec() });
            Ok(Registration { now: latest + gap, gap, has_peers: tables.replicas.len() > 1 })
        })
    }

    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let wall = self.clock.wall();
            let alive = match tables.replicas.get_mut(replica) {
                Some(life) => {
                    (life.beat, life.at) = (life.beat + 1, now);
                    // A heartbeat held up on its way does not set everybody's time back.
                    if tables.fleet_time.is_none_or(|(latest, _)| latest <= now) {
                        tables.fleet_time = Some((now, wall));
                    }
                    true
                }
                None => false,
            };
            let peers = tables
                .replicas
                .iter()
                .filter(|(id, _)| *id != replica)
                .map(|(id, life)| Peer { id: id.clone(), beat: life.beat, at: life.at })
                .collect();
            Ok(Heartbeat { alive, database_now: wall, peers })
        })
    }

    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let mut tables = self.tables();
            match tables.replicas.get(&dead.id) {
                Some(life) if life.beat == dead.beat => {
                    tables.replicas.remove(&dead.id);
                    Ok(self.take_leases(&mut tables, &dead.id, now))
                }
                _ => Ok(0),
            }
        })
    }

    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let mut tables = self.tables();
            tables.replicas.remove(replica);
            Ok(self.take_leases(&mut tables, replica, now))
        })
    }

    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>> {
        Box::pin(async move {
            let tables = self.tables();
            let schedules = tables.operations.iter().map(|(id, row)| (*id, &row.operation.schedule));
            Ok(schedules
                .filter(|(_, s)| s.owner.as_ref() == Some(replica) && s.due_at.is_none())
                .map(|(id, s)| (id, s.fence))
                .collect())
        })
    }

    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let mut given_back = 0;
            for (id, fence) in leases {
                let Some(row) = tables.operations.get_mut(id) else { continue };
                let schedule = &mut row.operation.schedule;
                if schedule.owner.as_ref() == Some(replica) && schedule.fence == *fence && schedule.due_at.is_none() {
                    give_up_lease(schedule, now);
                    given_back += 1;
                }
            }
            self.give_hint();
            Ok(given_back)
        })
    }

    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>> {
        Box::pin(async move {
            let mut tables = self.tables();
            if let Some(row) = tables.operations.get(&new.id) {
                return Ok(Enqueued::Existing(row.operation.clone()));
            }
            let (kind, temporary, id, by) = (new.kind, new.temporary, new.id, new.by.clone());
            let operation = new.accepted(now);
            let unfinished: Vec<_> = tables.unfinished(&operation).cloned().collect();
            if let Some(existing) = unfinished.iter().find(|op| preemption::joins(kind, temporary, op)) {
                return Ok(Enqueued::Existing(existing.clone()));
            }
            for victim in unfinished.iter().filter(|op| preemption::cancels(kind, temporary, op)) {
                let record = preemption::cancel(&mut tables.row(victim.id)?.operation, id, now);
                tables.record(victim.id, now, record);
            }
            tables.record(id, now, RecordKind::Accepted { by });
            tables.operations.insert(id, Row::of(operation.clone()));
            self.give_hint();
            Ok(Enqueued::New(operation))
        })
    }

    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>> {
        Box::pin(async move {
            let mut tables = self.tables();
            if !tables.replicas.contains_key(&request.replica) {
                return Ok(Claimed::default());
            }
            let mut claimed = Claimed::default();
            for want in &request.wants {
                let mut room = want.limit;
                for (due_at, id) in tables.scheduled(want.class, request) {
                    if due_at > request.now || room == 0 {
                        break;
                    }
                    if let Some(claim) = self.claim_one(&mut tables, id, request) {
                        claimed.claims.push(claim);
                        room -= 1;
                    }
                }
                // If more is due than there was room for, whoever frees a place asks again.
                let left: Vec<_> =
                    tables.scheduled(want.class, request).into_iter().map(|(due_at, _)| due_at).collect();
                let more_is_due = room == 0 && left.first().is_some_and(|due_at| *due_at <= request.now);
                let next = left.into_iter().find(|due_at| *due_at > request.now && !more_is_due);
                claimed.next_due = [claimed.next_due, next].into_iter().flatten().min();
            }
            Ok(claimed)
        })
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            refuse_doubles(group)?;
            let mut tables = self.tables();
            group.iter().map(|commit| self.commit_one(&mut tables, commit)).collect()
        })
    }

    fn update<'a>(
        &'a self,
        id: OperationId,
        expected_version: u64,
        fields: Fields,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Option<u64>>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let op = &mut tables.row(id)?.operation;
            if op.state.is_finished() {
                return Err(has_ended(id, op.state));
            }
            if op.version != expected_version {
                return Ok(None);
            }
            op.version += 1;
            op.fields = fields;
            op.updated_at = now;
            Ok(Some(op.version))
        })
    }

    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let woken = keys.iter().map(|key| tables.wake(key, cause, now)).sum();
            self.give_hint();
            Ok(woken)
        })
    }

    fn act<'a>(
        &'a self,
        id: OperationId,
        action: &'a Action,
        by: &'a str,
        why: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Operation>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let row = tables.row(id)?;
            let record = action.apply(&mut row.operation, &mut row.steps, by, why, now).map_err(StoreError::Refused)?;
            row.woken_by = Some(format!("{} by {by}", action.name()));
            let operation = row.operation.clone();
            tables.record(id, now, record);
            self.give_hint();
            Ok(operation)
        })
    }

    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>> {
        Box::pin(async move { Ok(self.tables().row(id)?.operation.clone()) })
    }

    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move {
            let tables = self.tables();
            let rows = tables.operations.values().rev().map(|row| &row.operation);
            Ok(rows
                .filter(|op| filter.before.is_none_or(|before| op.id < before))
                .filter(|op| filter.instance.as_ref().is_none_or(|instance| op.instance_id == *instance))
                .filter(|op| filter.states.is_empty() || filter.states.contains(&op.state))
                .take(filter.limit)
                .cloned()
                .collect())
        })
    }

    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>> {
        Box::pin(async move { Ok(self.tables().row(id)?.steps.clone()) })
    }

    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>> {
        Box::pin(async move {
            let tables = self.tables();
            let records = tables.records.iter().filter(|record| record.operation == id && record.id > after);
            Ok(records.take(limit).cloned().collect())
        })
    }

    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let Tables { records, operations, signals, .. } = &mut *tables;
            let mut purged = 0;
            records.retain(|record| {
                let ended = operations.get(&record.operation).is_none_or(|row| row.operation.state.is_finished());
                let old = record.at < before && ended && purged < limit;
                purged += usize::from(old);
                !old
            });
            signals.retain(|_, signal| {
                let old = signal.at < before && purged < limit;
                purged += usize::from(old);
                !old
            });
            Ok(purged)
        })
    }

    fn reencrypt<'a>(&'a self, _limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        // Nothing here outlives the process, so nothing is encrypted.
        Box::pin(async { Ok(0) })
    }

    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>> {
        Box::pin(async move {
            let tables = self.tables();
            let count = |class: Class| {
                let of_class = tables.operations.values().filter(|row| row.operation.kind.class() == class);
                of_class.filter(|row| row.operation.schedule.due_at.is_some_and(|at| at <= now)).count()
            };
            Ok(Class::ALL.iter().map(|class| (*class, count(*class))).collect())
        })
    }

    fn stranded<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<(ProcessKey, usize)>>> {
        Box::pin(async move {
            let tables = self.tables();
            let is_known = |key| tables.replicas.values().any(|life| life.known.contains(key));
            let unfinished = tables.operations.values().map(|row| &row.operation).filter(|op| !op.state.is_finished());
            let mut found = BTreeMap::new();
            for operation in unfinished.filter(|op| !is_known(&op.process)) {
                *found.entry(operation.process.clone()).or_insert(0) += 1;
            }
            Ok(found.into_iter().collect())
        })
    }

    fn listen(&self) -> Box<dyn WakeListener> {
        Box::new(self.hints.listen())
    }
}
