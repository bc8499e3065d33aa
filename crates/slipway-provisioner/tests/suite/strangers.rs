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

/// A request: to which system, how, and where.
type Sent = (&'static str, Method, String);

/// A wire that notes what is sent, and on which a stranger may come in the middle.
struct Watched {
    inner: Arc<dyn Transport>,
    cluster: Cluster,
    name: String,
    theirs: Value,
    comes: Comes,
    has_come: AtomicBool,
    sent: Arc<Mutex<Vec<Sent>>>,
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
                replace(&self.cluster, &self.name, &self.theirs).await;
            }
            self.sent.lock().expect("not poisoned").push((system, method, path));
            self.inner.send(system, request, timeout).await
        })
    }
}

fn place(name: &str) -> Place<'_> {
    Place { group: GROUP, plural: "runtimes", namespace: NAMESPACE, name, subresource: "" }
}

/// Theirs: what ours would be but for whose it is, so that nothing but the mark tells them apart. It has a mark, too:
/// another provisioner's, of another record.
async fn theirs(landscape: &Landscape) -> Value {
    let mut runtime = landscape.object().await;
    runtime["metadata"]["annotations"][MARK] = json!("1");
    runtime["metadata"]["labels"]["kyma-project.io/subaccount-id"] = json!("theirs");
    runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(3);
    runtime
}

/// Puts theirs into the place of ours.
async fn replace(cluster: &Cluster, name: &str, theirs: &Value) {
    let _ = cluster.update(&place(name), |runtime| runtime["metadata"]["finalizers"] = json!([])).await;
    let _ = cluster.delete(&place(name), &delete::Options::default()).await;
    cluster.create(theirs.clone()).await.expect("made");
}

/// Whether theirs is as it was, but for what servers and managers write.
fn is_untouched(cluster: &Cluster, name: &str, theirs: &Value) -> bool {
    let found = cluster.get(GROUP, "runtimes", NAMESPACE, name).unwrap_or_default();
    let kept = |runtime: &Value| {
        let metadata = &runtime["metadata"];
        json!([metadata["labels"], metadata["annotations"], metadata["deletionTimestamp"], runtime["spec"]])
    };
    kept(&found) == kept(theirs)
}

struct Told {
    operation: Operation,
    sent: Vec<Sent>,
}

async fn run(landscape: &Landscape, clock: Arc<dyn Clock>, comes: Comes) -> Told {
    let shared = &landscape.shared;
    let cluster = shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
    let name = shared.id.to_string();
    let id = OperationId::draw(&*clock, &SeededRandom::new(3));
    landscape.accept(&landscape.operation(id, hours(24)));
    landscape.seed().await;
    let theirs = theirs(landscape).await;
    if comes == Comes::First {
        replace(&cluster, &name, &theirs).await;
    }
    let sent = Arc::default();
    let wire = Arc::new(Watched {
        inner: landscape.wire(),
        cluster,
        name,
        theirs,
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
            assert!(is_untouched(&cluster, &name, &theirs(&landscape).await), "{kind:?}");
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
    let mut touched = Vec::new();
    for (kind, word) in [
        (OperationKind::ProvisionNoInstall, "PATCH"),
        (OperationKind::UpgradeShoot, "PATCH"),
        (OperationKind::DeprovisionNoInstall, "DELETE"),
    ] {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
        let landscape = ground.landscape(clock.clone(), kind, By::Reconciler).in_a_hurry();
        let Told { operation, .. } = run(&landscape, clock, Comes::Before(word)).await;
        let cluster = ground.server.cluster(CONTROL_PLANE).expect("a cluster");
        let name = landscape.shared.id.to_string();
        let is_untouched = is_untouched(&cluster, &name, &theirs(&landscape).await);
        if operation.state != OperationState::Failed || !is_untouched {
            touched.push(kind);
        }
    }
    assert_eq!(touched, []);
}
