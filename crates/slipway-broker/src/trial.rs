//! Runs a few rows on simulated time against the simulators, for the tests inside the step files.

use std::{sync::Arc, time::Duration};

use slipway_clients::{ConnectionSettings, Connections, Credentials, SYSTEMS, SettingsBySystem, hello};
use slipway_engine::{
    Engine, EngineConfig, Parts, ProcessTable, RecordingTransport, Registry, Row,
    simulated::{SeededRandom, SimulatedClock, SimulatedWire},
};
use slipway_model::{
    JsonText, LastError, NewOperation, Operation, OperationId, OperationState, OperationType, ProcessKey, StepRecord,
    WaitKey,
    ports::{Clock, Storage, Transport},
    time::{hours, millis},
};
use slipway_store::MemoryStore;

use crate::domain::{Broker, Data, Systems};

/// Rows and the world they will run in.
pub(crate) struct Trial {
    rows: &'static [Row<Broker>],
    /// The simulators.
    pub(crate) sim: slipway_sim::Systems,
}

/// A trial under way.
pub(crate) struct Running {
    engine: Engine<Broker>,
    clock: Arc<dyn Clock>,
    id: OperationId,
}

/// How it ended.
pub(crate) struct End {
    pub(crate) operation: Operation,
    steps: Vec<StepRecord>,
}

impl Trial {
    /// A process of these rows.
    pub(crate) fn of(rows: &[Row<Broker>]) -> Self {
        // A test's table lives as long as the test; the engine wants it for ever.
        Self { rows: Box::leak(rows.to_vec().into_boxed_slice()), sim: slipway_sim::Systems::default() }
    }

    /// Runs it for the instance `shop` to its end.
    pub(crate) async fn run(self) -> End {
        self.start().await.end().await
    }

    pub(crate) async fn start(self) -> Running {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
        let (name, version, kind, budget) = ("trial", 1, OperationType::Update, hours(24));
        let table = ProcessTable { name, version, kind, budget, rows: self.rows, finalizers: &[] };
        let wire = SimulatedWire::new(clock.clone(), move |system, request| {
            let sim = self.sim.clone();
            Box::pin(async move { sim.exchange(system, request).await.map_err(|broken| broken.to_string()) })
        });
        let wire: Arc<dyn Transport> = Arc::new(RecordingTransport::new(wire, clock.clone()));
        let address = "http://hello".parse().expect("address");
        let settings = SettingsBySystem::from([ConnectionSettings::of::<hello::Client>(address, Credentials::None)]);
        let outside = Connections::new(SYSTEMS, &settings, &wire, &clock);
        let engine = Engine::start(Parts {
            store: Arc::new(MemoryStore::new(clock.clone())),
            registry: Registry::default().with(&table).expect("table"),
            systems: Arc::new(Systems { outside }),
            clock: clock.clone(),
            random: Arc::new(SeededRandom::new(1)),
            config: EngineConfig::default(),
        });
        let new = NewOperation {
            id: engine.draw_id(),
            instance_id: "shop".parse().expect("instance"),
            kind,
            temporary: false,
            plan: "trial".to_owned(),
            process: ProcessKey { name: name.to_owned(), version },
            budget,
            data: JsonText::empty(),
            secrets: None,
            by: "test".to_owned(),
        };
        let id = engine.enqueue(new).await.expect("accepted").operation().id;
        Running { engine, clock, id }
    }
}

impl Running {
    pub(crate) fn id(&self) -> OperationId {
        self.id
    }

    pub(crate) async fn wake(&self, key: WaitKey, cause: &str) {
        self.engine.wake(&[key], cause).await.expect("woken");
    }

    /// Until the step has an entry in the ledger.
    pub(crate) async fn until_step(&mut self, step: &str) {
        while !self.look().await.steps.iter().any(|row| row.step == step) {
            self.clock.sleep(millis(50)).await;
        }
    }

    /// Until the end.
    pub(crate) async fn end(self) -> End {
        loop {
            let end = self.look().await;
            if end.operation.state.is_finished() {
                return end;
            }
            self.clock.sleep(millis(500)).await;
        }
    }

    async fn look(&self) -> End {
        let store: &Arc<dyn Storage> = self.engine.store();
        End {
            operation: store.operation(self.id).await.expect("operation"),
            steps: store.steps(self.id).await.expect("steps"),
        }
    }
}

impl End {
    pub(crate) fn state(&self) -> OperationState {
        self.operation.state
    }

    pub(crate) fn data(&self) -> Data {
        self.operation.fields.data.to().expect("data")
    }

    pub(crate) fn error(&self) -> &LastError {
        self.operation.fields.last_error.as_ref().expect("an error is on record")
    }

    pub(crate) fn step(&self, name: &str) -> &StepRecord {
        self.steps.iter().find(|row| row.step == name).expect("the step is in the ledger")
    }

    pub(crate) fn took(&self) -> Duration {
        self.operation.finished_at.expect("it has ended").since(self.operation.created_at)
    }
}
