//! The documents that are stored: what a cluster shall be, after defaults and checks.
//!
//! One document per revision instead of a column per field, so that a new input field touches its
//! wire type, this type and the mapping table, and no migration. `SCHEMA_VERSION` is stored beside
//! it for whoever reads it later.

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use slipway_kube::{cloud::Block, runtime::ProviderType};

/// The version of these documents' shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What a cluster shall be. Never a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Name of the Shoot.
    pub name: String,
    /// Kubernetes version.
    pub kubernetes_version: String,
    /// Name of the secret binding.
    pub target_secret: String,
    /// Region of the cloud.
    pub region: String,
    /// Region of the platform; empty when nobody said.
    pub platform_region: String,
    /// Seed; Gardener chooses when there is none.
    pub seed: Option<String>,
    /// Machine type.
    pub machine_type: String,
    /// Machine image.
    pub machine_image: Option<String>,
    /// Version of the machine image.
    pub machine_image_version: Option<String>,
    /// Type of the disk.
    pub disk_type: Option<String>,
    /// Size of the disk in GiB.
    pub volume_size_gb: Option<i32>,
    /// Addresses of nodes.
    pub worker_cidr: String,
    /// Addresses of pods.
    pub pods_cidr: String,
    /// Addresses of services.
    pub services_cidr: String,
    /// Least number of machines.
    pub auto_scaler_min: i32,
    /// Greatest number of machines.
    pub auto_scaler_max: i32,
    /// Machines that may be too many during an update.
    pub max_surge: i32,
    /// Machines that may be missing during an update.
    pub max_unavailable: i32,
    /// Purpose.
    pub purpose: String,
    /// Type of the licence.
    pub licence_type: Option<String>,
    /// Gardener may raise the Kubernetes version.
    pub kubernetes_version_auto_update: bool,
    /// Gardener may raise the version of the machine image.
    pub machine_image_version_auto_update: bool,
    /// Only echoed: without effect since Kubernetes 1.25.
    pub allow_privileged_containers: Option<bool>,
    /// What only this cloud has.
    pub provider_config: Block,
    /// Domain.
    pub dns: Option<DnsSpec>,
    /// Login.
    pub oidc: Option<OidcSpec>,
    /// How the API server is exposed.
    pub exposure_class_name: Option<String>,
    /// The filter of outgoing traffic is off.
    pub networking_filter_disabled: bool,
    /// `node` or `zone`.
    pub control_plane_failure_tolerance: Option<String>,
    /// Only people in the EU may have access.
    pub eu_access: bool,
    /// The seed must be in the region of the cluster.
    pub shoot_and_seed_same_region: bool,
    /// It shall sleep.
    #[serde(default)]
    pub hibernated: bool,
    /// What the runtime is called.
    pub info: RuntimeInfo,
}

impl ClusterSpec {
    /// The cloud.
    pub fn provider(&self) -> ProviderType {
        self.provider_config.cloud()
    }

    /// The range that nodes have: on some clouds that of the virtual network.
    pub fn nodes_cidr(&self) -> &str {
        self.provider_config.network().map_or(&self.worker_cidr, |(_, range)| range)
    }
}

/// What the runtime is called, in the Director and by people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInfo {
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Labels.
    #[serde(default)]
    pub labels: Map<String, Value>,
}

impl RuntimeInfo {
    /// A label that is a text.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)?.as_str().filter(|text| !text.is_empty())
    }
}

/// Domain of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DnsSpec {
    /// The domain.
    pub domain: String,
    /// Who serves it.
    pub providers: Vec<DnsProviderSpec>,
}

/// Who serves a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DnsProviderSpec {
    /// Which domains it serves.
    pub domains_include: Vec<String>,
    /// It serves the cluster's own domain.
    pub primary: bool,
    /// The Secret with its credentials.
    pub secret_name: String,
    /// Its type.
    pub provider_type: String,
}

/// Login by OpenID Connect. Empty texts are unset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OidcSpec {
    /// Who a token must be for.
    pub client_id: String,
    /// Which claim has the groups.
    pub groups_claim: String,
    /// Who issues tokens.
    pub issuer_url: String,
    /// Which signatures are trusted.
    pub signing_algs: Vec<String>,
    /// Which claim is the user.
    pub username_claim: String,
    /// What stands before the user.
    pub username_prefix: String,
}

/// What of a cluster is kept encrypted: people's names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSecrets {
    /// Users who administrate the cluster.
    pub administrators: Vec<String>,
}

impl ClusterSecrets {
    /// As it is given to the store.
    pub fn seal(&self) -> SecretString {
        serde_json::to_string(self).expect("a list of texts is JSON").into()
    }

    /// As it came from the store; empty when it was erased.
    pub fn open(sealed: Option<&SecretString>) -> Result<Self, serde_json::Error> {
        sealed.map_or_else(|| Ok(Self::default()), |sealed| serde_json::from_str(sealed.expose_secret()))
    }
}
