//! The cluster part of a Runtime.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AdditionalOidcConfig, OidcConfig, Raw, ShootExtras, Worker, rules};
use crate::providers::ProviderType;

/// The cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rules::set_once("enforceSeedLocation")]))]
pub struct RuntimeShoot {
    /// Name of the Shoot.
    #[schemars(extend("x-kubernetes-validations" = [rules::immutable("the name")]))]
    pub name: String,
    /// What it is for, in Gardener's words: `evaluation`, `testing`, `development`, `production` or
    /// `infrastructure`.
    pub purpose: String,
    /// The platform's region; some demand that only people in the EU have access.
    pub platform_region: String,
    /// The cloud's region.
    #[schemars(extend("x-kubernetes-validations" = [rules::immutable("the region")]))]
    pub region: String,
    /// Licence type of the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_type: Option<String>,
    /// Name of the SecretBinding or CredentialsBinding, whichever is configured.
    pub secret_binding_name: String,
    /// Whether the control plane must be in the same region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce_seed_location: Option<bool>,
    /// Whether the Nvidia OpenShell extension is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_nvidia_openshell: Option<bool>,
    /// The Kubernetes version and its API server.
    #[serde(default)]
    #[schemars(transform = rules::without_default)]
    pub kubernetes: Kubernetes,
    /// The cloud and its machines.
    pub provider: Provider,
    /// The networks.
    pub networking: Networking,
    /// High availability of the control plane; copied to the Shoot as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules::any_object")]
    pub control_plane: Option<Raw>,
    /// What the provisioner's clients may ask for beside it.
    #[serde(flatten)]
    pub extras: ShootExtras,
}

/// The Kubernetes version and its API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kubernetes {
    /// The version. Empty means unset: the configured default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who may log in.
    #[serde(default, rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeApiServer>,
}

/// Who may log in, and from where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeApiServer {
    /// Login of operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oidc_config: Option<OidcConfig>,
    /// Logins of the customer. Absent: the configured shared tenant. An empty list: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_oidc_config: Option<Vec<AdditionalOidcConfig>>,
    /// From where the API server can be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Acl>,
}

/// From where the API server can be reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Acl {
    /// Networks that may reach it. Empty: all.
    #[serde(default, rename = "allowedCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub allowed_cidrs: Vec<String>,
}

/// The cloud and its machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rules::one_main_worker(), rules::unique_pools(), rules::few_zones()]))]
pub struct Provider {
    /// Which cloud.
    #[serde(rename = "type")]
    #[schemars(extend("x-kubernetes-validations" = [rules::immutable("the provider")]))]
    pub provider_type: ProviderType,
    /// The pool of Kyma itself: exactly one.
    #[schemars(length(max = 4))]
    pub workers: Vec<Worker>,
    /// Pools of the customer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub additional_workers: Vec<Worker>,
    /// Configuration of the cloud's control plane; for a living cluster what it names is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules::any_object")]
    pub control_plane_config: Option<Raw>,
    /// Configuration of the cloud's infrastructure; for a living cluster what it names is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules::any_object")]
    pub infrastructure_config: Option<Raw>,
}

/// The networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rules::immutable_optional("type"), rules::set_once("dualStack")]))]
pub struct Networking {
    /// Addresses of pods.
    #[schemars(extend("x-kubernetes-validations" = [rules::immutable("the pod network")]))]
    pub pods: String,
    /// Addresses of nodes.
    #[schemars(extend("x-kubernetes-validations" = [rules::immutable("the node network")]))]
    pub nodes: String,
    /// Addresses of services.
    #[schemars(extend("x-kubernetes-validations" = [rules::immutable("the service network")]))]
    pub services: String,
    /// The network plugin.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub network_type: Option<String>,
    /// Whether nodes have IPv6 addresses too; on creation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_stack: Option<bool>,
    /// An existing network; kept, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc_network: Option<String>,
}
