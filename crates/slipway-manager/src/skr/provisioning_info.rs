//! What customers are told about their cluster, in one ConfigMap inside it.

use serde_json::{Map, Value, json};
use slipway_kube::{
    Runtime, Shoot,
    access::{
        Access, Ask, Error,
        resource::{CONFIG_MAPS, SEEDS},
    },
    labels,
    runtime::Worker,
};

use super::{MANAGER, namespace::KYMA_SYSTEM};
use crate::{seeds::Seed, shared::Shared};

pub(super) const NAME: &str = "kyma-provisioning-info";

/// Where the control plane is, as far as we may know: whoever may not read Seeds goes without. A process that has
/// just started may not have seen them yet, and nobody writes this again for their sake: it asks for the one, and
/// an answer that says nothing is an error like any other.
pub(super) async fn find_seed_region(shared: &Shared, shoot: Option<&Shoot>) -> Result<Option<String>, Error> {
    let named =
        |shoot: &Shoot| shoot.status.as_ref().and_then(|it| it.seed_name.clone()).or(shoot.spec.seed_name.clone());
    let Some(seed) = shoot.and_then(named) else { return Ok(None) };
    let region = match shared.caches.seeds.get(&seed) {
        Some(seed) => Some(seed.spec.provider.region.clone()),
        None if shared.caches.seeds.is_synced() => None,
        None => match shared.garden.find::<Seed>(Ask::get(&SEEDS, "", &seed)).await {
            Err(error) if error.is_forbidden() => None,
            found => found?.map(|seed| seed.spec.provider.region),
        },
    };
    Ok(region.filter(|region| !region.is_empty()))
}

fn describe_pool(worker: &Worker) -> Value {
    let zones = worker.zones.len();
    json!({
        "name": worker.name, "machineType": worker.machine.machine_type, "haZones": zones >= 3 && zones % 2 == 1,
        "autoScalerMin": worker.minimum, "autoScalerMax": worker.maximum,
    })
}

/// All of it; empty members are left out, but for pools and networks. Without times where the hash is made of it.
pub(super) fn build_details(
    runtime: &Runtime,
    shoot: Option<&Shoot>,
    seed_region: Option<String>,
    with_times: bool,
) -> Value {
    let spec = &runtime.spec.shoot;
    let mut pools = Map::new();
    if let Some(main) = spec.provider.workers.first() {
        pools.insert("kyma".to_owned(), describe_pool(main));
    }
    if !spec.provider.additional_workers.is_empty() {
        let custom: Vec<Value> = spec.provider.additional_workers.iter().map(describe_pool).collect();
        pools.insert("custom".to_owned(), json!(custom));
    }
    let operation = shoot.and_then(|shoot| shoot.status.as_ref()?.last_operation.as_ref());
    let updated = operation.and_then(|operation| operation.last_update_time.as_ref()).filter(|_| with_times);
    let families =
        shoot.and_then(|shoot| shoot.spec.networking.as_ref()).map(|networking| networking.ip_families.as_slice());
    let families = families.unwrap_or_default();
    let has = |family: &str| families.iter().any(|other| other == family);
    let mut networks = json!({"dualStackIPEnabled": families.len() == 2 && has("IPv4") && has("IPv6")});
    if spec.provider.provider_type.cloud().has_acl {
        let acl = spec.kubernetes.kube_api_server.as_ref().and_then(|server| server.acl.as_ref());
        if let Some(acl) = acl.filter(|acl| !acl.allowed_cidrs.is_empty()) {
            networks["kubeAPIServer"] = json!({"acl": acl.allowed_cidrs});
        }
    }
    let instance = runtime.label(labels::INSTANCE_ID);
    let infrastructure = shoot.and_then(|shoot| shoot.spec.provider.infrastructure_config.clone());
    let mut details =
        Map::from_iter([("workerPools".to_owned(), Value::Object(pools)), ("networkDetails".to_owned(), networks)]);
    for (key, value) in [
        ("globalAccountID", json!(runtime.label(labels::GLOBAL_ACCOUNT_ID))),
        ("subaccountID", json!(runtime.label(labels::SUBACCOUNT_ID))),
        ("environmentInstanceID", json!(instance)),
        ("instanceID", json!(instance)),
        ("instanceName", json!(runtime.label(labels::KYMA_NAME))),
        ("runtimeID", json!(runtime.label(labels::RUNTIME_ID))),
        ("lastReconcileTime", json!(updated)),
        ("region", json!(spec.region)),
        ("platformRegion", json!(spec.platform_region)),
        ("seedRegion", json!(seed_region)),
        ("infrastructureConfig", json!(infrastructure)),
    ] {
        let is_empty = value.is_null() || value.as_str().is_some_and(str::is_empty);
        if !is_empty {
            details.insert(key.to_owned(), value);
        }
    }
    Value::Object(details)
}

pub(super) async fn write(skr: &Access, text: &str) -> Result<(), Error> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": KYMA_SYSTEM,
            "labels": {labels::RECONCILER_MANAGED_BY: labels::MANAGED_BY_US}},
        "data": {"details": text},
    });
    skr.tell(Ask::apply(&CONFIG_MAPS, KYMA_SYSTEM, NAME, MANAGER, map)).await
}
