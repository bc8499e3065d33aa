//! One run of a process in a fresh world, with at most one fault.

use std::{sync::Arc, time::Duration};

use slipway_model::{
    Operation, OperationId, ProcessKey, Record, StepRecord, StepStatus,
    ports::{Clock, Random, Storage},
    time::{hours, secs},
};

use super::{
    World,
    fault::{Call, Fault, RowName},
    store::FaultyStore,
    wire::{FaultyWire, Tap},
};
use crate::{
    engine::{Engine, Parts},
    process::Registry,
    recording::RecordingTransport,
    simulated::{SeededRandom, SimulatedClock},
};

/// What was seen.
pub(crate) struct Run<W: World> {
    pub(super) world: W,
    pub(super) registry: Registry<W::Domain>,
    pub(super) operation: Operation,
    pub(super) steps: Vec<StepRecord>,
    pub(super) records: Vec<Record>,
    pub(super) calls: Vec<Call>,
    pub(super) commits: Vec<(RowName, StepStatus)>,
    pub(super) has_struck: bool,
    /// From acceptance to the end, or to when the matrix lost patience.
    pub(super) took: Duration,
}

impl<W: World> Run<W> {
    /// The ledger row of a place.
    pub(super) fn step(&self, place: RowName) -> Option<&StepRecord> {
        self.steps.iter().find(|row| row.stage == place.stage && row.step == place.step)
    }
}

/// Runs it to its end. A crash is followed by a new engine on the same store, as a restart is.
pub(super) async fn run<W: World>(
    make: &impl Fn(Arc<dyn Clock>) -> W,
    key: &ProcessKey,
    fault: Option<Fault>,
) -> Run<W> {
    let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
    let random: Arc<dyn Random> = Arc::new(SeededRandom::new(7));
    let world = make(clock.clone());
    let registry = world.registry();
    let process = registry.get(key).unwrap_or_else(|| panic!("there is no process {key}"));
    let places = process.rows.iter().chain(&process.finalizers);
    let places = places.map(|row| RowName { stage: row.stage, step: row.step.name() }).collect();

    let tap = Tap::new(fault);
    let store: Arc<dyn Storage> = Arc::new(FaultyStore { inner: world.store(), places, tap: tap.clone() });
    let wire = FaultyWire { inner: world.wire(), tap: tap.clone(), clock: clock.clone() };
    let systems = Arc::new(world.systems(Arc::new(RecordingTransport::new(wire, clock.clone()))));
    let start = || {
        Engine::start(Parts {
            store: store.clone(),
            registry: world.registry(),
            systems: systems.clone(),
            clock: clock.clone(),
            random: random.clone(),
            config: world.config(),
        })
    };

    let mut engine = start();
    let new = world.operation(process, OperationId::draw(&*clock, &*random));
    let (id, patience) = (new.id, process.budget + hours(1));
    let begun = clock.monotonic();
    engine.enqueue(new).await.expect("the operation is accepted");
    let operation = loop {
        tokio::select! {
            biased;
            () = tap.crash.notified() => {
                engine.abort();
                engine = start();
            }
            () = clock.sleep(secs(1)) => {
                let operation = store.operation(id).await.expect("the operation is stored");
                if operation.state.is_finished() || clock.monotonic() - begun > patience {
                    break operation;
                }
            }
        }
    };
    engine.stop().await;
    let steps = store.steps(id).await.expect("its ledger is stored");
    let records = store.records(id, 0, usize::MAX >> 1).await.expect("its records are stored");
    let took = operation.finished_at.map_or(patience, |end| end.since(operation.created_at));
    let mut seen = tap.seen();
    let (calls, commits) = (std::mem::take(&mut seen.calls), std::mem::take(&mut seen.commits));
    let has_struck = seen.has_struck;
    drop(seen);
    Run { world, registry, operation, steps, records, calls, commits, has_struck, took }
}
