//! The outputs of the GraphQL schema; those of clouds stand in [`clouds`](super::clouds).

use juniper::{GraphQLEnum, GraphQLObject};

use super::clouds::ProviderSpecificConfig;
use crate::{OperationKind, input::wire::KymaProfile};

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, GraphQLEnum)]
#[graphql(rename_all = "none")]
pub enum OperationType {
    /// Makes a cluster and installs Kyma.
    Provision,
    /// Makes a cluster.
    ProvisionNoInstall,
    /// Changes Kyma, the Kubernetes version, or both.
    Upgrade,
    /// Changes the cluster.
    UpgradeShoot,
    /// Uninstalls Kyma and removes the cluster.
    Deprovision,
    /// Removes the cluster.
    DeprovisionNoInstall,
    /// Makes the agent connect anew.
    ReconnectRuntime,
    /// Puts the cluster to sleep.
    Hibernate,
    /// Wakes the cluster up.
    WakeUp,
}

impl From<OperationKind> for OperationType {
    fn from(kind: OperationKind) -> Self {
        match kind {
            OperationKind::Provision => Self::Provision,
            OperationKind::ProvisionNoInstall => Self::ProvisionNoInstall,
            OperationKind::Upgrade => Self::Upgrade,
            OperationKind::UpgradeShoot => Self::UpgradeShoot,
            OperationKind::Deprovision => Self::Deprovision,
            OperationKind::DeprovisionNoInstall => Self::DeprovisionNoInstall,
            OperationKind::ReconnectRuntime => Self::ReconnectRuntime,
            OperationKind::Hibernate => Self::Hibernate,
            OperationKind::WakeUp => Self::WakeUp,
        }
    }
}

/// Where an operation stands. There is no fifth: the known client gives up on a word it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, GraphQLEnum)]
#[graphql(rename_all = "none")]
pub enum OperationState {
    /// Never used; here because clients know it.
    Pending,
    /// Accepted and not ended.
    InProgress,
    /// Ended well.
    Succeeded,
    /// Ended with an error.
    Failed,
}

impl From<slipway_model::OperationState> for OperationState {
    fn from(state: slipway_model::OperationState) -> Self {
        use slipway_model::OperationState as State;
        match state {
            State::Pending | State::InProgress | State::Canceling | State::Retrying => Self::InProgress,
            State::Succeeded => Self::Succeeded,
            State::Failed | State::Canceled => Self::Failed,
        }
    }
}

/// What made an operation fail.
#[derive(Debug, Clone, Default, GraphQLObject)]
pub struct LastError {
    /// In a sentence.
    pub err_message: String,
    /// For programs.
    pub reason: String,
    /// Who is to blame.
    pub component: String,
}

/// A sentence about what is wrong.
#[derive(Debug, Clone, GraphQLObject)]
pub struct Error {
    /// The sentence.
    pub message: Option<String>,
}

impl Error {
    /// This sentence.
    pub fn of(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()) }
    }
}

/// Whether the agent of a runtime is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, GraphQLEnum)]
#[graphql(rename_all = "none")]
pub enum RuntimeAgentConnectionStatus {
    /// Not configured yet, or never seen.
    Pending,
    /// Connected.
    Connected,
    /// Not connected.
    Disconnected,
}

/// Whether the agent of a runtime is connected, and what is wrong.
#[derive(Debug, Clone, GraphQLObject)]
pub struct RuntimeConnectionStatus {
    /// Whether.
    pub status: RuntimeAgentConnectionStatus,
    /// What is wrong.
    pub errors: Option<Vec<Error>>,
}

/// Whether a cluster sleeps.
#[derive(Debug, Clone, GraphQLObject)]
pub struct HibernationStatus {
    /// It sleeps.
    pub hibernated: Option<bool>,
    /// It could.
    pub hibernation_possible: Option<bool>,
}

/// How to reach a cluster.
#[derive(Debug, Clone, GraphQLObject)]
pub struct RuntimeConnectionConfig {
    /// The kubeconfig.
    pub kubeconfig: String,
}

/// What a runtime is.
#[derive(Debug, Clone, GraphQLObject)]
pub struct RuntimeConfig {
    /// Its cluster.
    pub cluster_config: Option<GardenerConfig>,
    /// Kyma in it.
    pub kyma_config: Option<KymaConfig>,
    /// How to reach it.
    pub kubeconfig: Option<String>,
    /// Use `clusterConfig.targetSecret`.
    #[graphql(deprecated = "use clusterConfig.targetSecret")]
    pub credentials_secret_name: Option<String>,
}

