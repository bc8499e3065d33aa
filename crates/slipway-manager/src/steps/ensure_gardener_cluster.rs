//! The GardenerCluster: the order for a kubeconfig, and what brokers and operators read and annotate.
//!
//! Applied when it is missing or one of our fields differs; it belongs to the Runtime, so it goes with it.

use serde_json::{Value, json};
use slipway_kube::{
    access::{
        Ask,
        resource::{GARDENER_CLUSTERS, RUNTIMES},
    },
    annotations,
    conditions::{Reason, Status, Type},
    gardener_cluster::{SECRET_KEY, secret_name},
    labels,
};

use crate::{
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    ownership,
    pass::Pass,
    runtime::Step,
    settings::FIELD_MANAGER,
};

/// Orders the kubeconfig.
pub(crate) struct EnsureGardenerCluster;

/// Labels that are copied from the Runtime.
const COPIED: [&str; 7] = [
    labels::INSTANCE_ID,
    labels::RUNTIME_ID,
    labels::BROKER_PLAN_ID,
    labels::BROKER_PLAN_NAME,
    labels::GLOBAL_ACCOUNT_ID,
    labels::SUBACCOUNT_ID,
    labels::KYMA_NAME,
];

impl Step for EnsureGardenerCluster {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        order(pass).await
    }
}

/// Orders the kubeconfig, unless that is done.
pub(super) async fn order(pass: &mut Pass) -> Outcome {
    let wanted = document(&pass.seen, &pass.shared.settings.namespace);
    let there = pass.seen.cluster.as_ref().and_then(|cluster| serde_json::to_value(&**cluster).ok());
    if there.is_some_and(|there| ownership::difference(&there, &wanted).is_none()) {
        return Outcome::Done;
    }
    let (namespace, name) = (&pass.shared.settings.namespace, pass.seen.name());
    match pass.shared.kcp.tell(Ask::apply(&GARDENER_CLUSTERS, namespace, name, FIELD_MANAGER, wanted)).await {
        Ok(()) => {
            if pass.seen.cluster.is_none() {
                let text = "Gardener Cluster CR created";
                let (of, reason) = (Type::KubeconfigReady, Reason::GardenerClusterCrCreated);
                pass.report.set(ConditionUpdate::new(of, Status::Unknown, reason, text));
            }
            Outcome::Done
        }
        Err(error) => Outcome::from_error(
            error,
            Type::KubeconfigReady,
            Reason::KubernetesErr,
            "The GardenerCluster cannot be written",
        ),
    }
}

/// What it should be.
pub(crate) fn document(seen: &Observation, namespace: &str) -> Value {
    let (runtime, name) = (&seen.runtime, seen.name());
    let shoot = &runtime.spec.shoot;
    let mut marks: serde_json::Map<String, Value> =
        COPIED.iter().filter_map(|key| Some(((*key).to_owned(), json!(runtime.label(key)?)))).collect();
    for (key, value) in [
        (labels::PLATFORM_REGION, shoot.platform_region.as_str()),
        (labels::REGION, shoot.region.as_str()),
        (labels::SHOOT_NAME, shoot.name.as_str()),
        (labels::MANAGED_BY, labels::MANAGED_BY_US),
        (labels::INTERNAL, "true"),
    ] {
        marks.insert(key.to_owned(), json!(value));
    }
    let domain = seen.shoot.as_ref().and_then(|shoot| shoot.spec.dns.as_ref()?.domain.clone());
    let mut notes = serde_json::Map::new();
    if let Some(domain) = domain {
        notes.insert(annotations::SKR_DOMAIN.to_owned(), json!(domain));
    }
    json!({
        "apiVersion": GARDENER_CLUSTERS.api_version(), "kind": GARDENER_CLUSTERS.kind,
        "metadata": {
            "name": name, "namespace": namespace, "labels": marks, "annotations": notes,
            "ownerReferences": [{
                "apiVersion": RUNTIMES.api_version(), "kind": RUNTIMES.kind, "name": name,
                "uid": runtime.metadata.uid,
            }],
        },
        "spec": {
            "shoot": {"name": shoot.name},
            "kubeconfig": {"secret": {"name": secret_name(name), "namespace": namespace, "key": SECRET_KEY}},
        },
    })
}
