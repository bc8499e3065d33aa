//! Removes services of outside brokers from the cluster before it goes.
//!
//! **Why here:** first: a service instance that is only forgotten with its cluster goes on costing money
//! outside. Only brokers whose address begins as configured are looked at.
//!
//! **Why a repeat does no harm:** what is gone is not asked for again.
//!
//! **When we give up:** what cannot be entered is not held up: without a kubeconfig, asleep, or broken for
//! five minutes, the step is passed over. What is left after ten minutes loses its finalizers, and after
//! twenty minutes the cluster goes anyway.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use slipway_clients::chain;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::{
    gardener_cluster,
    wire::{Api, Error, Kind},
};
use slipway_model::{Component, time::secs};

use super::runtime_id;
use crate::{
    domain::{Kubeconfig, Provisioner, wait_key},
    reach,
};

const GROUP: &str = "servicecatalog.k8s.io";
const BROKER: Kind = Kind { group: GROUP, version: "v1beta1", plural: "clusterservicebrokers", namespaced: false };
const CLASS: Kind = Kind { group: GROUP, version: "v1beta1", plural: "clusterserviceclasses", namespaced: false };
const INSTANCE: Kind = Kind { group: GROUP, version: "v1beta1", plural: "serviceinstances", namespaced: true };

/// See the [module](self).
pub struct CleanupCluster;

impl Step<Provisioner> for CleanupCluster {
    fn name(&self) -> &'static str {
        "Cleanup_Cluster"
    }

    fn component(&self) -> Component {
        Component::ClusterK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_cleanup;
        let Ok(id) = runtime_id(ctx) else { return ctx.skip("this is not the instance of a runtime") };
        match fetch(ctx, &gardener_cluster::secret_name(&id.to_string())).await {
            Ok(true) => {}
            Ok(false) => return ctx.done(),
            Err(error) if error.is_temporary() => {
                return ctx.retry_without_fail(chain(&error), error.pause_or(secs(10)));
            }
            Err(error) => return ctx.skip(chain(&error)),
        }
        let Ok(api) = reach::cluster(ctx).await else { return ctx.skip("the kubeconfig is of no use") };
        let force = ctx.running_for() >= deadline / 2;
        match clean(&api, &ctx.systems().cleanup_prefix, force).await {
            Ok(0) => ctx.done(),
            Ok(left) if ctx.running_for() < deadline => {
                let sentence = format!("waiting for {left} service instances to go");
                ctx.describe(sentence.clone());
                ctx.wait(Some(wait_key(id)), secs(20), sentence)
            }
            Ok(left) => ctx.skip(format!("{left} service instances are left")),
            Err(error) if error.is_temporary() => ctx.retry_without_fail(chain(&error), error.pause_or(secs(10))),
            Err(error) => ctx.skip(chain(&error)),
        }
    }
}

/// The kubeconfig; false if there is none, or the cluster sleeps.
async fn fetch(ctx: &mut StepCtx<Provisioner>, name: &str) -> Result<bool, Error> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let systems = ctx.systems();
    let id = name.trim_start_matches("kubeconfig-");
    match systems.control_plane.get(&Kind::RUNTIME, &systems.namespace, id).await {
        Ok(runtime) if runtime["status"]["hibernated"] == json!(true) => return Ok(false),
        Ok(_) => {}
        Err(Error::NotFound) => return Ok(false),
        Err(error) => return Err(error),
    }
    let secret = match systems.control_plane.get(&Kind::SECRET, &systems.namespace, name).await {
        Ok(secret) => secret,
        Err(Error::NotFound) => return Ok(false),
        Err(error) => return Err(error),
    };
    let text = secret["data"][gardener_cluster::SECRET_KEY].as_str().and_then(|text| STANDARD.decode(text).ok());
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else { return Ok(false) };
    ctx.memory().put(Kubeconfig::new(text.into()));
    Ok(true)
}

/// One round; answers how many instances are left.
async fn clean(api: &Api, prefix: &str, force: bool) -> Result<usize, Error> {
    let listed = |answer: Result<Vec<Value>, Error>| match answer {
        Ok(all) => Ok(all),
        Err(Error::NoKind) => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let brokers: BTreeSet<String> = listed(api.list(&BROKER, "").await)?
        .iter()
        .filter(|broker| text(broker, "/spec/url").starts_with(prefix))
        .map(|broker| text(broker, "/metadata/name"))
        .collect();
    if brokers.is_empty() {
        return Ok(0);
    }
    let classes: BTreeSet<String> = listed(api.list(&CLASS, "").await)?
        .iter()
        .filter(|class| brokers.contains(&text(class, "/spec/clusterServiceBrokerName")))
        .map(|class| text(class, "/metadata/name"))
        .collect();
    let instances = listed(api.list(&INSTANCE, "").await)?;
    let ours: Vec<&Value> = instances
        .iter()
        .filter(|instance| classes.contains(&text(instance, "/spec/clusterServiceClassRef/name")))
        .collect();
    for instance in &ours {
        let (namespace, name) = (text(instance, "/metadata/namespace"), text(instance, "/metadata/name"));
        let is_going = instance.pointer("/metadata/deletionTimestamp").is_some();
        let done = match (is_going, force) {
            (false, _) => api.delete(&INSTANCE, &namespace, &name).await,
            (true, false) => Ok(()),
            (true, true) => {
                let without = json!({ "metadata": { "finalizers": null } });
                api.merge(&INSTANCE, &namespace, &name, &without).await.map(drop)
            }
        };
        match done {
            Ok(()) | Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ours.len())
}
