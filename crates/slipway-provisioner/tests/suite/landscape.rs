//! A landscape for the processes: the control plane and one customer's cluster on the embedded Kubernetes
//! API, the outside systems as simulators, a stand-in for the infrastructure manager, and agents.
//!
//! One server serves all landscapes of a test, one after the other: each has a runtime of its own.

mod manager;
mod seed;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response};
use jiff::Timestamp as Instant;
use kube_sandbox::{Server, Settings};
use serde_json::Value;
use slipway_clients::{
    ConnectionSettings, Connections, Credentials, SYSTEMS, SettingsBySystem, director, oauth::ClientCredentials,
    reconciler,
};
use slipway_engine::simulated::SimulatedWire;
use slipway_kube::{
    access::{Access, ClientTransport, Options},
    crds,
};
use slipway_model::{
    NewOperation, OperationId,
    ports::{Clock, Transport},
    runtime_record::RuntimeId,
    time::{hours, mins, secs},
};
use slipway_provisioner::{Deadlines, Installer, OperationKind, Systems, domain::Connect};
pub(crate) use slipway_sim::ground::{CONTROL_PLANE, NAMESPACE};
use slipway_sim::{agent::Agents, ground::control_plane, systems::reconciler::Pace};
use slipway_store::MemoryStore;
use tokio::{sync::OnceCell, task::JoinHandle};

use seed::TENANT;

/// The customer's cluster.
pub(crate) const SHOOT: &str = "shoot--p--c";

/// The definitions of our kinds, as JSON.
pub(crate) fn definitions() -> Vec<Value> {
    crds::all().iter().map(|definition| serde_json::to_value(definition).expect("JSON")).collect()
}

/// Who installs Kyma.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Reconciler,
    LifecycleManager,
}

/// What all landscapes of a test share.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) server: Server,
    count: Arc<AtomicU32>,
}

impl Ground {
    pub(crate) async fn new() -> Self {
        let server = Server::start(Settings::default()).await.expect("a server");
        let mut kinds = definitions();
        kinds.push(seed::kyma_definition());
        control_plane(&server, kinds).await.expect("a control plane");
        server.add_cluster(SHOOT).await.expect("a cluster");
        Self { server, count: Arc::default() }
    }

    /// A landscape with a runtime of its own.
    pub(crate) fn landscape(&self, clock: Arc<dyn Clock>, kind: OperationKind, by: By) -> Landscape {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let id: RuntimeId = format!("6f1de04b-4b5a-4a1c-8b0a-{number:012x}").parse().expect("an id");
        let sim = slipway_sim::Systems::default();
        sim.director.adopt(&id.to_string(), TENANT, "shop", serde_json::json!({ "broker_instance_id": "i-1" }));
        let now = {
            let clock = clock.clone();
            move || Instant::from_microsecond(clock.wall().as_micros()).expect("a time")
        };
        let agents = Agents::new(sim.director.clone(), now);
        let shared = Arc::new(Shared {
            number,
            id,
            kind,
            by,
            sim,
            store: Arc::new(MemoryStore::new(clock.clone())),
            ground: self.clone(),
            clock,
            verdict: Mutex::new(None),
            work_seconds: AtomicU32::new(60),
            lacks_kyma: AtomicBool::new(false),
            agent_sleeps: AtomicBool::new(false),
            seeded: OnceCell::new(),
        });
        let keepers = vec![
            tokio::spawn(manager::run(shared.clone())),
            tokio::spawn({
                let shared = shared.clone();
                async move {
                    let cluster = shared.ground.server.cluster(SHOOT).expect("a cluster");
                    while shared.is_latest() {
                        shared.clock.sleep(secs(5)).await;
                        if shared.seeded.initialized() && !shared.agent_sleeps.load(Ordering::Relaxed) {
                            agents.attend(&cluster).await.expect("an agent can write");
                        }
                    }
                }
            }),
        ];
        Landscape { shared, keepers, deadlines: Deadlines::default() }
    }
}

/// What its tasks share.
pub(crate) struct Shared {
    number: u32,
    pub(crate) id: RuntimeId,
    pub(crate) kind: OperationKind,
    pub(crate) by: By,
    pub(crate) sim: slipway_sim::Systems,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) ground: Ground,
    pub(crate) clock: Arc<dyn Clock>,
    /// What the manager says instead of `Ready`, if it shall say something else.
    pub(crate) verdict: Mutex<Option<Value>>,
    /// How long the managers need for anything.
    work_seconds: AtomicU32,
    /// Kyma was never installed.
    pub(crate) lacks_kyma: AtomicBool,
    /// The agent gets no chance to connect.
    pub(crate) agent_sleeps: AtomicBool,
    seeded: OnceCell<()>,
}

impl Shared {
    /// Whether no landscape was made after this one. One that is only kept to be compared must not play on:
    /// its agent would take the next one's tokens to its own Director.
    fn is_latest(&self) -> bool {
        self.ground.count.load(Ordering::Relaxed) == self.number + 1
    }

