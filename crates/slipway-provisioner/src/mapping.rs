//! From a stored cluster to its Runtime, and the table that says where each input field ends up.
//!
//! [`runtime`] is pure: the step that writes the Runtime and the tests of this table use the same
//! function. The table is for people and for a test that sets every field and looks at its place:
//! accepted means applied, or said to have no effect; nothing is dropped in silence.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use serde_json::{Map, Value, json};
use slipway_kube::{
    Runtime, annotations, labels,
    runtime::{
        AdditionalOidcConfig, AutoUpdate, Dns, DnsProvider, Filter, Hibernation, KubeApiServer, Kubernetes, Machine,
        MachineImage, Maintenance, Networking, NetworkingSecurity, OidcConfig, Raw, RuntimeShoot, RuntimeSpec,
        Security, ShootExtras, Switch, Worker,
    },
};
use slipway_model::{
    OperationId, Timestamp,
    runtime_record::{RuntimeId, SubAccount, Tenant},
};

use crate::{
    input::{
        ClusterSecrets, ClusterSpec, ProviderConfig, is_label_value,
        provider::{AwsConfig, AzureConfig},
        spec::OidcSpec,
    },
    ownership::mark,
};

mod table;

pub use table::{Fate, Mapping, TABLE};

/// The only main pool, as the reference calls it.
const WORKER_NAME: &str = "cpu-worker-0";

/// What a label says when nobody said anything: a stock manager wants it set.
const UNMANAGED: &str = "unmanaged";

/// Minutes after which an idle connection through a NAT gateway ends, if nobody said; Azure's own default.
const IDLE_MINUTES: i32 = 4;

/// What of a Runtime is not about its cluster.
#[derive(Debug, Clone)]
pub struct Owner<'a> {
    /// The runtime.
    pub id: RuntimeId,
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// For which subaccount.
    pub sub_account: Option<&'a SubAccount>,
    /// The namespace of Runtimes.
    pub namespace: &'a str,
    /// The operation that writes it.
    pub operation: OperationId,
    /// When its record was stored: the proof of whose it is.
    pub created_at: Timestamp,
}

/// The Runtime of a cluster.
pub fn runtime(owner: &Owner<'_>, spec: &ClusterSpec, secrets: &ClusterSecrets) -> Runtime {
    let metadata = ObjectMeta {
        name: Some(owner.id.to_string()),
        namespace: Some(owner.namespace.to_owned()),
        labels: Some(labels_of(owner, spec)),
        annotations: Some(annotations_of(owner, spec)),
        ..ObjectMeta::default()
    };
    let egress = Switch { enabled: !spec.networking_filter_disabled };
    let security = Security {
        administrators: secrets.administrators.clone(),
        networking: NetworkingSecurity { filter: Filter { egress, ingress: None } },
    };
    let spec =
        RuntimeSpec { shoot: shoot(spec), security, image_registry_cache: Vec::new(), audit_log_access_enabled: None };
    Runtime { metadata, spec, status: None }
}

fn labels_of(owner: &Owner<'_>, spec: &ClusterSpec) -> BTreeMap<String, String> {
    let id = owner.id.to_string();
    let told = |key: &str| spec.info.label(key).filter(|text| is_label_value(text)).unwrap_or(UNMANAGED);
    let rows = [
        (labels::RUNTIME_ID, id.as_str()),
        (labels::KYMA_NAME, id.as_str()),
        (labels::SHOOT_NAME, &spec.name),
        (labels::REGION, &spec.region),
        (labels::PROVIDER, spec.provider().as_str()),
        (labels::GLOBAL_ACCOUNT_ID, owner.tenant.as_str()),
        (labels::SUBACCOUNT_ID, owner.sub_account.map_or(UNMANAGED, SubAccount::as_str)),
        (labels::INSTANCE_ID, told("broker_instance_id")),
        (labels::BROKER_PLAN_ID, told("broker_plan_id")),
        (labels::BROKER_PLAN_NAME, told("broker_plan_name")),
    ];
    rows.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn annotations_of(owner: &Owner<'_>, spec: &ClusterSpec) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        (annotations::RECORD.to_owned(), mark(owner.created_at)),
        (annotations::OPERATION_ID.to_owned(), owner.operation.to_string()),
        (annotations::DISPLAY_NAME.to_owned(), spec.info.name.clone()),
    ]);
    if let Some(description) = &spec.info.description {
        all.insert(annotations::DESCRIPTION.to_owned(), description.clone());
    }
    if !spec.info.labels.is_empty() {
        let text = Value::Object(spec.info.labels.clone()).to_string();
        all.insert(annotations::DIRECTOR_LABELS.to_owned(), text);
    }
    all
}

