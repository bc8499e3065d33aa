//! The sample process over real sockets: the same clients, the same simulator, a network between.

use std::sync::Arc;

use slipway_broker::{Broker, Data, Systems, processes::HELLO, registry, steps::hello_answer::wait_key};
use slipway_clients::{
    ConnectionSettings, Connections, Credentials, HttpTransport, SYSTEMS, SettingsBySystem, hello as client,
};
use slipway_engine::{Engine, EngineConfig, Event, Parts, RecordingTransport, SystemClock, SystemRandom};
use slipway_model::{
    JsonText, NewOperation, OperationState, ProcessKey, RecordKind,
    ports::{Clock, Transport},
    recorder::Outcome,
};
use slipway_sim::{
    Listening,
    systems::hello::{Hello, Reader},
};
use slipway_store::MemoryStore;

#[tokio::test]
async fn a_greeting_goes_out_is_read_and_the_operation_ends() {
    let hello = Hello::default();
    hello.read_by(Reader::Person);
    let socket = Listening::start(hello.router()).await.expect("a free port");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let wire = RecordingTransport::new(HttpTransport::new().expect("transport"), clock.clone());
    let wire: Arc<dyn Transport> = Arc::new(wire);
    let address = socket.url().parse().expect("address");
    let settings = SettingsBySystem::from([ConnectionSettings::of::<client::Client>(address, Credentials::None)]);
    let outside = Connections::new(SYSTEMS, &settings, &wire, &clock);
    let engine: Engine<Broker> = Engine::start(Parts {
        store: Arc::new(MemoryStore::new(clock.clone())),
        registry: registry().expect("all tables are right"),
        systems: Arc::new(Systems { outside }),
        clock,
        random: Arc::new(SystemRandom::default()),
        config: EngineConfig::default(),
    });
    let mut events = engine.events();
    let new = NewOperation {
        id: engine.draw_id(),
        instance_id: "shop".parse().expect("instance"),
        kind: HELLO.kind,
        temporary: false,
        plan: "sample".to_owned(),
        process: ProcessKey { name: HELLO.name.to_owned(), version: HELLO.version },
        budget: HELLO.budget,
        data: JsonText::empty(),
        secrets: None,
        by: "test".to_owned(),
    };
    let id = engine.enqueue(new).await.expect("accepted").operation().id;

    let state = loop {
        match events.recv().await.expect("the engine lives") {
            Event::StepProcessed { outcome: Outcome::Wait, .. } => {
                assert!(hello.read(&id.to_string()), "the report is there before anybody waits for its reader");
                engine.wake(&[wait_key(id)], "the greeting was read").await.expect("woken");
            }
            Event::OperationFinished { state, .. } => break state,
            Event::StepProcessed { .. } | Event::LeaseLost | Event::LeasesTaken { .. } => {}
        }
    };
    assert_eq!(state, OperationState::Succeeded);
    let operation = engine.store().operation(id).await.expect("operation");
    assert_eq!(operation.fields.data.to::<Data>().expect("data").greeting.as_deref(), Some("Hello, shop!"));
    let records = engine.store().records(id, 0, 1000).await.expect("records");
    let calls = records.iter().filter(|record| matches!(record.kind, RecordKind::Call { .. })).count();
    assert_eq!(calls, 4, "a greeting, a report, two looks");
    assert_eq!(hello.complaints(), Vec::<String>::new());
    engine.stop().await;
}
