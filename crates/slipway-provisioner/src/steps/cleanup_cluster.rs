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
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::access::{
    Access, Ask, Class, Error, Exactly, Resource,
    resource::{CLUSTER_SERVICE_BROKERS, CLUSTER_SERVICE_CLASSES, SERVICE_INSTANCES},
};
use slipway_model::{Component, time::secs};

use super::{Problem, record, runtime_id};
use crate::{
    domain::{Kubeconfig, Provisioner, wait_key},
    ownership::OwnRuntime,
    reach, resource,
};

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
        match fetch(ctx).await {
            Ok(Some(kubeconfig)) => ctx.memory().put(kubeconfig),
            Ok(None) => return ctx.done(),
            Err(problem) => return problem.pass_over(ctx),
        }
        let Ok(id) = runtime_id(ctx) else { return ctx.skip("this is not the instance of a runtime") };
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
            Err(error) => Problem::from(error).pass_over(ctx),
        }
    }
}

/// The kubeconfig; none if there is none, or the cluster sleeps.
async fn fetch(ctx: &mut StepCtx<Provisioner>) -> Result<Option<Kubeconfig>, Problem> {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let is_awake =
        |runtime: &OwnRuntime| runtime.status.as_ref().is_none_or(|status| status.facts.hibernated != Some(true));
    match resource::look(&systems, &record).await?.filter(is_awake) {
        Some(runtime) => resource::kubeconfig(&systems, &runtime).await,
        None => Ok(None),
    }
}

/// One round; answers how many instances are left.
async fn clean(api: &Access, prefix: &str, force: bool) -> Result<usize, Error> {
    let list = async |resource: &'static Resource| match api.list::<Value>(Ask::list(resource, "")).await {
        Err(error) if error.class == Class::NoKind => Ok(Vec::new()),
        listed => listed,
    };
    let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let brokers: BTreeSet<String> = list(&CLUSTER_SERVICE_BROKERS)
        .await?
        .iter()
        .filter(|broker| text(broker, "/spec/url").starts_with(prefix))
        .map(|broker| text(broker, "/metadata/name"))
        .collect();
    if brokers.is_empty() {
        return Ok(0);
    }
    let classes: BTreeSet<String> = list(&CLUSTER_SERVICE_CLASSES)
        .await?
        .iter()
        .filter(|class| brokers.contains(&text(class, "/spec/clusterServiceBrokerName")))
        .map(|class| text(class, "/metadata/name"))
        .collect();
    let instances = list(&SERVICE_INSTANCES).await?;
    let ours: Vec<&Value> = instances
        .iter()
        .filter(|instance| classes.contains(&text(instance, "/spec/clusterServiceClassRef/name")))
        .collect();
    for instance in &ours {
        let (namespace, name) = (text(instance, "/metadata/namespace"), text(instance, "/metadata/name"));
        let is_going = instance.pointer("/metadata/deletionTimestamp").is_some();
        let only = Exactly::of(instance);
        let done = match (is_going, force) {
            (false, _) => api.tell(Ask::delete(&SERVICE_INSTANCES, &namespace, &name, &only)).await,
            (true, false) => Ok(()),
            (true, true) => {
                let without = json!({ "metadata": { "finalizers": null } });
                api.tell(Ask::merge(&SERVICE_INSTANCES, &namespace, &name, &only, without)).await
            }
        };
        match done {
            Err(error) if error.is_not_found() => {}
            done => done?,
        }
    }
    Ok(ours.len())
}
