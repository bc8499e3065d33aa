//! The failure matrix of every process of the broker.

use std::sync::Arc;

use slipway_broker::{Broker, Systems, registry};
use slipway_clients::{ConnectionSettings, Connections, Credentials, SYSTEMS, SettingsBySystem, hello};
use slipway_engine::{
    Process, Registry, Row,
    matrix::{GivesUp, World, matrix},
    simulated::SimulatedWire,
};
use slipway_model::{
    JsonText, NewOperation, Operation, OperationId, OperationState,
    ports::{Clock, Storage, Transport},
};
use slipway_store::MemoryStore;

/// Steps that are skipped when what they need is away for good. All others fail the operation.
const SKIPPED: &[&str] = &["Hello_Report"];

struct Landscape {
    sim: slipway_sim::Systems,
    clock: Arc<dyn Clock>,
}

impl Landscape {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { sim: slipway_sim::Systems::default(), clock }
    }
}

impl World for Landscape {
    type Domain = Broker;

    fn store(&self) -> Arc<dyn Storage> {
        Arc::new(MemoryStore::new(self.clock.clone()))
    }

    fn registry(&self) -> Registry<Broker> {
        registry().expect("all tables are right")
    }

    fn wire(&self) -> Arc<dyn Transport> {
        let sim = self.sim.clone();
        Arc::new(SimulatedWire::new(self.clock.clone(), move |system, request| {
            let sim = sim.clone();
            Box::pin(async move { sim.exchange(system, request).await.map_err(|broken| broken.to_string()) })
        }))
    }

    fn systems(&self, wire: Arc<dyn Transport>) -> Systems {
        let address = "http://hello".parse().expect("address");
        let settings = SettingsBySystem::from([ConnectionSettings::of::<hello::Client>(address, Credentials::None)]);
        Systems { outside: Connections::new(SYSTEMS, &settings, &wire, &self.clock) }
    }

    fn operation(&self, process: &Process<Broker>, id: OperationId) -> NewOperation {
        NewOperation {
            id,
            instance_id: "shop".parse().expect("instance"),
            kind: process.kind,
            temporary: false,
            plan: "sample".to_owned(),
            process: process.key.clone(),
            budget: process.budget,
            data: JsonText::empty(),
            secrets: None,
            by: "the failure matrix".to_owned(),
        }
    }

    fn gives_up(&self, row: &Row<Broker>) -> GivesUp {
        if SKIPPED.contains(&row.step.name()) { GivesUp::BySkipping } else { GivesUp::ByFailing }
    }

    fn check(&self, operation: &Operation) -> Result<(), String> {
        let hello = &self.sim.hello;
        if let Some(complaint) = hello.complaints().first() {
            return Err(format!("hello complains: {complaint}"));
        }
        let (id, reports) = (operation.id.to_string(), hello.reports());
        if let Some(orphan) = reports.iter().find(|report| report.id != id) {
            return Err(format!("report {} belongs to nobody", orphan.id));
        }
        let skipped = operation.fields.skipped_steps.iter().any(|step| step == "Hello_Report");
        if operation.state == OperationState::Succeeded && !skipped && reports.len() != 1 {
            return Err(format!("{} reports instead of one", reports.len()));
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn every_row_of_every_process_survives_every_fault() {
    for key in registry().expect("all tables are right").keys() {
        let report = matrix(Landscape::new, &key).await;
        println!("{report}");
        report.assert_sound();
    }
}
