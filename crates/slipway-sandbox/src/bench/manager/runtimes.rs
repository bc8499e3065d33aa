//! Runtimes: new ones, changed ones, and thousands that are finished.
//!
//! Finished ones are copies of one that the manager itself brought to `Ready`: its Runtime, Shoot,
//! GardenerCluster, Secret and the operators' logins, with other names and uids, and with the two hashes
//! recomputed. They share one customer's cluster.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube_sandbox::{
    cluster::{Cluster, Place},
    delete,
};
use serde_json::{Value, json};
use slipway_server::manager::Drafts;
use slipway_sim::ground::{NAMESPACE, PROJECT, RUNTIMES, SHOOTS};

use super::{
    gardener::FINISHED,
    land::{Land, prefix_error},
};

/// The one that all others are copies of. Names have one length, so that copies have one size.
pub(super) const MODEL: &str = "model-00000";

/// The name of a finished one.
pub(super) fn finished(number: usize) -> String {
    format!("ready-{number:05}")
}

/// What somebody asks for.
pub(super) fn wanted(name: &str) -> Value {
    json!({
        "apiVersion": format!("{RUNTIMES}/v1"), "kind": "Runtime",
        "metadata": {
            "name": name, "namespace": NAMESPACE,
            "labels": {
                "kyma-project.io/instance-id": format!("instance-{name}"),
                "kyma-project.io/runtime-id": name,
                "kyma-project.io/region": "eu-central-1",
                "kyma-project.io/platform-region": "cf-eu10",
                "kyma-project.io/provider": "aws",
                "kyma-project.io/shoot-name": name,
                "kyma-project.io/broker-plan-id": "361c511f-f939-4621-b228-d0fb79a1fe15",
                "kyma-project.io/broker-plan-name": "aws",
                "kyma-project.io/global-account-id": "20000000-0000-4000-8000-000000000001",
                "kyma-project.io/subaccount-id": "30000000-0000-4000-8000-000000000001",
                "operator.kyma-project.io/kyma-name": name,
            },
        },
        "spec": {
            "shoot": {
                "name": name, "purpose": "production", "platformRegion": "cf-eu10", "region": "eu-central-1",
                "secretBindingName": "aws", "kubernetes": {"version": "1.34.5"},
                "provider": {
                    "type": "aws",
                    "workers": [{
                        "name": "cpu-worker-0", "machine": {"type": "m6i.large", "image": {"name": "", "version": ""}},
                        "minimum": 3, "maximum": 20, "maxSurge": 3, "maxUnavailable": 0,
                        "volume": {"type": "gp3", "size": "80Gi"},
                        "zones": ["eu-central-1a", "eu-central-1b", "eu-central-1c"],
                    }],
                    "additionalWorkers": [{
                        "name": "builds", "machine": {"type": "m6i.xlarge"}, "minimum": 0, "maximum": 5,
                        "volume": {"type": "gp3", "size": "80Gi"}, "zones": ["eu-central-1a"],
                        "labels": {"purpose": "builds"},
                        "taints": [{"key": "purpose", "value": "builds", "effect": "NoSchedule"}],
                    }],
                },
                "networking": {"type": "calico", "nodes": "10.250.0.0/16", "pods": "10.96.0.0/13", "services": "10.104.0.0/13"},
                "controlPlane": {"highAvailability": {"failureTolerance": {"type": "zone"}}},
            },
            "security": {"administrators": ["admin@example.com"], "networking": {"filter": {"egress": {"enabled": false}}}},
        },
    })
}

/// Asks for a new one.
pub(super) async fn create(land: &Land, name: &str) -> Result<(), String> {
    land.kcp.create(wanted(name)).await.map(drop).map_err(|error| error.to_string())
}

/// Changes one; answers its generation then.
pub(super) async fn change(land: &Land, name: &str, change: impl FnMut(&mut Value)) -> Result<i64, String> {
    let changed = land.kcp.update(&place(name), change).await.map_err(|error| error.to_string())?;
    Ok(changed["metadata"]["generation"].as_i64().unwrap_or_default())
}

/// One more worker at most: the Shoot follows, and what the customer is told.
pub(super) fn grow(runtime: &mut Value) {
    let maximum = &mut runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"];
    *maximum = json!(maximum.as_i64().unwrap_or_default() + 1);
}

/// Deletes one.
pub(super) async fn delete(land: &Land, name: &str) -> Result<(), String> {
    land.kcp.delete(&place(name), &delete::Options::default()).await.map(drop).map_err(|error| error.to_string())
}

fn place(name: &str) -> Place<'_> {
    Place { group: RUNTIMES, plural: "runtimes", namespace: NAMESPACE, name, subresource: "" }
}

