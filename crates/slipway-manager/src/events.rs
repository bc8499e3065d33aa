//! Events: what happened, once, for people who ask with `kubectl describe`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde_json::{Value, json};
use slipway_kube::access::{Ask, Resource, resource::EVENTS};

use crate::{shared::Shared, status::to_kubernetes};

/// Tells of every condition that changed. Best effort: an event that is lost is no loss of truth, the conditions have it.
pub(crate) async fn emit(
    shared: &Shared,
    resource: &Resource,
    about: &ObjectMeta,
    changed: &[&Condition],
    source: &str,
) {
    for condition in changed {
        let event = build(shared, resource, about, condition, source);
        let namespace = about.namespace.as_deref().unwrap_or_default();
        if let Err(error) = shared.kcp.tell(Ask::create(&EVENTS, namespace, event)).await {
            tracing::debug!(%error, "an event could not be written");
        }
    }
}

fn build(shared: &Shared, resource: &Resource, about: &ObjectMeta, condition: &Condition, source: &str) -> Value {
    let (name, namespace) = (about.name.clone().unwrap_or_default(), about.namespace.clone().unwrap_or_default());
    let kind = if condition.status == "False" { "Warning" } else { "Normal" };
    let now = to_kubernetes(shared.clock.wall());
    json!({
        "apiVersion": EVENTS.api_version(), "kind": EVENTS.kind,
        "metadata": {"name": format!("{name}.{:016x}", shared.random.next_u64()), "namespace": namespace},
        "involvedObject": {
            "apiVersion": resource.api_version(), "kind": resource.kind, "name": name, "namespace": namespace,
            "uid": about.uid, "resourceVersion": about.resource_version,
        },
        "type": kind, "reason": condition.reason, "message": condition.message, "count": 1,
        "firstTimestamp": now, "lastTimestamp": now, "source": {"component": source},
    })
}
