//! The inputs of the GraphQL schema, as they come.
//!
//! One superset of all that clients of the reference ever sent: a field that any of them left out is
//! optional here, and what is outdated is marked so. Nothing behind [`normalise`](super::normalise)
//! reads these types.
//!
//! The file is long because it is a list: one line and one sentence per field of the contract.

use juniper::{GraphQLEnum, GraphQLInputObject};

use crate::{
    graphql::clouds::{ClusterConfigInput, ProviderSpecificInput},
    juniper_gaps::Labels,
};

/// What to provision.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct ProvisionRuntimeInput {
    /// How the runtime is called in the Director.
    pub runtime_input: RuntimeInput,
    /// The cluster.
    pub cluster_config: ClusterConfigInput,
    /// Kyma; a cluster without Kyma if it is left out.
    pub kyma_config: Option<KymaConfigInput>,
    /// Use `gardenerConfig.targetSecret`.
    #[graphql(deprecated = "use gardenerConfig.targetSecret")]
    pub credentials: Option<CredentialsInput>,
}

/// How the runtime is called in the Director.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct RuntimeInput {
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Labels, any JSON object.
    pub labels: Option<Labels>,
}

/// The credentials of the cloud.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct CredentialsInput {
    /// Name of the Gardener secret binding.
    pub secret_name: String,
}

/// A cluster by Gardener.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct GardenerConfigInput {
    /// Name of the Shoot; drawn if it is left out.
    pub name: Option<String>,
    /// Kubernetes version.
    pub kubernetes_version: Option<String>,
    /// `gcp`, `azure`, `aws` or `openstack`.
    pub provider: String,
    /// Name of the Gardener secret binding.
    pub target_secret: Option<String>,
    /// Region of the cloud.
    pub region: String,
    /// Seed; Gardener chooses if it is left out.
    pub seed: Option<String>,
    /// Machine type.
    pub machine_type: Option<String>,
    /// Machine image.
    pub machine_image: Option<String>,
    /// Version of the machine image.
    pub machine_image_version: Option<String>,
    /// Type of the disk.
    pub disk_type: Option<String>,
    /// Size of the disk in GiB.
    #[graphql(name = "volumeSizeGB")]
    pub volume_size_gb: Option<i32>,
    /// Addresses of nodes.
    pub worker_cidr: Option<String>,
    /// Addresses of pods.
    pub pods_cidr: Option<String>,
    /// Addresses of services.
    pub services_cidr: Option<String>,
    /// Least number of machines.
    pub auto_scaler_min: Option<i32>,
    /// Greatest number of machines.
    pub auto_scaler_max: Option<i32>,
    /// Machines that may be too many during an update.
    pub max_surge: Option<i32>,
    /// Machines that may be missing during an update.
    pub max_unavailable: Option<i32>,
    /// `development`, `evaluation`, `testing` or `production`.
    pub purpose: Option<String>,
    /// Type of the licence.
    pub licence_type: Option<String>,
    /// Gardener may raise the Kubernetes version.
    pub enable_kubernetes_version_auto_update: Option<bool>,
    /// Gardener may raise the version of the machine image.
    pub enable_machine_image_version_auto_update: Option<bool>,
    /// Without effect since Kubernetes 1.25.
    #[graphql(deprecated = "without effect since Kubernetes 1.25")]
    pub allow_privileged_containers: Option<bool>,
    /// What only this cloud has.
    pub provider_specific_config: Option<ProviderSpecificInput>,
    /// Domain of the cluster.
    pub dns_config: Option<DnsConfigInput>,
    /// Login by OpenID Connect.
    pub oidc_config: Option<OidcConfigInput>,
    /// How the API server is exposed.
    pub exposure_class_name: Option<String>,
    /// The filter of outgoing traffic is off; so it is if this is left out.
    pub shoot_networking_filter_disabled: Option<bool>,
    /// `node` or `zone`: what the control plane survives.
    pub control_plane_failure_tolerance: Option<String>,
    /// Only people in the EU may have access.
    pub eu_access: Option<bool>,
    /// The seed must be in the region of the cluster.
    pub shoot_and_seed_same_region: Option<bool>,
    /// Region of the platform.
    pub platform_region: Option<String>,
    /// Number of machines: least and greatest alike.
    pub size: Option<i32>,
    /// Memory of a machine, such as `16Gi`: takes the smallest machine that has it.
    pub memory: Option<String>,
    /// Use `size`.
    #[graphql(deprecated = "use size")]
    pub node_count: Option<i32>,
    /// Without effect.
    #[graphql(deprecated = "without effect; the project is configured")]
    pub project_name: Option<String>,
    /// Use the zones of `providerSpecificConfig`.
    #[graphql(deprecated = "use the zones of providerSpecificConfig")]
    pub zone: Option<String>,
    /// Use `workerCidr`.
    #[graphql(deprecated = "use workerCidr")]
    pub cidr: Option<String>,
    /// Use `provider`.
    #[graphql(deprecated = "use provider")]
    pub target_provider: Option<String>,
    /// Use `volumeSizeGB`.
    #[graphql(deprecated = "use volumeSizeGB")]
    pub volume_size: Option<String>,
}

/// Login by OpenID Connect. An empty text counts as left out.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
#[graphql(name = "OIDCConfigInput")]
pub struct OidcConfigInput {
    /// Who a token must be for.
    #[graphql(name = "clientID")]
    pub client_id: String,
    /// Which claim has the groups.
    pub groups_claim: String,
    /// Who issues tokens.
    #[graphql(name = "issuerURL")]
    pub issuer_url: String,
    /// Which signatures are trusted.
    pub signing_algs: Vec<String>,
    /// Which claim is the user.
    pub username_claim: String,
    /// What stands before the user.
    pub username_prefix: String,
}