/// Writes this many copies of the model, with everything that belongs to them.
pub(super) async fn seed(land: &Land, count: usize) -> Result<(), String> {
    let model = Model::of(land)?;
    let drafts = Drafts::load(&land.configuration).map_err(|error| error.to_string())?;
    stream::iter(0..count)
        .map(|number| model.copy(land, &drafts, finished(number)))
        .buffer_unordered(32)
        .try_for_each(async |()| Ok(()))
        .await
}

/// The five objects.
struct Model {
    runtime: Value,
    logins: Value,
    shoot: Value,
    cluster: Value,
    secret: Value,
}

impl Model {
    fn of(land: &Land) -> Result<Self, String> {
        let of = |cluster: &Cluster, group: &str, plural: &str, namespace: &str, name: &str| {
            cluster.get(group, plural, namespace, name).ok_or_else(|| format!("the model has no {plural}"))
        };
        Ok(Self {
            runtime: of(&land.kcp, RUNTIMES, "runtimes", NAMESPACE, MODEL)?,
            logins: of(&land.garden, "", "configmaps", PROJECT, &format!("structured-auth-config-{MODEL}"))?,
            shoot: of(&land.garden, SHOOTS, "shoots", PROJECT, MODEL)?,
            cluster: of(&land.kcp, RUNTIMES, "gardenerclusters", NAMESPACE, MODEL)?,
            secret: of(&land.kcp, "", "secrets", NAMESPACE, &format!("kubeconfig-{MODEL}"))?,
        })
    }

    async fn copy(&self, land: &Land, drafts: &Drafts, name: String) -> Result<(), String> {
        let runtime = put(&land.kcp, RUNTIMES, "runtimes", renamed(&self.runtime, &name)).await?;
        let draft = drafts.runtime(&runtime)?;
        put(&land.garden, "", "configmaps", renamed(&self.logins, &name)).await?;
        let mut shoot = renamed(&self.shoot, &name);
        // Gardener's own, which nobody may bring along.
        shoot["metadata"]["finalizers"] = json!([]);
        shoot["metadata"]["annotations"][FINISHED] = json!("true");
        shoot["metadata"]["annotations"]["infrastructuremanager.kyma-project.io/input-hash"] =
            json!(draft.input_hash());
        shoot["metadata"]["annotations"]["infrastructuremanager.kyma-project.io/runtime-uid"] =
            runtime["metadata"]["uid"].clone();
        let shoot = put(&land.garden, SHOOTS, "shoots", shoot).await?;
        let mut cluster = renamed(&self.cluster, &name);
        let prepared = draft.prepared_hash(&shoot)?;
        cluster["metadata"]["annotations"]["infrastructuremanager.kyma-project.io/prepared-hash"] = json!(prepared);
        owned(&mut cluster, &runtime);
        let cluster = put(&land.kcp, RUNTIMES, "gardenerclusters", cluster).await?;
        let mut secret = renamed(&self.secret, &name);
        // It was issued for the model; whoever does not say is believed until its time is over.
        if let Some(notes) = secret["metadata"]["annotations"].as_object_mut() {
            notes.remove("operator.kyma-project.io/issued-for");
        }
        owned(&mut secret, &cluster);
        put(&land.kcp, "", "secrets", secret).await.map(drop)
    }
}

fn owned(object: &mut Value, owner: &Value) {
    object["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"].clone();
}

/// The same with another name, and without what the server gives.
fn renamed(object: &Value, name: &str) -> Value {
    let text = object.to_string().replace(MODEL, name);
    // The text of an object, with letters for letters.
    let mut object: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for given in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(given);
        }
    }
    object
}

/// Makes an object with its status, which servers drop at first; answers it as it is then.
async fn put(cluster: &Cluster, group: &str, plural: &str, object: Value) -> Result<Value, String> {
    let wrong = prefix_error(&format!("a copy of the model's {plural} was refused"));
    let (status, text) =
        (object["status"].clone(), |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned());
    let (namespace, name) = (text("namespace"), text("name"));
    let made = cluster.create(object).await.map_err(|error| wrong(&error))?;
    if status.is_null() {
        return Ok(made);
    }
    let generation = made["metadata"]["generation"].clone();
    let place = Place { group, plural, namespace: &namespace, name: &name, subresource: "status" };
    let changed = cluster.update(&place, |there| {
        there["status"] = status.clone();
        if let Some(observed) = there["status"].get_mut("observedGeneration") {
            *observed = generation.clone();
        }
    });
    changed.await.map_err(|error| wrong(&error))
}
