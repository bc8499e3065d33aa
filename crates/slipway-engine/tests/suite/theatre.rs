//! Where the stories are played: steps that do what a line says, props that a story can move, and
//! as many engines on one store as it wants.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use slipway_engine::{
    Domain, Engine, EngineConfig, Parts, ProcessTable, Registry, Row, Step, StepCtx, StepResult,
    simulated::{SeededRandom, SimulatedClock},
};
use slipway_model::{
    JsonText, NewOperation, Operation, OperationId, OperationState, OperationType, ProcessKey, Record, StepRecord,
    ports::{BoxFuture, Clock, Random, Storage},
    time::{hours, millis},
};
use slipway_store::MemoryStore;

/// The domain of the stories.
#[derive(Debug, Clone)]
pub(crate) struct Play;

impl Domain for Play {
    type Data = Data;
    type Systems = Props;
}

/// What steps store.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Data {
    pub(crate) said: Vec<String>,
    pub(crate) outside: u32,
}

/// What a story can see and move. The outside world, so nothing here is lost with an engine.
#[derive(Default)]
pub(crate) struct Props {
    notes: Mutex<Vec<String>>,
    flags: Mutex<BTreeSet<&'static str>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Props {
    pub(crate) fn note(&self, text: impl Into<String>) {
        locked(&self.notes).push(text.into());
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        locked(&self.notes).clone()
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        locked(&self.notes).iter().filter(|note| *note == text).count()
    }

    pub(crate) fn raise(&self, flag: &'static str) {
        locked(&self.flags).insert(flag);
    }

    pub(crate) fn is(&self, flag: &'static str) -> bool {
        locked(&self.flags).contains(flag)
    }
}

/// A step that does what its line says.
pub(crate) struct Act(pub(crate) &'static str, pub(crate) fn(&mut StepCtx<Play>) -> StepResult);

impl Step<Play> for Act {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn run(&self, ctx: &mut StepCtx<Play>) -> StepResult {
        ctx.systems().note(self.0);
        (self.1)(ctx)
    }
}

/// A step whose line takes its time.
pub(crate) struct LongAct(
    pub(crate) &'static str,
    pub(crate) for<'a> fn(&'a mut StepCtx<Play>) -> BoxFuture<'a, StepResult>,
);

impl Step<Play> for LongAct {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn run(&self, ctx: &mut StepCtx<Play>) -> StepResult {
        ctx.systems().note(self.0);
        (self.1)(ctx).await
    }
}

/// Steps that are done at once.
pub(crate) static ONE: Act = Act("One", |ctx| ctx.done());
pub(crate) static TWO: Act = Act("Two", |ctx| ctx.done());
pub(crate) static THREE: Act = Act("Three", |ctx| ctx.done());

/// A house with a store, a clock and props.
pub(crate) struct Theatre {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) props: Arc<Props>,
    random: Arc<dyn Random>,
    pub(crate) tables: Vec<ProcessTable<Play>>,
}

impl Theatre {
    /// A house that plays `update` with these rows.
    pub(crate) fn with(rows: &[Row<Play>]) -> Self {
        Self::empty().plays(OperationType::Update, rows, &[])
    }

    pub(crate) fn empty() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
        Self {
            store: Arc::new(MemoryStore::new(clock.clone())),
            clock,
            props: Arc::default(),
            random: Arc::new(SeededRandom::new(3)),
            tables: Vec::new(),
        }
    }

    /// Adds a process, named after its type.
    pub(crate) fn plays(self, kind: OperationType, rows: &[Row<Play>], finalizers: &[Row<Play>]) -> Self {
        self.plays_version(1, kind, rows, finalizers)
    }

    pub(crate) fn plays_version(
        mut self,
        version: u32,
        kind: OperationType,
        rows: &[Row<Play>],
        finalizers: &[Row<Play>],
    ) -> Self {
        // Tables live for ever, and a test's process is short.
        let leak = |rows: &[Row<Play>]| -> &'static [Row<Play>] { Box::leak(rows.to_vec().into_boxed_slice()) };
        let (name, budget) = (kind.as_str(), hours(24));
        self.tables.push(ProcessTable { name, version, kind, budget, rows: leak(rows), finalizers: leak(finalizers) });
        self
    }

    pub(crate) fn registry(&self) -> Registry<Play> {
        let add = |registry: Registry<Play>, table: &ProcessTable<Play>| registry.with(table);
        self.tables.iter().try_fold(Registry::default(), add).expect("right tables")
    }

    /// One more engine on the same store.
    pub(crate) fn engine(&self) -> Engine<Play> {
        self.engine_of(self.registry())
    }

    pub(crate) fn engine_of(&self, registry: Registry<Play>) -> Engine<Play> {
        self.engine_with(registry, EngineConfig::default())
    }

    pub(crate) fn engine_with(&self, registry: Registry<Play>, config: EngineConfig) -> Engine<Play> {
        Engine::start(Parts {
            store: self.store.clone(),
            registry,
            systems: self.props.clone(),
            clock: self.clock.clone(),
            random: self.random.clone(),
            config,
        })
    }

    /// An operation for the store; it belongs to the instance of this name.
    pub(crate) fn wish(&self, kind: OperationType, instance: &str) -> NewOperation {
        NewOperation {
            id: OperationId::draw(&*self.clock, &*self.random),
            instance_id: instance.parse().expect("instance"),
            kind,
            temporary: false,
            plan: "play".to_owned(),
            process: ProcessKey { name: kind.as_str().to_owned(), version: 1 },
            budget: hours(24),
            data: JsonText::empty(),
            secrets: None,
            by: "a story".to_owned(),
        }
    }

    pub(crate) async fn accept(&self, new: NewOperation) -> OperationId {
        self.store.enqueue(new, self.clock.wall()).await.expect("accepted").operation().id
    }

    /// An update of the instance `shop`.
    pub(crate) async fn update(&self) -> OperationId {
        self.accept(self.wish(OperationType::Update, "shop")).await
    }

    pub(crate) async fn operation(&self, id: OperationId) -> Operation {
        self.store.operation(id).await.expect("operation")
    }

    pub(crate) async fn data(&self, id: OperationId) -> Data {
        self.operation(id).await.fields.data.to().expect("data")
    }

    pub(crate) async fn step(&self, id: OperationId, name: &str) -> Option<StepRecord> {
        self.store.steps(id).await.expect("ledger").into_iter().find(|row| row.step == name)
    }

    pub(crate) async fn records(&self, id: OperationId) -> Vec<Record> {
        self.store.records(id, 0, 10_000).await.expect("records")
    }

    /// Lets time pass until this holds; a day is too long.
    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let begun = self.clock.monotonic();
        while !holds().await {
            assert!(self.clock.monotonic() - begun < hours(26), "in vain: {what}");
            self.clock.sleep(millis(100)).await;
        }
    }

    /// The operation at its end.
    pub(crate) async fn end(&self, id: OperationId) -> Operation {
        self.until("an end", async || self.operation(id).await.state.is_finished()).await;
        self.operation(id).await
    }

    /// Lets time pass until this step has ended a run.
    pub(crate) async fn until_ran(&self, id: OperationId, step: &str) {
        self.until(step, async || self.step(id, step).await.is_some()).await;
    }

    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.sleep(time).await;
    }
}

pub(crate) fn took(operation: &Operation) -> Duration {
    operation.finished_at.expect("it has ended").since(operation.created_at)
}

pub(crate) fn state(operation: &Operation) -> (OperationState, &str) {
    (operation.state, &operation.fields.description)
}
