//! The GardenerCluster: the order for a kubeconfig, and what brokers and operators read and annotate.
//!
//! Applied when it is missing or one of our fields differs; it belongs to the Runtime, so it goes with it.

use serde_json::{Value, json};
use slipway_kube::{
    GardenerCluster,
    access::{
        Ask, Exactly,
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
    owner, ownership,
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
    let failed = |error| {
        let what = "The GardenerCluster cannot be written";
        Outcome::from_error(error, Type::KubeconfigReady, Reason::KubernetesErr, what)
    };
    let (kcp, namespace, name) = (&pass.shared.kcp, &pass.shared.settings.namespace, pass.seen.name());
    let there = match &pass.seen.cluster {
        Some(there) => Some(there.clone()),
        // The cache may be behind, and what is there may be another's.
        None => match kcp.find::<GardenerCluster>(Ask::get(&GARDENER_CLUSTERS, namespace, name)).await {
            Ok(found) => found.map(std::sync::Arc::new),
            Err(error) => return failed(error),
        },
    };
    if there.as_ref().is_some_and(|there| !owner::is_our_cluster(&there.metadata, &pass.seen.runtime)) {
        let text = format!(
            "GardenerCluster {name} belongs to another Runtime; it is left as it is. Delete it if that Runtime is gone"
        );
        let (of, reason) = (Type::KubeconfigReady, Reason::KubernetesErr);
        return Outcome::Fail { condition: ConditionUpdate::new(of, Status::False, reason, text) };
    }
    let wanted = document(&pass.seen, namespace);
    let as_it_is = there.as_ref().and_then(|cluster| serde_json::to_value(&**cluster).ok());
    if as_it_is.is_some_and(|there| ownership::difference(&there, &wanted).is_none()) {
        return Outcome::Done;
    }
    let mut ask = Ask::apply(&GARDENER_CLUSTERS, namespace, name, FIELD_MANAGER, wanted);
    if let Some(there) = &there {
        ask = ask.only_if(&Exactly::this(&there.metadata));
    }
    match kcp.tell(ask).await {
        Ok(()) => {
            if pass.seen.cluster.is_none() {
                let text = "Gardener Cluster CR created";
                let (of, reason) = (Type::KubeconfigReady, Reason::GardenerClusterCrCreated);
                pass.report.set(ConditionUpdate::new(of, Status::Unknown, reason, text));
            }
            Outcome::Done
        }
        Err(error) => failed(error),
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
