//! A control plane, a garden and a manager between them, in this process.
//!
//! Time is real for the manager unless a test asks for faster time; the garden's runs thousands of times
//! faster, so that a cluster is made in a fraction of a second. Nothing here waits for a time: tests wait for
//! what should come true, and patience only ends a test that has failed anyway.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::SignedDuration;
use kube_sandbox::{
    clock,
    cluster::Place,
    delete::Options as Deletion,
    http::{Seen, Trouble},
};
use serde_json::{Value, json};
use slipway_kube::access::Calls;
use slipway_manager::{
    Manager, Parts, Settings,
    blueprints::Files,
    config::{AuditTenants, ConverterConfig, MaintenanceWindows},
};
use slipway_model::{
    ports::{BoxFuture, Clock, Random},
    time::{Timestamp, secs},
};
pub(crate) use slipway_sim::ground::{NAMESPACE, PROJECT, RUNTIMES, SHOOTS};
use slipway_sim::{
    Ground,
    garden::{self, Pace},
    ground::CONTROL_PLANE,
};

/// Longer than anything takes, even beside other tests on a slow machine.
pub(crate) const PATIENCE: Duration = secs(30);

/// Time of the manager: real, times a factor.
pub(crate) struct Paced {
    start: tokio::time::Instant,
    factor: f64,
}

#[expect(clippy::disallowed_methods, reason = "this is the clock of the tests")]
impl Paced {
    pub(crate) fn new(factor: f64) -> Arc<Self> {
        Arc::new(Self { start: tokio::time::Instant::now(), factor })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock of the tests")]
impl Clock for Paced {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(clock::now().as_microsecond())
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed().mul_f64(self.factor)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration.min(secs(1_000_000)).div_f64(self.factor)))
    }
}

/// Time of the garden.
pub(crate) struct GardenTime(pub(crate) garden::Clock);

impl Clock for GardenTime {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(self.0.now().as_microsecond())
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.now().as_microsecond()).unwrap_or(0))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let until = self.0.now() + SignedDuration::try_from(duration.min(secs(100_000_000))).expect("short enough");
        Box::pin(self.0.until(until))
    }
}

/// Seeded chance.
#[derive(Default)]
pub(crate) struct Seeded(pub(crate) AtomicU64);

impl Random for Seeded {
    fn next_u64(&self) -> u64 {
        let x = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (x >> 31)
    }
}

/// What a test wants to be different.
pub(crate) struct With {
    pub(crate) settings: Settings,
    pub(crate) pace: Pace,
    pub(crate) factor: f64,
    pub(crate) calls: Option<Arc<dyn Calls>>,
    pub(crate) files: fn() -> Files,
}

impl Default for With {
    fn default() -> Self {
        let settings = Settings { audit_log_mandatory: false, ..Settings::default() };
        Self { settings, pace: Pace::Scale(3_000.0), factor: 1.0, calls: None, files }
    }
}

pub(crate) struct World {
    ground: Ground,
    pub(crate) manager: Mutex<Option<Manager>>,
    with: With,
}

impl Deref for World {
    type Target = Ground;

    fn deref(&self) -> &Ground {
        &self.ground
    }
}

/// The definitions of our kinds, as JSON.
pub(crate) fn definitions() -> Vec<Value> {
    slipway_kube::crds::all().iter().map(|definition| serde_json::to_value(definition).expect("JSON")).collect()
}

pub(crate) fn files() -> Files {
    let (config, unknown) =
        ConverterConfig::parse(include_str!("../../../../examples/config/dev/converter_config.json"))
            .expect("a config");
    assert!(unknown.is_empty(), "{unknown:?}");
    let audit = include_str!("../../../../examples/config/dev/audit_tenants.json");
    Files { config, audit: AuditTenants::parse(audit).expect("tenants"), windows: MaintenanceWindows::default() }
}

