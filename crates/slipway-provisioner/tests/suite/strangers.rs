//! Runtimes in the control plane that bear the name of a runtime and are not its: whatever an operation is about,
//! it leaves them, what belongs to them and their clusters alone.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response};
use kube_sandbox::{Cluster, Place, delete};
use serde_json::{Value, json};
use slipway_engine::{
    Engine, EngineConfig, Parts,
    simulated::{SeededRandom, SimulatedClock},
};
use slipway_model::{
    Operation, OperationId, OperationState,
    ports::{BoxFuture, Clock, Storage as _, Transport, TransportError},
    time::{hours, mins, secs},
};
use slipway_provisioner::{OperationKind, Systems, jobs::agents::Agents, registry};

use crate::landscape::{By, CONTROL_PLANE, Ground, Landscape, NAMESPACE};

const GROUP: &str = "infrastructuremanager.kyma-project.io";
const MARK: &str = "provisioner.slipway.io/record";

/// When somebody else puts a Runtime of theirs into the place of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// Before anything is done.
    First,
    /// After our last look and before this call is served.
    Before(&'static str),
}

/// A wire that notes what is sent, and on which a stranger may come in the middle.
struct Watched {
    inner: Arc<dyn Transport>,
    cluster: Cluster,
    name: String,
    comes: Comes,
    has_come: AtomicBool,
    sent: Arc<Mutex<Vec<(&'static str, Method, String)>>>,
}

impl Transport for Watched {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (method, path) = (request.method().clone(), request.uri().path().to_owned());
            let is_about_it = path.ends_with(&format!("/runtimes/{}", self.name));
            if let Comes::Before(word) = self.comes
                && method.as_str() == word
                && is_about_it
                && !self.has_come.swap(true, Ordering::Relaxed)
            {
                replace(&self.cluster, &self.name).await;
            }
            self.sent.lock().expect("not poisoned").push((system, method, path));
            self.inner.send(system, request, timeout).await
        })
    }
}

fn place(name: &str) -> Place<'_> {
    Place { group: GROUP, plural: "runtimes", namespace: NAMESPACE, name, subresource: "" }
}

/// Theirs in the place of ours, as one would write it with kubectl. It has what a hurried look would take for a proof:
/// the labels of the same account, and even a word of ours.
async fn replace(cluster: &Cluster, name: &str) {
    let _ = cluster.update(&place(name), |runtime| runtime["metadata"]["finalizers"] = json!([])).await;
    let _ = cluster.delete(&place(name), &delete::Options::default()).await;
    let worker = json!({ "name": "w", "machine": { "type": "m6i.large" }, "minimum": 1, "maximum": 2, "maxSurge": 1,
        "maxUnavailable": 0, "zones": ["eu-central-1a"] });
    let shoot = json!({
        "name": "theirs", "purpose": "production", "platformRegion": "", "region": "eu-central-1", "secretBindingName": "theirs",
        "kubernetes": { "version": "1.33.0" }, "provider": { "type": "aws", "workers": [worker] },
        "networking": { "nodes": "10.250.0.0/16", "pods": "10.96.0.0/13", "services": "10.104.0.0/13" },
    });
    let runtime = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Runtime",
        "metadata": { "name": name, "namespace": NAMESPACE,
            "labels": { "kyma-project.io/global-account-id": "acme", "kyma-project.io/runtime-id": name },
            "annotations": { "provisioner.slipway.io/operation-id": "0190a0a0-0000-7000-8000-000000000001", MARK: "1" } },
        "spec": { "shoot": shoot,
            "security": { "administrators": [], "networking": { "filter": { "egress": { "enabled": false } } } } },
    });
    cluster.create(runtime).await.expect("made");
}

/// What is theirs, but for what servers and managers write.
fn theirs(cluster: &Cluster, name: &str) -> Value {
    let runtime = cluster.get(GROUP, "runtimes", NAMESPACE, name).expect("it is still there");
    let metadata = &runtime["metadata"];
    json!([
        metadata["uid"],
        metadata["labels"],
        metadata["annotations"],
        metadata["deletionTimestamp"],
        runtime["spec"]
    ])
}