/// Domain of the cluster.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
#[graphql(name = "DNSConfigInput")]
pub struct DnsConfigInput {
    /// The domain.
    pub domain: String,
    /// Who serves it.
    pub providers: Option<Vec<Option<DnsProviderInput>>>,
}

/// Who serves a domain.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
#[graphql(name = "DNSProviderInput")]
pub struct DnsProviderInput {
    /// Which domains it serves.
    pub domains_include: Vec<String>,
    /// It serves the cluster's own domain; at most one does.
    pub primary: bool,
    /// The Secret with its credentials.
    pub secret_name: String,
    /// Its type.
    #[graphql(name = "type")]
    pub provider_type: String,
}

/// Kyma.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct KymaConfigInput {
    /// Release, or `PR-<n>`, `main`, `main-<sha>`.
    pub version: String,
    /// Modules on top of Lite.
    pub modules: Option<Vec<String>>,
    /// Components in order; the Lite set if they are left out.
    pub components: Option<Vec<Option<ComponentConfigurationInput>>>,
    /// Overrides for all components.
    pub configuration: Option<Vec<Option<ConfigEntryInput>>>,
    /// How much it may need.
    pub profile: Option<KymaProfile>,
    /// How overrides meet values that are there already.
    pub conflict_strategy: Option<ConflictStrategy>,
}

/// A component of Kyma.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct ComponentConfigurationInput {
    /// Name.
    pub component: String,
    /// Namespace.
    pub namespace: String,
    /// Overrides.
    pub configuration: Option<Vec<Option<ConfigEntryInput>>>,
    /// Where it comes from, if it is not part of the release.
    #[graphql(name = "sourceURL")]
    pub source_url: Option<String>,
    /// How overrides meet values that are there already.
    pub conflict_strategy: Option<ConflictStrategy>,
}

/// An override.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct ConfigEntryInput {
    /// Name.
    pub key: String,
    /// Value.
    pub value: String,
    /// Kept encrypted and shown masked.
    pub secret: Option<bool>,
}

/// How much Kyma may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, GraphQLEnum, serde::Serialize, serde::Deserialize)]
#[graphql(rename_all = "none")]
pub enum KymaProfile {
    /// Little.
    Evaluation,
    /// Enough for production.
    Production,
}

/// How overrides meet values that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, GraphQLEnum, serde::Serialize, serde::Deserialize)]
#[graphql(rename_all = "none")]
pub enum ConflictStrategy {
    /// Values are joined.
    Merge,
    /// New values replace all of the old ones.
    Replace,
}

/// What to upgrade; at least one of both.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct UpgradeRuntimeInput {
    /// Kyma.
    pub kyma_config: Option<KymaConfigInput>,
    /// The cluster.
    pub cluster_config: Option<UpgradeClusterInput>,
}

/// What to upgrade about the cluster.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct UpgradeClusterInput {
    /// Kubernetes version.
    pub version: String,
}

/// What to change about the cluster.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct UpgradeShootInput {
    /// The cluster. What is left out stays as it is.
    pub gardener_config: GardenerUpgradeInput,
    /// Administrators: left out, they stay; an empty list removes all.
    pub administrators: Option<Vec<String>>,
}

/// What to change about a cluster. What is left out stays as it is.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct GardenerUpgradeInput {
    /// Cannot change.
    pub name: Option<String>,
    /// Only ever raised; a lower one is not an error.
    pub kubernetes_version: Option<String>,
    /// Cannot change.
    pub provider: Option<String>,
    /// Cannot change, unless the operator allows it.
    pub target_secret: Option<String>,
    /// Machine type.
    pub machine_type: Option<String>,
    /// Size of the disk in GiB.
    #[graphql(name = "volumeSizeGB")]
    pub volume_size_gb: Option<i32>,
    /// Type of the disk.
    pub disk_type: Option<String>,
    /// Cannot change.
    pub region: Option<String>,
    /// Cannot change.
    pub seed: Option<String>,
    /// Addresses of nodes; refused while there are nodes, unless the operator allows it.
    pub worker_cidr: Option<String>,
    /// Least number of machines.
    pub auto_scaler_min: Option<i32>,
    /// Greatest number of machines.
    pub auto_scaler_max: Option<i32>,
    /// Machines that may be too many during an update.
    pub max_surge: Option<i32>,
    /// Machines that may be missing during an update.
    pub max_unavailable: Option<i32>,
    /// What only this cloud has: on Google Cloud and Azure zones may be added.
    pub provider_specific_config: Option<ProviderSpecificInput>,
    /// Machine image.
    pub machine_image: Option<String>,
    /// Version of the machine image.
    pub machine_image_version: Option<String>,
    /// `development`, `evaluation`, `testing` or `production`.
    pub purpose: Option<String>,
    /// Gardener may raise the Kubernetes version.
    pub enable_kubernetes_version_auto_update: Option<bool>,
    /// Gardener may raise the version of the machine image.
    pub enable_machine_image_version_auto_update: Option<bool>,
    /// Login by OpenID Connect, replaced as a whole.
    pub oidc_config: Option<OidcConfigInput>,
    /// How the API server is exposed; an empty text changes nothing.
    pub exposure_class_name: Option<String>,
    /// The filter of outgoing traffic is off; left out, it stays as it is in the cluster.
    pub shoot_networking_filter_disabled: Option<bool>,
}