fn shoot(spec: &ClusterSpec) -> RuntimeShoot {
    let provider = slipway_kube::runtime::Provider {
        provider_type: spec.provider().kube(),
        workers: vec![worker(spec)],
        additional_workers: Vec::new(),
        control_plane_config: control_plane_config(spec),
        infrastructure_config: Some(infrastructure_config(spec)),
    };
    let networking = Networking {
        pods: spec.pods_cidr.clone(),
        nodes: spec.nodes_cidr().to_owned(),
        services: spec.services_cidr.clone(),
        network_type: Some("calico".to_owned()),
        dual_stack: None,
        vpc_network: None,
    };
    let tolerance = |level: &String| object(json!({ "highAvailability": { "failureTolerance": { "type": level } } }));
    RuntimeShoot {
        name: spec.name.clone(),
        purpose: spec.purpose.clone(),
        platform_region: spec.platform_region.clone(),
        region: spec.region.clone(),
        licence_type: spec.licence_type.clone(),
        secret_binding_name: spec.target_secret.clone(),
        enforce_seed_location: spec.shoot_and_seed_same_region.then_some(true),
        enable_nvidia_openshell: None,
        kubernetes: Kubernetes {
            version: Some(spec.kubernetes_version.clone()),
            kube_api_server: spec.oidc.as_ref().map(|oidc| KubeApiServer {
                additional_oidc_config: Some(vec![AdditionalOidcConfig { oidc: login(oidc), jwks: None }]),
                ..KubeApiServer::default()
            }),
        },
        provider,
        networking,
        control_plane: spec.control_plane_failure_tolerance.as_ref().map(tolerance),
        extras: extras(spec),
    }
}

fn extras(spec: &ClusterSpec) -> ShootExtras {
    let cloud_profile_name = match &spec.provider_config {
        ProviderConfig::Openstack(openstack) => Some(openstack.cloud_profile_name.clone()),
        ProviderConfig::Gcp(_) | ProviderConfig::Azure(_) | ProviderConfig::Aws(_) | ProviderConfig::Alicloud(_) => {
            None
        }
    };
    ShootExtras {
        seed_name: spec.seed.clone(),
        exposure_class_name: spec.exposure_class_name.clone(),
        cloud_profile_name,
        maintenance: Some(Maintenance {
            auto_update: AutoUpdate {
                kubernetes_version: spec.kubernetes_version_auto_update,
                machine_image_version: spec.machine_image_version_auto_update,
            },
        }),
        dns: spec.dns.as_ref().map(|dns| Dns {
            domain: dns.domain.clone(),
            providers: (dns.providers.iter())
                .map(|provider| DnsProvider {
                    domains_include: provider.domains_include.clone(),
                    primary: provider.primary,
                    secret_name: provider.secret_name.clone(),
                    provider_type: provider.provider_type.clone(),
                })
                .collect(),
        }),
        eu_access: spec.eu_access.then_some(true),
        hibernation: Some(Hibernation { enabled: spec.hibernated }),
    }
}

fn login(oidc: &OidcSpec) -> OidcConfig {
    let set = |text: &String| (!text.is_empty()).then(|| text.clone());
    OidcConfig {
        client_id: set(&oidc.client_id),
        issuer_url: set(&oidc.issuer_url),
        username_claim: set(&oidc.username_claim),
        username_prefix: set(&oidc.username_prefix),
        groups_claim: set(&oidc.groups_claim),
        signing_algs: oidc.signing_algs.clone(),
        ..OidcConfig::default()
    }
}

fn worker(spec: &ClusterSpec) -> Worker {
    let mut rest = Raw::new();
    rest.insert("maxSurge".to_owned(), spec.max_surge.into());
    rest.insert("maxUnavailable".to_owned(), spec.max_unavailable.into());
    if let (Some(disk), Some(size)) = (&spec.disk_type, spec.volume_size_gb) {
        rest.insert("volume".to_owned(), json!({ "type": disk, "size": format!("{size}Gi") }));
    }
    let image = spec.machine_image.as_ref().map(|name| MachineImage {
        name: name.clone(),
        version: spec.machine_image_version.clone(),
        rest: Raw::new(),
    });
    Worker {
        name: WORKER_NAME.to_owned(),
        machine: Machine { machine_type: spec.machine_type.clone(), image, rest: Raw::new() },
        minimum: spec.auto_scaler_min,
        maximum: spec.auto_scaler_max,
        zones: spec.provider_config.zones(),
        provider_config: worker_config(spec),
        rest,
        ..Worker::default()
    }
}