    fn api(&self, cluster: &str) -> Access {
        let client = self.ground.server.client(cluster).expect("a cluster");
        Access::new(client, Options::new("seed", self.clock.clone()))
    }

    async fn exchange(&self, system: &'static str, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        self.seeded.get_or_init(|| seed::seed(self)).await;
        let cluster = match system {
            Systems::CONTROL_PLANE => CONTROL_PLANE,
            Systems::CLUSTER => SHOOT,
            _ => return self.sim.exchange(system, request).await.map_err(|broken| broken.to_string()),
        };
        let client = self.ground.server.client(cluster).map_err(|error| error.to_string())?;
        let wire = ClientTransport::new(client, self.clock.clone());
        wire.send(system, request, hours(1)).await.map_err(|error| error.to_string())
    }
}

/// The landscape.
pub(crate) struct Landscape {
    pub(crate) shared: Arc<Shared>,
    keepers: Vec<JoinHandle<()>>,
    deadlines: Deadlines,
}

impl Drop for Landscape {
    fn drop(&mut self) {
        self.keepers.iter().for_each(JoinHandle::abort);
    }
}

impl Landscape {
    /// Everybody is quicker and waits less: for tests of hundreds of runs, each with its own hours.
    pub(crate) fn in_a_hurry(mut self) -> Self {
        let short = mins(5);
        self.deadlines = Deadlines {
            runtime_resource: short,
            cluster_domain: short,
            cluster_creation: short,
            bindings: short,
            installation_trigger: short,
            installation: short,
            upgrade_record: short,
            shoot_refresh: short,
            shoot_upgrade: short,
            agent_configuration: short,
            agent_connection: short,
            cluster_cleanup: short,
            uninstall_trigger: short,
            cluster_deletion_trigger: short,
            cluster_deletion: short,
            hibernation: short,
        };
        self.shared.sim.reconciler.set_pace(Pace { pending: secs(5), reconciling: secs(30) });
        self.shared.work_seconds.store(12, Ordering::Relaxed);
        self
    }

    pub(crate) fn wire(&self) -> Arc<dyn Transport> {
        let shared = self.shared.clone();
        Arc::new(SimulatedWire::new(self.shared.clock.clone(), move |system, request| {
            let shared = shared.clone();
            Box::pin(async move { shared.exchange(system, request).await })
        }))
    }

    pub(crate) fn systems(&self, wire: Arc<dyn Transport>) -> Systems {
        let Shared { sim, store, clock, by, .. } = &*self.shared;
        let (client_id, secret) = sim.director.client();
        let credentials = Credentials::Client(ClientCredentials {
            url: "http://director/oauth2/token".parse().expect("address"),
            client_id,
            client_secret: secret.into(),
        });
        let at = |url: &str| url.parse().expect("address");
        let settings = SettingsBySystem::from([
            ConnectionSettings::of::<director::Client>(at("http://director/graphql"), credentials),
            ConnectionSettings::of::<reconciler::Client>(at("http://reconciler"), Credentials::None),
        ]);
        let outside = Connections::new(SYSTEMS, &settings, &wire, clock);
        let connect: Connect = {
            let options = Systems::access_options(Systems::CLUSTER, clock.clone());
            let cluster = Access::over(wire.clone(), "http://shoot", options);
            Arc::new(move |_| Box::pin(std::future::ready(Ok(cluster.clone()))))
        };
        Systems {
            runtimes: store.clone(),
            control_plane: Access::over(
                wire,
                "http://kcp",
                Systems::access_options(Systems::CONTROL_PLANE, clock.clone()),
            ),
            namespace: NAMESPACE.to_owned(),
            connect,
            director: Some(Arc::new(outside.client::<director::Client>())),
            installer: match by {
                By::Reconciler => Installer::Reconciler(outside.client()),
                By::LifecycleManager => Installer::LifecycleManager { channel: "regular".to_owned() },
            },
            has_agent: true,
            cleanup_prefix: "https://service-manager.".to_owned(),
            deadlines: self.deadlines,
        }
    }

    /// The world as earlier operations left it; else it comes about with the first call.
    pub(crate) async fn seed(&self) {
        self.shared.seeded.get_or_init(|| seed::seed(&self.shared)).await;
    }

    /// The Runtime as an earlier operation would have written it.
    pub(crate) async fn object(&self) -> Value {
        seed::object(&self.shared).await
    }

    /// Stores the request; what is accepted here is what the engine finds.
    pub(crate) fn accept(&self, new: &NewOperation) {
        seed::accept(&self.shared, new).now_or_never().expect("memory does not wait");
    }

    pub(crate) fn operation(&self, id: OperationId, budget: std::time::Duration) -> NewOperation {
        let kind = self.shared.kind;
        NewOperation {
            id,
            instance_id: self.shared.id.instance(),
            kind: kind.engine_type(),
            temporary: false,
            plan: "provisioner".to_owned(),
            process: crate::newest(kind),
            budget,
            data: seed::begin(kind),
            secrets: None,
            by: "test".to_owned(),
        }
    }
}
