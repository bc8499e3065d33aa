//! Stories of single operations that the failure matrix does not tell.
//!
//! Told here is what needs hours that pass at once, a Runtime in a state that the manager writes only after such
//! hours, or a look at the operation's own records; so the manager is the stand-in of the matrix. Whatever can be
//! told with the real one is a scenario of `slipway-sandbox`.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use slipway_engine::{
    Engine, EngineConfig, Parts, ProcessTable, RecordingTransport, Registry, row,
    simulated::{SeededRandom, SimulatedClock},
};
use slipway_model::{
    Component, NewOperation, Operation, OperationId, OperationState,
    ports::{Clock, Runtimes as _, Storage as _},
    runtime_record::AgentConnection,
    time::{hours, mins, secs},
};
use slipway_provisioner::{
    Data, OperationKind, Provisioner,
    domain::wait_key,
    graphql::ports::EnginePort as _,
    jobs::agents::Agents,
    processes::HIBERNATE,
    registry,
    steps::{FetchKubeconfig, PatchRuntimeResource, WaitForHibernation},
};

use crate::landscape::{By, CONTROL_PLANE, Ground, Landscape, NAMESPACE, SHOOT};

struct Story {
    landscape: Landscape,
    clock: Arc<dyn Clock>,
    engine: Option<Engine<Provisioner>>,
    id: OperationId,
}

impl Story {
    async fn of(kind: OperationKind) -> Self {
        Self::by(kind, By::Reconciler).await
    }

    async fn by(kind: OperationKind, by: By) -> Self {
        let ground = Ground::new().await;
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
        let landscape = ground.landscape(clock.clone(), kind, by);
        let random = SeededRandom::new(3);
        let id = OperationId::draw(&*clock, &random);
        landscape.accept(&landscape.operation(id, hours(24)));
        Self { landscape, clock, engine: None, id }
    }

    /// Starts the engine, or starts it again.
    fn start(&mut self) {
        self.start_with(registry().expect("all tables are right"));
    }

    /// The same with the processes of another program.
    fn start_with(&mut self, registry: Registry<Provisioner>) {
        let wire = RecordingTransport::new(Wire(self.landscape.wire()), self.clock.clone());
        let systems = self.landscape.systems(Arc::new(wire));
        self.engine = Some(Engine::start(Parts {
            store: self.landscape.shared.store.clone(),
            registry,
            systems: Arc::new(systems),
            clock: self.clock.clone(),
            random: Arc::new(SeededRandom::new(5)),
            config: EngineConfig::default(),
        }));
    }

    async fn look(&self) -> Operation {
        self.landscape.shared.store.operation(self.id).await.expect("stored")
    }

    async fn until(&self, what: impl Fn(&Operation) -> bool) -> Operation {
        loop {
            let operation = self.look().await;
            if what(&operation) {
                return operation;
            }
            assert!(!operation.state.is_finished(), "it ended first: {:?}", operation.fields);
            self.clock.sleep(secs(1)).await;
        }
    }

    /// Runs it to its end.
    async fn end(&mut self) -> Operation {
        if self.engine.is_none() {
            self.start();
        }
        loop {
            let operation = self.look().await;
            if operation.state.is_finished() {
                return operation;
            }
            self.clock.sleep(secs(1)).await;
        }
    }

    fn runtime(&self) -> Option<Value> {
        let cluster = self.landscape.shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
        cluster.get(
            "infrastructuremanager.kyma-project.io",
            "runtimes",
            NAMESPACE,
            &self.landscape.shared.id.to_string(),
        )
    }

    fn verdict(&self, status: Value) {
        *self.landscape.shared.verdict.lock().expect("not poisoned") = Some(status);
    }
}

/// A wire that is shared already.
struct Wire(Arc<dyn slipway_model::ports::Transport>);

impl slipway_model::ports::Transport for Wire {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: http::Request<bytes::Bytes>,
        timeout: Duration,
    ) -> slipway_model::ports::BoxFuture<'a, Result<http::Response<bytes::Bytes>, slipway_model::ports::TransportError>>
    {
        self.0.send(system, request, timeout)
    }
}

fn data(operation: &Operation) -> Data {
    operation.fields.data.to().expect("data")
}

