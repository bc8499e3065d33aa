//! Random calls on every store at once; the memory store's answers are the right ones.
//!
//! The stories say what the authors thought of. This finds what they did not.

use std::sync::Arc;

use slipway_model::{
    Action, OperationId, OperationState, OperationType, RecordKind, ReplicaId, StepRecord, StepStatus, Timestamp,
    ports::{Commit, Filter, Lease, Next, Random, Storage, StoreError, StoreResult, Want},
    recorder::Outcome,
    state::Class,
    time::{millis, secs},
};
use slipway_store::testing::Chance;

use crate::bed::{Bed, instance, key, known, peer, replica, request, t};

const CALLS: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_store_answers_like_the_memory_store() {
    for seed in 0..6 {
        let beds = [Bed::memory().await, Bed::sqlite().await, Bed::postgres().await];
        Twins::new(&beds, seed).play().await;
    }
}

/// One lease as its holder remembers it, right or outdated.
#[derive(Clone)]
struct Held {
    id: OperationId,
    lease: Lease,
    number: u64,
    version: u64,
    seen: u64,
}

struct Twins<'a> {
    beds: &'a [Bed; 3],
    dice: Chance,
    seed: u64,
    now: Timestamp,
    ids: Vec<OperationId>,
    held: Vec<Held>,
    last_commit: Option<Commit>,
    births: u64,
    alive: Vec<ReplicaId>,
}

impl<'a> Twins<'a> {
    fn new(beds: &'a [Bed; 3], seed: u64) -> Self {
        let dice = Chance::seeded(seed.wrapping_mul(7919) + 11);
        let (ids, held, alive) = (Vec::new(), Vec::new(), Vec::new());
        Self { beds, dice, seed, now: t(0), ids, held, last_commit: None, births: 0, alive }
    }

    fn roll(&self, sides: usize) -> usize {
        usize::try_from(self.dice.next_u64() % u64::try_from(sides).expect("small")).expect("small")
    }

