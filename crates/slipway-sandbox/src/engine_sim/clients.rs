//! Everybody who wants something of the engine, and the course of a story.

use std::{
    sync::{Arc, PoisonError, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use slipway_model::{
    Action, Bugs, InstanceId, JsonText, NewOperation, OperationId, OperationType, ProcessKey,
    ports::{Clock, Storage},
    time::{mins, secs},
};

use super::{
    Chance, Judge, Story,
    clock::SimClock,
    replica::Machine,
    steps::{Conclusion, Flaky, Script, SimData, World, key_of},
    store::WeatheredStore,
    weather::{Site, Weather},
};

/// Budget of every simulated process.
const BUDGET: Duration = mins(6);

/// Tells one story from beginning to end.
pub(crate) async fn tell(chance: Chance, bugs: Bugs) -> Story {
    let database_clock = SimClock::new(None);
    let judge = Judge::new(database_clock.clone(), bugs);
    let world = Arc::new(World::default());
    let weather = Weather::forecast(&chance);
    let crashes = Arc::new(AtomicU64::new(0));

    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..chance.between(1, 3) {
        let machine = Machine {
            judge: judge.clone(),
            world: world.clone(),
            weather,
            chance: chance.part(),
            bugs,
            crashes: crashes.clone(),
            is_new: index == 0 || chance.happens(700),
        };
        tasks.spawn(machine.run());
    }
    let people = Arc::new(People {
        judge: judge.clone(),
        world,
        clock: SimClock::new(None),
        store: WeatheredStore { judge: judge.clone(), site: Site::new(Weather { crash: 0, ..weather }, chance.part()) },
        weather,
    });
    tasks.spawn(jump_database_clock(chance.part(), database_clock.clone(), judge.clone(), weather));

    let operations = people.clone().ask_for_operations(chance.part()).await;
    for id in &operations {
        tasks.spawn(people.clone().set_flag(*id, chance.part()));
        tasks.spawn(people.clone().interfere(*id, chance.part()));
    }
    people.until_all_ended().await;
    tasks.abort_all();

    judge.close();
    let (violations, writes, digest) = judge.verdict();
    Story {
        seed: 0,
        violations,
        operations: operations.len(),
        writes,
        crashes: crashes.load(Ordering::Relaxed),
        simulated: database_clock.monotonic(),
        digest,
    }
}

async fn jump_database_clock(chance: Chance, clock: Arc<SimClock>, judge: Arc<Judge>, weather: Weather) {
    loop {
        clock.rest(chance.millis(10_000, 60_000)).await;
        if weather.is_over() {
            return;
        }
        if chance.happens(300) {
            clock.jump(*chance.pick(&[3_600_000_000, -3_600_000_000]));
            judge.clock_jumped();
        }
    }
}

/// Clients, operators, outside writers, and the world that changes by itself.
struct People {
    judge: Arc<Judge>,
    world: Arc<World>,
    clock: Arc<SimClock>,
    store: WeatheredStore,
    weather: Weather,
}

impl People {
    /// What a client takes for engine time: what it last saw in the database.
    fn now(&self) -> slipway_model::Timestamp {
        self.judge.latest()
    }

    async fn ask_for_operations(self: Arc<Self>, chance: Chance) -> Vec<OperationId> {
        // Nobody knows what time it is before a replica has registered.
        while self.now() == slipway_model::Timestamp::default() {
            self.clock.rest(secs(1)).await;
        }
        let instances = chance.between(1, 3);
        let mut operations = Vec::new();
        for _ in 0..chance.between(2, 7) {
            self.clock.rest(chance.millis(0, 6000)).await;
            let instance: InstanceId =
                format!("instance-{}", chance.below(instances)).parse().expect("a valid instance id");
            let (kind, process) = *chance.pick(&[
                (OperationType::Provision, "work"),
                (OperationType::Provision, "work"),
                (OperationType::Update, "change"),
                (OperationType::UpgradeKyma, "work"),
                (OperationType::Deprovision, "remove"),
            ]);
            let id = OperationId::draw(&*self.clock, &chance);
            self.world.scripts.lock().unwrap_or_else(PoisonError::into_inner).insert(id, script(&chance));
            let new = NewOperation {
                id,
                instance_id: instance,
                kind,
                temporary: chance.happens(300),
                plan: "sim".to_owned(),
                process: ProcessKey { name: process.to_owned(), version: 1 },
                budget: BUDGET,
                data: JsonText::empty(),
                secrets: None,
                by: "client".to_owned(),
            };
            // A client that gets no answer asks again with the same id, until it gets one.
            loop {
                match self.store.enqueue(new.clone(), self.now()).await {
                    Ok(answer) => {
                        let id = answer.operation().id;
                        self.judge.accepted(id);
                        if !operations.contains(&id) {
                            operations.push(id);
                        }
                        break;
                    }
                    Err(_) => self.clock.rest(chance.millis(50, 1000)).await,
                }
            }
        }
        operations
    }

    /// The world changes, and somebody tells the engine, or fails to, or tells it twice.
    async fn set_flag(self: Arc<Self>, id: OperationId, chance: Chance) {
        self.clock.rest(chance.millis(0, 90_000)).await;
        self.world.flags.lock().unwrap_or_else(PoisonError::into_inner).insert(id, true);
        let times = match () {
            () if self.is_faulty(&chance, self.weather.lost_wake) => 0,
            () if self.is_faulty(&chance, self.weather.double_wake) => 2,
            () => 1,
        };
        for _ in 0..times {
            let _ = self.store.wake(&[key_of(id)], "the world changed", self.now()).await;
            self.clock.rest(chance.millis(0, 300)).await;
        }
    }

    /// Void wake-ups, outside writes and operators' actions, as long as there are faults.
    async fn interfere(self: Arc<Self>, id: OperationId, chance: Chance) {
        let mut is_paused = false;
        loop {
            self.clock.rest(chance.millis(300, 15_000)).await;
            let is_over = self.weather.is_over();
            if is_paused && (is_over || chance.happens(300)) {
                is_paused = self.act(id, Action::Resume).await.is_err_and_open();
            }
            if is_over && !is_paused {
                return;
            }
            match chance.below(14) {
                0..=3 => self.write_from_outside(id).await,
                4 | 5 => {
                    let _ = self.store.wake(&[key_of(id)], "nothing happened", self.now()).await;
                }
                6 => {
                    self.act(id, Action::RetryNow).await;
                }
                7 if !is_paused && !is_over => is_paused = self.act(id, Action::Pause).await.may_have_worked(),
                8 => {
                    self.act(id, Action::SkipStep { step: "Flaky".to_owned() }).await;
                }
                9 if chance.happens(300) => {
                    self.act(id, Action::Cancel).await;
                }
                _ => {}
            }
        }
    }

    async fn act(&self, id: OperationId, action: Action) -> Acted {
        match self.store.act(id, &action, "operator", "simulated", self.now()).await {
            Ok(_) => Acted::Done,
            Err(error) if error.is_temporary() => Acted::Unknown,
            Err(_) => Acted::Refused,
        }
    }

    /// Somebody else changes a field of the data, the way a well-behaved writer does.
    async fn write_from_outside(&self, id: OperationId) {
        let Ok(operation) = self.store.operation(id).await else { return };
        let Ok(mut data) = operation.fields.data.to::<SimData>() else { return };
        data.outside += 1;
        let Ok(text) = JsonText::of(&data) else { return };
        let fields = slipway_model::operation::Fields { data: text, ..operation.fields };
        // Straight to the store: whether this write counts must not be in doubt.
        if let Ok(Some(_)) = self.judge.store.update(id, operation.version, fields, self.now()).await {
            self.judge.outside_wrote(id);
            self.judge.look();
        }
    }

    fn is_faulty(&self, chance: &Chance, permille: u64) -> bool {
        !self.weather.is_over() && chance.happens(permille)
    }

    /// Waits until everything has ended, at most as long as that may take: one operation after the
    /// other of one instance, each its whole budget, from the end of the faults on.
    async fn until_all_ended(&self) {
        let mut waited = Duration::ZERO;
        let mut quiet = Duration::ZERO;
        let tick = secs(5);
        loop {
            self.clock.rest(tick).await;
            waited += tick;
            if self.weather.is_over() {
                quiet += tick;
            }
            if self.judge.all_ended() || quiet > BUDGET * 8 {
                return;
            }
        }
    }
}

/// How an action went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acted {
    Done,
    Refused,
    Unknown,
}

impl Acted {
    fn may_have_worked(self) -> bool {
        self != Self::Refused
    }

    /// The wish may still be open.
    fn is_err_and_open(self) -> bool {
        self == Self::Unknown
    }
}

fn script(chance: &Chance) -> Script {
    Script {
        flaky: *chance.pick(&[Flaky::Never, Flaky::Never, Flaky::Times(1), Flaky::Times(4), Flaky::Always]),
        conclusion: *chance.pick(&[
            Conclusion::Done,
            Conclusion::Done,
            Conclusion::Done,
            Conclusion::Fail,
            Conclusion::Finish,
            Conclusion::Panic,
            Conclusion::Skip,
        ]),
        long_wait: chance.happens(300),
        bad_finalizer: chance.happens(200),
    }
}
