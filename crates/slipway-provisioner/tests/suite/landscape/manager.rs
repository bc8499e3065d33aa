//! Stand-ins for the infrastructure manager and the Lifecycle Manager: they see what changed a moment
//! later, need their time for it, and say so in the status.

use std::sync::{Arc, atomic::Ordering};

use kube_sandbox::{Place, delete};
use serde_json::{Value, json};
use slipway_kube::{
    access::{
        Ask,
        resource::{CLUSTER_ROLE_BINDINGS, KYMAS},
    },
    gardener_cluster,
};
use slipway_model::time::secs;

use super::{CONTROL_PLANE, NAMESPACE, SHOOT, Shared, seed};

const GROUP: &str = "infrastructuremanager.kyma-project.io";
const FINALIZER: &str = "runtime-controller.infrastructure-manager.kyma-project.io/deletion-hook";

/// Works for its runtime until it is dropped.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut due = None;
    while shared.is_latest() {
        shared.clock.sleep(secs(2)).await;
        let now = shared.clock.monotonic();
        let Some(work) = pending(&shared) else {
            due = None;
            continue;
        };
        match due {
            None => {
                if work == Work::Runtime {
                    begin(&shared).await;
                }
                due = Some(now + secs(shared.work_seconds.load(Ordering::Relaxed).into()));
            }
            Some(at) if now >= at => {
                match work {
                    Work::Runtime => settle(&shared, false).await,
                    Work::Deletion => remove(&shared).await,
                    Work::Kyma => ready(&shared).await,
                }
                due = None;
            }
            Some(_) => {}
        }
    }
}

#[derive(PartialEq)]
enum Work {
    Runtime,
    Deletion,
    Kyma,
}

fn runtime(shared: &Shared) -> Option<Value> {
    shared.ground.server.cluster(CONTROL_PLANE)?.get(GROUP, "runtimes", NAMESPACE, &shared.id.to_string())
}

fn pending(shared: &Shared) -> Option<Work> {
    if let Some(runtime) = runtime(shared) {
        if runtime["metadata"]["deletionTimestamp"].is_string() {
            return Some(Work::Deletion);
        }
        if runtime["status"]["observedGeneration"] != runtime["metadata"]["generation"] {
            return Some(Work::Runtime);
        }
    }
    let cluster = shared.ground.server.cluster(CONTROL_PLANE)?;
    let kyma = cluster.get(KYMAS.group, KYMAS.plural, NAMESPACE, &shared.id.to_string())?;
    (kyma["status"]["observedGeneration"] != kyma["metadata"]["generation"]).then_some(Work::Kyma)
}

async fn status(shared: &Shared, group: &str, plural: &str, change: impl Fn(&mut Value)) {
    let cluster = shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
    let name = shared.id.to_string();
    let place = Place { group, plural, namespace: NAMESPACE, name: &name, subresource: "status" };
    cluster.update(&place, change).await.expect("the status can be written");
}

/// It is seen: there is a finalizer, a domain, and work to do.
async fn begin(shared: &Shared) {
    let cluster = shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
    let name = shared.id.to_string();
    let place = Place { group: GROUP, plural: "runtimes", namespace: NAMESPACE, name: &name, subresource: "" };
    cluster.update(&place, |runtime| runtime["metadata"]["finalizers"] = json!([FINALIZER])).await.expect("changed");
    status(shared, GROUP, "runtimes", |runtime| {
        runtime["status"]["state"] = json!("Pending");
        runtime["status"]["domain"] = json!("c-1.example.com");
    })
    .await;
}

/// It is done.
pub(super) async fn settle(shared: &Shared, at_once: bool) {
    if at_once {
        begin(shared).await;
    }
    seed::kubeconfig(shared, &shared.api(CONTROL_PLANE)).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "administrator0" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann@example.com" }],
    });
    let ask = Ask::apply(&CLUSTER_ROLE_BINDINGS, "", "administrator0", "manager", binding);
    shared.api(SHOOT).tell(ask).await.expect("applied");
    status(shared, GROUP, "runtimes", |runtime| {
        let shoot = &runtime["spec"]["shoot"];
        let (sleeps, version) =
            (shoot["hibernation"]["enabled"] == json!(true), shoot["kubernetes"]["version"].clone());
        let generation = runtime["metadata"]["generation"].clone();
        let status = &mut runtime["status"];
        status["state"] = json!("Ready");
        status["observedGeneration"] = generation;
        status["seedName"] = json!("seed-1");
        status["kubernetesVersion"] = version;
        status["hibernated"] = json!(sleeps);
        status["hibernationPossible"] = json!(true);
        if let Some(Value::Object(verdict)) = shared.verdict.lock().expect("not poisoned").clone() {
            verdict.into_iter().for_each(|(key, value)| status[key] = value);
        }
    })
    .await;
}

async fn remove(shared: &Shared) {
    let cluster = shared.ground.server.cluster(CONTROL_PLANE).expect("a cluster");
    let (name, secret) = (shared.id.to_string(), gardener_cluster::secret_name(&shared.id.to_string()));
    let place = Place { plural: "secrets", namespace: NAMESPACE, name: &secret, ..Place::default() };
    let _ = cluster.delete(&place, &delete::Options::default()).await;
    let place = Place { group: GROUP, plural: "runtimes", namespace: NAMESPACE, name: &name, subresource: "" };
    let _ = cluster.update(&place, |runtime| runtime["metadata"]["finalizers"] = json!([])).await;
}

async fn ready(shared: &Shared) {
    status(shared, KYMAS.group, KYMAS.plural, |kyma| {
        let generation = kyma["metadata"]["generation"].clone();
        kyma["status"] = json!({ "state": "Ready", "observedGeneration": generation });
    })
    .await;
}