/// The Runtime of the examples, with another name for everything.
pub(crate) fn runtime(name: &str) -> Value {
    let text = include_str!("../../../../examples/runtime-aws.yaml");
    let mut runtime: Value = serde_saphyr::from_str(text).expect("an example");
    runtime["metadata"]["name"] = json!(name);
    runtime["metadata"]["labels"]["kyma-project.io/runtime-id"] = json!(name);
    runtime["spec"]["shoot"]["name"] = json!(name);
    runtime
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(With::default()).await
    }

    pub(crate) async fn with(with: With) -> Self {
        let world = Self::without_manager(with).await;
        world.begin();
        world
    }

    /// Clusters and garden; the manager comes later.
    pub(crate) async fn without_manager(with: With) -> Self {
        let options = garden::Options { pace: with.pace, ..garden::Options::default() };
        let ground = Ground::start(definitions(), options).await.expect("a control plane and a garden");
        Self { ground, manager: Mutex::new(None), with }
    }

    /// Starts a manager; another one if there was one.
    pub(crate) fn begin(&self) {
        self.begin_with(self.with.calls.clone());
    }

    pub(crate) fn begin_with(&self, calls: Option<Arc<dyn Calls>>) {
        self.begin_whole(self.with.settings.clone(), calls);
    }

    /// Another replica.
    pub(crate) fn begin_as(&self, settings: Settings) {
        self.begin_whole(settings, None);
    }

    fn begin_whole(&self, settings: Settings, calls: Option<Arc<dyn Calls>>) {
        let parts = Parts {
            settings,
            files: (self.with.files)(),
            kcp: self.server.client(CONTROL_PLANE).expect("a client"),
            garden: self.garden.client().expect("a client"),
            clock: Paced::new(self.with.factor),
            garden_time: Arc::new(GardenTime(self.garden.clock().clone())),
            random: Arc::new(Seeded::default()),
            garden_rate: (1_000.0, 1_000),
            garden_timeout: secs(15),
            identity: format!("test-{}", clock::uid()),
            calls,
        };
        *self.manager.lock().expect("lock") = Some(Manager::start(parts));
    }

    /// The manager dies.
    pub(crate) fn kill(&self) {
        *self.manager.lock().expect("lock") = None;
    }

    pub(crate) fn requests(&self, cluster: &str, writes: bool) -> u64 {
        let manager = self.manager.lock().expect("lock");
        let counters = manager.as_ref().expect("a manager").counters();
        counters.sum(|counted| counted.cluster == cluster && counted.verb.is_write() == writes)
    }

    pub(crate) async fn apply(&self, runtime: Value) {
        self.kcp.create(runtime).await.expect("a Runtime");
    }

    pub(crate) async fn edit(&self, name: &str, change: impl FnMut(&mut Value)) {
        let place = Place { group: RUNTIMES, plural: "runtimes", namespace: NAMESPACE, name, subresource: "" };
        self.kcp.update(&place, change).await.expect("an edit");
    }

    pub(crate) async fn edit_cluster(&self, name: &str, change: impl FnMut(&mut Value)) {
        let place = Place { group: RUNTIMES, plural: "gardenerclusters", namespace: NAMESPACE, name, subresource: "" };
        self.kcp.update(&place, change).await.expect("an edit");
    }

    pub(crate) async fn delete(&self, name: &str) {
        let place = Place { group: RUNTIMES, plural: "runtimes", namespace: NAMESPACE, name, subresource: "" };
        self.kcp.delete(&place, &Deletion::default()).await.expect("a deletion");
    }

    pub(crate) fn state(&self, name: &str) -> String {
        let runtime = self.runtime(name).unwrap_or_default();
        runtime["status"]["state"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn condition(&self, name: &str, of: &str) -> Value {
        let runtime = self.runtime(name).unwrap_or_default();
        let all = runtime["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|condition| condition["type"] == of).unwrap_or_default()
    }

    pub(crate) fn message(&self, name: &str, of: &str) -> String {
        self.condition(name, of)["message"].as_str().unwrap_or_default().to_owned()
    }

    /// What was told about it in events.
    pub(crate) fn events(&self, name: &str) -> Vec<String> {
        let all = self.kcp.list("", "events", NAMESPACE);
        let about = all.iter().filter(|event| event["involvedObject"]["name"] == name);
        about.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until it is true.
    pub(crate) async fn until(&self, what: &str, mut is_true: impl FnMut() -> bool) {
        let asking = async {
            while !is_true() {
                clock::sleep(Duration::from_millis(5)).await;
            }
        };
        if clock::within(PATIENCE, asking).await.is_none() {
            panic!("it did not come true that {what}\n{}", self.describe());
        }
    }

    pub(crate) async fn until_state(&self, name: &str, state: &str) {
        self.until(&format!("{name} is {state}"), || self.is_settled(name, state)).await;
    }

    /// In this state, and with its present generation.
    pub(crate) fn is_settled(&self, name: &str, state: &str) -> bool {
        self.runtime(name).is_some_and(|runtime| {
            runtime["status"]["state"] == state
                && runtime["status"]["observedGeneration"] == runtime["metadata"]["generation"]
        })
    }

    pub(crate) async fn until_gone(&self, name: &str) {
        self.until(&format!("{name} is gone"), || self.runtime(name).is_none()).await;
    }

    /// Waits until nothing is queued or worked on.
    pub(crate) async fn until_idle(&self) {
        self.until("the manager is idle", || {
            let manager = self.manager.lock().expect("lock");
            manager.as_ref().expect("a manager").probe().is_idle()
        })
        .await;
    }

    /// Lets requests fail: `choose` says how.
    pub(crate) fn fail(&self, choose: impl Fn(&Seen<'_>) -> Option<Trouble> + Send + Sync + 'static) {
        self.server.set_faults(Some(Arc::new(choose)));
    }

    pub(crate) fn heal(&self) {
        self.server.set_faults(None);
    }

    /// A client of the cluster, by the kubeconfig in its Secret.
    pub(crate) async fn skr(&self, name: &str) -> kube::Client {
        use base64::Engine as _;
        let secret = self.secret(name).expect("a secret");
        let text = secret["data"]["config"].as_str().expect("a kubeconfig");
        let text = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
        slipway_kube::access::from_secret_text(&String::from_utf8(text).expect("text")).await.expect("a client")
    }

    /// The objects inside the cluster, by a request to it.
    pub(crate) async fn inside(&self, name: &str, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        self.skr(name).await.request(request).await.expect("an answer")
    }
}