    fn pick<'x, T>(&self, from: &'x [T]) -> Option<&'x T> {
        if from.is_empty() { None } else { from.get(self.roll(from.len())) }
    }

    /// Makes one call on all stores, compares, and gives the memory store's answer.
    async fn all<T, F>(&self, what: &str, call: impl Fn(Arc<dyn Storage>) -> F) -> StoreResult<T>
    where
        T: std::fmt::Debug,
        F: Future<Output = StoreResult<T>>,
    {
        let mut right = None;
        for (bed, name) in self.beds.iter().zip(["memory", "sqlite", "postgres"]) {
            let answer = call(Arc::clone(&bed.store)).await;
            assert!(!matches!(answer, Err(StoreError::Unavailable(_) | StoreError::Unreadable(_))), "{answer:?}");
            match &right {
                None => right = Some(answer),
                Some(right) => {
                    let (answer, right) = (format!("{answer:#?}"), format!("{right:#?}"));
                    let differs = answer.lines().zip(right.lines()).position(|(a, b)| a != b);
                    assert!(
                        answer == right,
                        "{what} on {name}, seed {}: {}",
                        self.seed,
                        excerpt(&answer, &right, differs)
                    );
                }
            }
        }
        right.expect("there is a memory store")
    }

    async fn play(mut self) {
        self.birth().await;
        for _ in 0..CALLS {
            self.now = self.now + millis(self.dice.next_u64() % 3000);
            match self.roll(100) {
                0..12 => self.enqueue().await,
                12..35 => self.claim().await,
                35..65 => self.commit().await,
                65..68 => self.repeat_commit().await,
                68..75 => self.wake().await,
                75..83 => self.act().await,
                83..86 => self.update().await,
                86..89 => self.beat().await,
                89..91 => self.lose_a_replica().await,
                91..93 => self.birth().await,
                93..95 => self.surrender().await,
                95..96 => self.purge().await,
                _ => self.look().await,
            }
        }
        self.look_at_everything().await;
    }

    async fn birth(&mut self) {
        self.births += 1;
        let id = replica(&format!("r{}", self.births));
        for bed in self.beds {
            bed.store.register(&id, &[]).await.expect("registers");
        }
        self.alive.push(id);
    }

    async fn enqueue(&mut self) {
        let bed = &self.beds[0];
        let kind = *self.pick(OperationType::ALL).expect("kinds");
        let mut new = bed.asked(kind, &format!("i{}", self.roll(5)));
        new.temporary = kind == OperationType::Deprovision && self.roll(2) == 0;
        if let Some(id) = self.pick(&self.ids)
            && self.roll(10) == 0
        {
            new.id = *id;
        }
        self.ids.push(new.id);
        let (new, now) = (&new, self.now);
        self.all("enqueue", |store| async move { store.enqueue(new.clone(), now).await }).await.expect("accepts");
    }

    async fn claim(&mut self) {
        let me = self.pick(&self.alive).cloned().unwrap_or_else(|| replica("nobody"));
        let mut request = request(&me, self.now, 1 + self.roll(4));
        if self.roll(4) == 0 {
            request.known = known().into_iter().skip(2).collect();
        }
        if self.roll(3) == 0 {
            request.wants = vec![Want { class: Class::ALL[self.roll(4)], limit: self.roll(2) }];
        }
        let request = &request;
        let claimed = self.all("claim", |store| async move { store.claim(request).await }).await.expect("claims");
        for claim in claimed.claims {
            let op = &claim.operation;
            self.held.retain(|held| held.id != op.id || self.dice.next_u64().is_multiple_of(4));
            self.held.push(Held {
                id: op.id,
                lease: claim.lease.clone(),
                number: op.schedule.commits,
                version: op.version,
                seen: op.control.seq,
            });
        }
    }

    fn some_steps(&self) -> Vec<StepRecord> {
        (0..self.roll(3))
            .map(|_| {
                let number = u32::try_from(self.roll(4)).expect("small");
                let status = *self.pick(StepStatus::ALL).expect("statuses");
                let mut step = StepRecord::new(number, &format!("stage{}", number / 2), &format!("s{number}"), status);
                step.attempts = number + 1;
                step.first_run_at = Some(self.now);
                step.first_failure_at = (self.roll(2) == 0).then_some(self.now);
                step.reason = (self.roll(2) == 0).then(|| "not yet".to_owned());
                step
            })
            .collect()
    }

    async fn commit(&mut self) {
        let Some(held) = self.pick(&self.held).cloned() else { return };
        let on = [None, Some(key("runtime/1")), Some(key("runtime/2"))][self.roll(3)].clone();
        let next = match self.roll(10) {
            0..4 => Next::Run,
            4..7 => Next::Park {
                due_at: self.now + secs(self.dice.next_u64() % 5),
                wait_on: on,
                keep_lease: self.roll(2) == 0,
            },
            7 => Next::Hold,
            _ => Next::End { state: OperationState::ALL[4 + self.roll(3)] },
        };
        let mut fields = self.beds[0].asked(OperationType::Update, "x").accepted(self.now).fields;
        fields.description = format!("at {}", self.now);
        fields.finished_stages = (0..self.roll(3)).map(|n| format!("stage{n}")).collect();
        let attempt = RecordKind::Attempt {
            stage: "stage0".to_owned(),
            step: "s0".to_owned(),
            attempt: 1,
            outcome: Outcome::Wait,
            took_us: 5,
            reason: None,
            until: Some(self.now),
            on: None,
        };
        let commit = Commit {
            operation: held.id,
            lease: held.lease.clone(),
            number: held.number + 1,
            expected_version: if self.roll(12) == 0 { held.version + 1 } else { held.version },
            seen_control: held.seen,
            clear_skip: self.roll(3) == 0,
            at: self.now,
            fields: (self.roll(2) == 0).then_some(fields),
            steps: self.some_steps(),
            records: vec![(self.now, attempt); self.roll(3)],
            next,
        };
        self.try_commit(commit).await;
    }

    async fn repeat_commit(&mut self) {
        if let Some(commit) = self.last_commit.clone() {
            self.try_commit(commit).await;
        }
    }

    async fn try_commit(&mut self, commit: Commit) {
        let group = std::slice::from_ref(&commit);
        let answer = self.all("commit", |store| async move { store.commit(group).await }).await;
        if let Ok([slipway_model::ports::CommitOutcome::Committed { control }]) = answer.as_deref() {
            for held in self.held.iter_mut().filter(|held| held.id == commit.operation && held.lease == commit.lease) {
                let is_new = commit.number > held.number;
                held.number = held.number.max(commit.number);
                held.version += u64::from(commit.fields.is_some() && is_new);
                held.seen = control.seq;
            }
        }
        self.last_commit = Some(commit);
    }

    async fn wake(&self) {
        let keys: Vec<_> = (0..=self.roll(2)).map(|n| key(&format!("runtime/{}", n + 1))).collect();
        let (keys, now) = (&keys[self.roll(keys.len())..], self.now);
        self.all("wake", |store| async move { store.wake(keys, "an event", now).await }).await.expect("wakes");
    }

    async fn act(&self) {
        let Some(id) = self.pick(&self.ids).copied() else { return };
        let step = format!("s{}", self.roll(4));
        let actions = [
            Action::RetryNow,
            Action::SkipStep { step },
            Action::Cancel,
            Action::Pause,
            Action::Resume,
            Action::Resume,
        ];
        let (action, now) = (&actions[self.roll(6)], self.now);
        // Refusals count: their sentences are compared too.
        self.all("act", |store| async move { store.act(id, action, "ada", "why not", now).await }).await.ok();
    }

    async fn update(&self) {
        let Some(id) = self.pick(&self.ids).copied() else { return };
        let op = self.beds[0].get_or_none(id).await;
        let version = op.map_or(1, |op| op.version) + u64::from(self.roll(3) == 0);
        let mut fields = self.beds[0].asked(OperationType::Update, "x").accepted(self.now).fields;
        fields.description = "changed from outside".to_owned();
        let (fields, now) = (&fields, self.now);
        self.all("update", |store| async move { store.update(id, version, fields.clone(), now).await }).await.ok();
    }

    async fn beat(&self) {
        let Some(me) = self.pick(&self.alive) else { return };
        let now = self.now;
        let beat = |store: Arc<dyn Storage>| async move {
            let heartbeat = store.heartbeat(me, now).await?;
            Ok((heartbeat.alive, heartbeat.peers))
        };
        self.all("heartbeat", beat).await.expect("beats");
    }

    async fn lose_a_replica(&mut self) {
        let Some(lost) = self.pick(&self.alive).cloned() else { return };
        let (lost, now, beat) = (&lost, self.now, self.dice.next_u64() % 3);
        if self.roll(2) == 0 {
            self.all("release", |store| async move { store.release(lost, now).await }).await.expect("releases");
        } else {
            let peer = &peer(lost, beat);
            self.all("take over", |store| async move { store.take_over(peer, now).await }).await.expect("takes over");
        }
    }

    async fn surrender(&self) {
        let Some(me) = self.pick(&self.alive) else { return };
        let held = self.all("held", |store| async move { store.held(me).await }).await.expect("tells");
        let now = self.now;
        let some: Vec<_> = held.into_iter().filter(|_| self.roll(2) == 0).collect();
        let some = some.as_slice();
        self.all("surrender", |store| async move { store.surrender(me, some, now).await }).await.expect("surrenders");
    }

    async fn purge(&self) {
        let before = self.now - secs(60);
        self.all("purge", |store| async move { store.purge(before, 1000).await }).await.expect("purges");
    }

    async fn look(&self) {
        let mut filter = Filter { limit: 1 + self.roll(20), ..Filter::default() };
        if self.roll(2) == 0 {
            filter.instance = Some(instance(&format!("i{}", self.roll(5))));
        }
        filter.states = OperationState::ALL.iter().copied().filter(|_| self.roll(3) == 0).collect();
        filter.before = self.pick(&self.ids).copied().filter(|_| self.roll(2) == 0);
        let (filter, now) = (&filter, self.now);
        self.all("list", |store| async move { store.operations(filter).await }).await.expect("lists");
        self.all("due", |store| async move { store.due(now).await }).await.expect("counts");
        self.all("stranded", |store| async move { store.stranded().await }).await.expect("counts");
    }

    async fn look_at_everything(&self) {
        for id in self.ids.iter().copied() {
            self.all("operation", |store| async move { store.operation(id).await }).await.ok();
            self.all("steps", |store| async move { store.steps(id).await }).await.ok();
            let records = |store: Arc<dyn Storage>| async move {
                let records = store.records(id, 0, 10_000).await?;
                Ok(records.into_iter().map(|record| (record.at, record.kind)).collect::<Vec<_>>())
            };
            self.all("records", records).await.expect("reads");
        }
    }
}

/// A few lines around the first difference.
fn excerpt(answer: &str, right: &str, line: Option<usize>) -> String {
    let from = line.unwrap_or(0).saturating_sub(6);
    let cut = |text: &str| text.lines().skip(from).take(16).collect::<Vec<_>>().join("\n");
    format!("\n--- answered\n{}\n--- should be\n{}", cut(answer), cut(right))
}