#[tokio::test(start_paused = true)]
async fn exceeded_rate_limits_pass_by_themselves() {
    let mut story = Story::of(OperationKind::ProvisionNoInstall).await;
    let errors = json!([{ "description": "slow down", "codes": ["ERR_INFRA_RATE_LIMITS_EXCEEDED"] }]);
    story.verdict(json!({ "state": "Failed", "shootLastErrors": errors }));
    story.start();
    story.until(|operation| operation.fields.description.starts_with("waiting for the cluster")).await;
    story.clock.sleep(mins(5)).await;
    let cluster = story.landscape.shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
    let name = story.landscape.shared.id.to_string();
    let group = "infrastructuremanager.kyma-project.io";
    let place =
        kube_sandbox::Place { group, plural: "runtimes", namespace: NAMESPACE, name: &name, subresource: "status" };
    cluster.update(&place, |runtime| runtime["status"]["state"] = json!("Ready")).await.expect("changed");
    assert_eq!(story.end().await.state, OperationState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_kubernetes_version_that_maintenance_has_raised_is_kept_and_that_is_said() {
    let mut story = Story::of(OperationKind::UpgradeShoot).await;
    story.verdict(json!({ "kubernetesVersion": "1.34.1" }));
    let operation = story.end().await;
    assert_eq!(operation.state, OperationState::Succeeded, "{:?}", operation.fields.last_error);
    assert_eq!(data(&operation).warnings, ["the cluster has Kubernetes 1.34.1 already, and keeps it"]);
    let runtime = story.runtime().expect("there");
    assert_eq!(runtime["spec"]["shoot"]["kubernetes"]["version"], "1.34.1");
    assert_eq!(runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"], 9, "the rest of the change is made");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_cannot_sleep_is_not_asked_to() {
    let mut story = Story::of(OperationKind::Hibernate).await;
    story.verdict(json!({ "hibernationPossible": false, "hibernationMessage": "a webhook is in the way" }));
    let operation = story.end().await;
    let error = operation.fields.last_error.clone().expect("why");
    assert!(error.message.ends_with("a webhook is in the way"), "{}", error.message);
    assert_ne!(story.runtime().expect("there")["spec"]["shoot"]["hibernation"]["enabled"], json!(true));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_runtime_ends_the_wait_at_once() {
    let mut story = Story::of(OperationKind::ProvisionNoInstall).await;
    story.start();
    let waiting =
        |operation: &Operation| operation.fields.finished_stages.contains(&"WaitingForClusterDomain".to_owned());
    story.until(waiting).await;
    let until_ready = async {
        while story.runtime().is_none_or(|runtime| runtime["status"]["state"] != "Ready") {
            story.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    until_ready.await;
    let before = story.clock.monotonic();
    let engine = story.engine.as_ref().expect("running");
    engine.wake(&[wait_key(story.landscape.shared.id)], "the Runtime changed").await.expect("woken");
    story.until(|operation| operation.fields.finished_stages.contains(&"WaitingForClusterCreation".to_owned())).await;
    assert!(story.clock.monotonic() - before < secs(3), "long before the timer of 20 s");
    assert_eq!(story.end().await.state, OperationState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn an_outage_longer_than_a_deadline_grants_one_more_look() {
    let mut story = Story::of(OperationKind::ProvisionNoInstall).await;
    story.start();
    story.until(|operation| operation.fields.finished_stages.contains(&"WaitingForClusterDomain".to_owned())).await;
    story.engine.take().expect("running").abort();
    story.clock.sleep(hours(3)).await;
    let operation = story.end().await;
    assert_eq!(
        operation.state,
        OperationState::Succeeded,
        "the cluster was ready long ago: {:?}",
        operation.fields.last_error
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_never_comes_fails_the_operation_at_its_deadline() {
    let mut story = Story::of(OperationKind::ProvisionNoInstall).await;
    story.verdict(json!({ "state": "Pending" }));
    let operation = story.end().await;
    let error = operation.fields.last_error.clone().expect("why");
    assert_eq!((error.component, error.reason.as_str()), (Component::Provisioner, "err_provisioner_timeout"));
    let took = operation.finished_at.expect("ended").since(operation.created_at);
    assert!(took > mins(60) && took < mins(75), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_token_was_spoiled_gets_another_one() {
    let mut story = Story::of(OperationKind::Provision).await;
    story.landscape.shared.agent_sleeps.store(true, std::sync::atomic::Ordering::Relaxed);
    story.start();
    story.until(|operation| operation.fields.finished_stages.contains(&"ConnectRuntimeAgent".to_owned())).await;
    // Longer than a one-time token lives.
    story.clock.sleep(mins(6)).await;
    story.landscape.shared.agent_sleeps.store(false, std::sync::atomic::Ordering::Relaxed);
    let operation = story.end().await;
    assert_eq!(operation.state, OperationState::Succeeded, "{:?}", operation.fields.last_error);
    assert_eq!(data(&operation).errors.last().map(|error| error.component.as_str()), Some("compass connection"));
    let record = story.landscape.shared.store.runtime(story.landscape.shared.id).await.expect("stored").expect("known");
    assert_eq!(record.agent.map(|agent| agent.state), Some(AgentConnection::Connected));
}

#[tokio::test(start_paused = true)]
async fn a_reconnection_ends_with_a_younger_connection_and_a_lost_one_is_seen() {
    let mut story = Story::of(OperationKind::ReconnectRuntime).await;
    let operation = story.end().await;
    assert_eq!(operation.state, OperationState::Succeeded, "{:?}", operation.fields.last_error);
    let shared = story.landscape.shared.clone();
    let shoot = shared.ground.server.cluster(SHOOT).expect("a cluster");
    let connection =
        shoot.get("compass.kyma-project.io", "compassconnections", "", "compass-connection").expect("there");
    let established = connection["status"]["connectionStatus"]["established"].as_str().expect("since when").to_owned();
    assert!(established.parse::<slipway_model::Timestamp>().expect("a time") + secs(1) > operation.created_at);

    let systems = Arc::new(story.landscape.systems(story.landscape.wire()));
    let (clock, random) = (story.clock.clone(), Arc::new(SeededRandom::new(1)));
    let agents = Agents { systems, clock, random, stale_after: mins(15), metrics: Arc::default() };
    assert_eq!(agents.round().await, 1);
    let seen = async || shared.store.runtime(shared.id).await.expect("stored").expect("known").agent.expect("seen");
    assert_eq!(seen().await.state, AgentConnection::Connected);
    shared.sim.director.forget(&shared.id.to_string());
    story.clock.sleep(secs(10)).await;
    agents.round().await;
    assert_eq!(seen().await.state, AgentConnection::Disconnected);
    assert_eq!(seen().await.errors, ["the Director does not know this connection"]);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_of_what_is_not_installed_fails() {
    let mut story = Story::of(OperationKind::Upgrade).await;
    story.landscape.shared.lacks_kyma.store(true, std::sync::atomic::Ordering::Relaxed);
    let error = story.end().await.fields.last_error.expect("why");
    assert_eq!((error.component, error.reason.as_str()), (Component::KymaInstaller, "err_trigger_kyma_install"));
}

#[tokio::test(start_paused = true)]
async fn secrets_stay_out_of_the_records_of_an_operation() {
    let mut story = Story::of(OperationKind::Provision).await;
    let operation = story.end().await;
    assert_eq!(operation.state, OperationState::Succeeded, "{:?}", operation.fields.last_error);
    let store = &story.landscape.shared.store;
    let records = store.records(story.id, 0, 10_000).await.expect("records");
    let text = format!("{records:?} {:?} {:?}", operation.fields, store.steps(story.id).await.expect("steps"));
    for secret in ["s3cret", "director-secret", "ann@example.com", "c.example.com"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(text.contains("requestOneTimeToken") || text.contains("/graphql"), "the calls are on record");
}

/// A hibernation as a later program might do it: the same name, one row more.
static HIBERNATE_2: ProcessTable<Provisioner> = ProcessTable {
    version: 2,
    rows: &[
        row("WaitForHibernation", 1, &PatchRuntimeResource),
        row("WaitForHibernation", 1, &WaitForHibernation),
        row("TellConnection", 1, &FetchKubeconfig),
    ],
    ..HIBERNATE
};

#[tokio::test(start_paused = true)]
async fn an_operation_that_began_before_an_upgrade_ends_as_it_began_and_a_new_one_as_the_new_table_says() {
    let mut story = Story::of(OperationKind::Hibernate).await;
    story.start_with(Registry::default().with(&HIBERNATE).expect("a right table"));
    story.until(|operation| operation.schedule.wait_on.is_some()).await;
    story.engine.take().expect("an engine").stop().await;

    story.start_with(registry().and_then(|all| all.with(&HIBERNATE_2)).expect("both versions"));
    let engine = story.engine.as_ref().expect("an engine");
    let (newest, _) = engine.process(OperationKind::Hibernate).expect("it is offered");
    assert_eq!(newest.to_string(), "provisioner_hibernate@2");
    let (old, first) = (story.end().await, story.id);
    let new = NewOperation {
        process: newest,
        ..story.landscape.operation(OperationId::draw(&*story.clock, &SeededRandom::new(4)), hours(24))
    };
    story.id = new.id;
    story.landscape.shared.store.enqueue(new, story.clock.wall()).await.expect("accepted");
    let new = story.end().await;
    for (operation, id, stages) in
        [(&old, first, &["WaitForHibernation"][..]), (&new, story.id, &["WaitForHibernation", "TellConnection"])]
    {
        assert_eq!(operation.state, OperationState::Succeeded, "{:?}", operation.fields);
        assert_eq!(OperationKind::of(&operation.process), Some(OperationKind::Hibernate));
        let mut ledger = story.landscape.shared.store.steps(id).await.expect("a ledger");
        ledger.retain(|row| row.stage != "Finished");
        ledger.dedup_by(|one, other| one.stage == other.stage);
        assert_eq!(ledger.iter().map(|row| row.stage.as_str()).collect::<Vec<_>>(), stages);
    }
}