struct Told {
    operation: Operation,
    sent: Vec<(&'static str, Method, String)>,
}

async fn run(landscape: &Landscape, clock: Arc<dyn Clock>, comes: Comes) -> Told {
    let shared = &landscape.shared;
    let cluster = shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
    let name = shared.id.to_string();
    let id = OperationId::draw(&*clock, &SeededRandom::new(3));
    landscape.accept(&landscape.operation(id, hours(24)));
    landscape.seed().await;
    if comes == Comes::First {
        replace(&cluster, &name).await;
    }
    let sent = Arc::default();
    let wire = Arc::new(Watched {
        inner: landscape.wire(),
        cluster,
        name,
        comes,
        has_come: AtomicBool::new(false),
        sent: Arc::clone(&sent),
    });
    let systems = Arc::new(landscape.systems(wire));
    let engine = Engine::start(Parts {
        store: shared.store.clone(),
        registry: registry().expect("all tables are right"),
        systems: systems.clone(),
        clock: clock.clone(),
        random: Arc::new(SeededRandom::new(5)),
        config: EngineConfig::default(),
    });
    let operation = loop {
        let operation = shared.store.operation(id).await.expect("stored");
        if operation.state.is_finished() {
            break operation;
        }
        clock.sleep(secs(1)).await;
    };
    let random = Arc::new(SeededRandom::new(1));
    let agents = Agents { systems, clock, random, stale_after: mins(15), metrics: Arc::default() };
    agents.round().await;
    drop(engine);
    let sent = sent.lock().expect("not poisoned").clone();
    Told { operation, sent }
}

#[tokio::test(start_paused = true)]
async fn no_operation_touches_enters_or_removes_a_runtime_that_is_not_its_own() {
    let ground = Ground::new().await;
    for by in [By::Reconciler, By::LifecycleManager] {
        for kind in OperationKind::all() {
            let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
            let landscape = ground.landscape(clock.clone(), kind, by).in_a_hurry();
            let name = landscape.shared.id.to_string();
            let cluster = ground.server.cluster(CONTROL_PLANE).expect("a cluster");
            let Told { operation, sent } = run(&landscape, clock, Comes::First).await;
            let error = operation.fields.last_error.as_ref().unwrap_or_else(|| panic!("{kind:?} was done"));
            assert_eq!(
                (operation.state, error.reason.as_str()),
                (OperationState::Failed, "err_tenant_mismatch"),
                "{kind:?}"
            );
            assert!(error.message.contains("was not made for this runtime"), "{}", error.message);
            assert_eq!(theirs(&cluster, &name)[2][MARK], "1", "{kind:?}");
            for (system, method, path) in &sent {
                assert_ne!(*system, Systems::CLUSTER, "{kind:?} entered their cluster: {method} {path}");
                assert!(*system == "director" || method == Method::GET, "{kind:?} by {by:?}: {system} {method} {path}");
                assert!(!path.contains("/secrets/"), "{kind:?} read their kubeconfig: {path}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_comes_between_the_look_and_the_write_stays_as_it_is() {
    let ground = Ground::new().await;
    for (kind, word) in [
        (OperationKind::ProvisionNoInstall, "PATCH"),
        (OperationKind::UpgradeShoot, "PATCH"),
        (OperationKind::DeprovisionNoInstall, "DELETE"),
    ] {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
        let landscape = ground.landscape(clock.clone(), kind, By::Reconciler).in_a_hurry();
        let Told { operation, .. } = run(&landscape, clock, Comes::Before(word)).await;
        assert_eq!(operation.state, OperationState::Failed, "{kind:?}");
        let cluster = ground.server.cluster(CONTROL_PLANE).expect("a cluster");
        let left = theirs(&cluster, &landscape.shared.id.to_string());
        assert_eq!(
            (&left[2][MARK], &left[3], &left[4]["shoot"]["name"]),
            (&json!("1"), &Value::Null, &json!("theirs"))
        );
    }
}
