//! From a stored cluster to its Runtime, and the table that says where each input field ends up.
//!
//! [`runtime`] is pure: the step that writes the Runtime and the tests of this table use the same
//! function. The table is for people and for a test that sets every field and looks at its place:
//! accepted means applied, or said to have no effect; nothing is dropped in silence.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
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
    input::{ClusterSecrets, ClusterSpec, is_label_value, spec::OidcSpec},
    ownership::mark,
};

mod table;

pub use table::{Fate, Mapping, table};
pub(crate) use table::{applied, chooses};

/// The only main pool, as the reference calls it.
const WORKER_NAME: &str = "cpu-worker-0";

/// What a label says when nobody said anything: a stock manager wants it set.
const UNMANAGED: &str = "unmanaged";

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
    let documents = spec.provider_config.documents(&spec.worker_cidr);
    let provider = slipway_kube::runtime::Provider {
        provider_type: spec.provider(),
        workers: vec![worker(spec)],
        additional_workers: Vec::new(),
        control_plane_config: documents.control_plane,
        infrastructure_config: documents.infrastructure,
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
    ShootExtras {
        seed_name: spec.seed.clone(),
        exposure_class_name: spec.exposure_class_name.clone(),
        cloud_profile_name: spec.provider_config.cloud_profile().map(str::to_owned),
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
        provider_config: spec.provider_config.worker_config(),
        rest,
        ..Worker::default()
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

#[cfg(test)]
mod tests;