fn worker_config(spec: &ClusterSpec) -> Option<Raw> {
    match &spec.provider_config {
        ProviderConfig::Aws(AwsConfig { enable_imds_v2: true, .. }) => Some(document(
            spec,
            "WorkerConfig",
            json!({ "instanceMetadataOptions": { "httpTokens": "required", "httpPutResponseHopLimit": 2 } }),
        )),
        _ => None,
    }
}

fn control_plane_config(spec: &ClusterSpec) -> Option<Raw> {
    match &spec.provider_config {
        ProviderConfig::Gcp(gcp) => Some(document(spec, "ControlPlaneConfig", json!({ "zone": gcp.zones.first() }))),
        ProviderConfig::Openstack(openstack) => Some(document(
            spec,
            "ControlPlaneConfig",
            json!({ "loadBalancerProvider": openstack.load_balancer_provider }),
        )),
        ProviderConfig::Azure(_) | ProviderConfig::Aws(_) | ProviderConfig::Alicloud(_) => {
            Some(document(spec, "ControlPlaneConfig", json!({})))
        }
    }
}

fn infrastructure_config(spec: &ClusterSpec) -> Raw {
    let content = match &spec.provider_config {
        ProviderConfig::Gcp(_) => {
            json!({ "networks": { "worker": spec.worker_cidr, "workers": spec.worker_cidr } })
        }
        ProviderConfig::Azure(azure) => azure_networks(azure, &spec.worker_cidr),
        ProviderConfig::Aws(aws) => {
            let zone = |zone: &crate::input::provider::AwsZone| json!({ "name": zone.name, "internal": zone.internal_cidr, "public": zone.public_cidr, "workers": zone.worker_cidr });
            let zones: Vec<Value> = aws.zones.iter().map(zone).collect();
            json!({ "networks": { "vpc": { "cidr": aws.vpc_cidr }, "zones": zones } })
        }
        ProviderConfig::Openstack(openstack) => {
            json!({ "floatingPoolName": openstack.floating_pool_name, "networks": { "workers": spec.worker_cidr } })
        }
        ProviderConfig::Alicloud(alicloud) => {
            let zones: Vec<Value> =
                alicloud.zones.iter().map(|zone| json!({ "name": zone.name, "workers": zone.worker_cidr })).collect();
            json!({ "networks": { "vpc": { "cidr": alicloud.vpc_cidr }, "zones": zones } })
        }
    };
    document(spec, "InfrastructureConfig", content)
}

fn azure_networks(azure: &AzureConfig, worker_cidr: &str) -> Value {
    let nat = azure.enable_nat_gateway.then(|| {
        json!({ "enabled": true, "idleConnectionTimeoutMinutes": azure.idle_connection_timeout_minutes.unwrap_or(IDLE_MINUTES) })
    });
    let mut networks = json!({ "vnet": { "cidr": azure.vnet_cidr } });
    let is_zoned = !azure.azure_zones.is_empty() || !azure.zones.is_empty();
    if azure.azure_zones.is_empty() {
        networks["workers"] = json!(worker_cidr);
        if let Some(nat) = nat.filter(|_| is_zoned) {
            networks["natGateway"] = nat;
        }
    } else {
        let zone = |zone: &crate::input::provider::AzureZone| {
            let mut subnet = json!({ "name": zone.name, "cidr": zone.cidr });
            if let Some(nat) = &nat {
                subnet["natGateway"] = nat.clone();
            }
            subnet
        };
        networks["zones"] = azure.azure_zones.iter().map(zone).collect();
    }
    json!({ "networks": networks, "zoned": is_zoned })
}

/// A document of a cloud's extension of Gardener.
fn document(spec: &ClusterSpec, kind: &str, content: Value) -> Raw {
    let mut all = object(content);
    all.insert(
        "apiVersion".to_owned(),
        format!("{}.provider.extensions.gardener.cloud/v1alpha1", spec.provider()).into(),
    );
    all.insert("kind".to_owned(), kind.into());
    all
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

#[cfg(test)]
mod tests;