/// A cluster by Gardener.
#[derive(Debug, Clone, GraphQLObject)]
pub struct GardenerConfig {
    /// Name of the Shoot.
    pub name: Option<String>,
    /// Kubernetes version, the actual one where it is known.
    pub kubernetes_version: Option<String>,
    /// Cloud, in lower case.
    pub provider: Option<String>,
    /// Name of the secret binding.
    pub target_secret: Option<String>,
    /// Region of the cloud.
    pub region: Option<String>,
    /// Seed, the actual one where it is known.
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
    /// Purpose.
    pub purpose: Option<String>,
    /// Type of the licence.
    pub licence_type: Option<String>,
    /// Gardener may raise the Kubernetes version.
    pub enable_kubernetes_version_auto_update: Option<bool>,
    /// Gardener may raise the version of the machine image.
    pub enable_machine_image_version_auto_update: Option<bool>,
    /// As it was asked for; without effect.
    #[graphql(deprecated = "without effect since Kubernetes 1.25")]
    pub allow_privileged_containers: Option<bool>,
    /// What only this cloud has.
    pub provider_specific_config: Option<ProviderSpecificConfig>,
    /// Domain.
    pub dns_config: Option<DnsConfig>,
    /// Login.
    pub oidc_config: Option<OidcConfig>,
    /// How the API server is exposed.
    pub exposure_class_name: Option<String>,
    /// The filter of outgoing traffic is off, in truth where that is known.
    pub shoot_networking_filter_disabled: Option<bool>,
    /// What the control plane survives.
    pub control_plane_failure_tolerance: Option<String>,
    /// Only people in the EU may have access.
    pub eu_access: Option<bool>,
    /// The seed must be in the region of the cluster.
    pub shoot_and_seed_same_region: Option<bool>,
    /// Region of the platform.
    pub platform_region: Option<String>,
    /// Users who administrate the cluster.
    pub administrators: Option<Vec<String>>,
}

/// Login by OpenID Connect.
#[derive(Debug, Clone, GraphQLObject)]
#[graphql(name = "OIDCConfig")]
pub struct OidcConfig {
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

/// Domain of a cluster.
#[derive(Debug, Clone, GraphQLObject)]
#[graphql(name = "DNSConfig")]
pub struct DnsConfig {
    /// The domain.
    pub domain: String,
    /// Who serves it.
    pub providers: Option<Vec<Option<DnsProvider>>>,
}

/// Who serves a domain.
#[derive(Debug, Clone, GraphQLObject)]
#[graphql(name = "DNSProvider")]
pub struct DnsProvider {
    /// Which domains it serves.
    pub domains_include: Vec<String>,
    /// It serves the cluster's own domain.
    pub primary: bool,
    /// The Secret with its credentials.
    pub secret_name: String,
    /// Its type.
    #[graphql(name = "type")]
    pub provider_type: String,
}

/// Kyma in a runtime.
#[derive(Debug, Clone, GraphQLObject)]
pub struct KymaConfig {
    /// Release.
    pub version: Option<String>,
    /// How much it may need.
    pub profile: Option<KymaProfile>,
    /// Components in order.
    pub components: Option<Vec<Option<ComponentConfiguration>>>,
    /// Overrides for all components.
    pub configuration: Option<Vec<Option<ConfigEntry>>>,
    /// Modules on top.
    pub modules: Option<Vec<String>>,
}

/// A component of Kyma.
#[derive(Debug, Clone, GraphQLObject)]
pub struct ComponentConfiguration {
    /// Name.
    pub component: String,
    /// Namespace.
    pub namespace: String,
    /// Overrides.
    pub configuration: Option<Vec<Option<ConfigEntry>>>,
    /// Where it comes from, if it is not part of the release.
    #[graphql(name = "sourceURL")]
    pub source_url: Option<String>,
}

/// An override. A secret value is shown as `***` unless the caller may see secrets.
#[derive(Debug, Clone, GraphQLObject)]
pub struct ConfigEntry {
    /// Name.
    pub key: String,
    /// Value.
    pub value: String,
    /// It is secret.
    pub secret: Option<bool>,
}

/// What became of stored data.
#[derive(Debug, Clone, GraphQLObject)]
pub struct CleanUpRuntimeDataResult {
    /// The runtime.
    pub id: String,
    /// In a sentence.
    pub message: Option<String>,
}
