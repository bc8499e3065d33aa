//! The converter configuration: how a landscape wants its Shoots.
//!
//! Three files, with the names and members of the reference: the configuration itself, the audit
//! tenants, the maintenance windows. They are checked whole at the start and every problem is told
//! with its JSON path: a landscape that starts with half a configuration breaks its clusters one by
//! one. Unknown members are kept out and reported, so that a newer file does not stop an older build.

mod audit;
pub(crate) mod members;
mod windows;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_kube::runtime::ProviderType;

pub use self::{
    audit::{AuditData, AuditTenants},
    windows::{MaintenanceWindows, TimeWindow},
};

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>().join("; "))]
pub struct ConfigError {
    /// All of it.
    pub problems: Vec<Problem>,
}

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, such as `converter.gardener.projectName`.
    pub path: String,
    /// What, and what to do.
    pub message: String,
}

impl ConfigError {
    fn one(path: &str, message: impl Into<String>) -> Self {
        Self { problems: vec![Problem { path: path.to_owned(), message: message.into() }] }
    }
}

/// The converter configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConverterConfig {
    /// What is put into clusters.
    pub cluster: ClusterConfig,
    /// What Shoots are made of.
    pub converter: Converter,
    /// What is switched by flags instead of by the file.
    #[serde(skip)]
    pub switches: Switches,
}

/// What is switched by flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Switches {
    /// `--network-restriction-enabled`: Shoots have the network filter.
    pub network_restriction: bool,
    /// `--api-server-acl-enabled`: access to API servers can be restricted by address.
    pub api_server_acl: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { network_restriction: true, api_server_acl: false }
    }
}

/// What is put into clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConfig {
    /// The customers' login where a Runtime names none.
    #[serde(rename = "defaultSharedIASTenant")]
    pub default_shared_ias_tenant: OidcProvider,
}

/// A login.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OidcProvider {
    /// Who a token must be for.
    #[serde(rename = "clientID")]
    pub client_id: String,
    /// Which claim has the groups.
    pub groups_claim: String,
    /// Who issues tokens.
    #[serde(rename = "issuerURL")]
    pub issuer_url: String,
    /// Which signatures are trusted.
    pub signing_algs: Vec<String>,
    /// Which claim is the user.
    pub username_claim: String,
    /// What stands before the user.
    pub username_prefix: String,
}

/// What Shoots are made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Converter {
    /// Versions and the API server.
    pub kubernetes: KubernetesConfig,
    /// Domains of our own; all empty means Gardener's.
    pub dns: DnsConfig,
    /// The clouds and their machines.
    pub provider: ProviderConfig,
    /// The operating system where a pool names none.
    pub machine_image: MachineImageConfig,
    /// The Gardener project.
    pub gardener: GardenerConfig,
    /// Where audit logs go.
    pub audit_logging: AuditLogging,
    /// When Gardener may maintain clusters.
    pub maintenance_window: MaintenanceWindowConfig,
    /// Which Seed taints Shoots of a region bear.
    pub tolerations: BTreeMap<String, Vec<Toleration>>,
    /// The networks.
    pub networking: NetworkingConfig,
    /// Where only people in the EU may have access.
    pub eu_access: EuAccess,
}

/// Versions and the API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesConfig {
    /// The version where a Runtime names none.
    pub default_version: String,
    /// Whether Gardener raises versions by itself.
    pub enable_kubernetes_version_auto_update: bool,
    /// Whether Gardener raises image versions by itself.
    #[serde(alias = "enableMachineImageVersionVersionAutoUpdate")]
    pub enable_machine_image_version_auto_update: bool,
    /// The operators' login where a Runtime names none.
    pub default_operator_oidc: OidcProvider,
    /// Whether a prefix of `-` in a login means none, as the API server's old flags had it. As it
    /// stands it would become part of every name.
    pub dash_prefix_is_none: bool,
    /// The API server.
    pub kube_api_server: KubeApiServerConfig,
    /// The kubelets.
    pub kubelet: KubeletConfig,
}

impl Default for KubernetesConfig {
    fn default() -> Self {
        Self {
            default_version: String::new(),
            enable_kubernetes_version_auto_update: false,
            enable_machine_image_version_auto_update: false,
            default_operator_oidc: OidcProvider::default(),
            dash_prefix_is_none: true,
            kube_api_server: KubeApiServerConfig::default(),
            kubelet: KubeletConfig::default(),
        }
    }
}

/// The API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeApiServerConfig {
    /// From where it can be reached.
    pub acl: AclConfig,
    /// How long service account tokens live at most.
    pub max_token_expiration: String,
    /// APIs switched on or off.
    pub runtime_config: BTreeMap<String, bool>,
    /// Features switched on or off.
    pub feature_gates: BTreeMap<String, bool>,
}

/// Which ConfigMap names the addresses of operators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AclConfig {
    /// Its name.
    pub config_map_name: String,
}

/// The kubelets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeletConfig {
    /// Features switched on or off.
    pub feature_gates: BTreeMap<String, bool>,
}

/// Domains of our own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsConfig {
    /// Secret with the credentials of the DNS provider.
    pub secret_name: String,
    /// Below which domain clusters are.
    pub domain_prefix: String,
    /// The DNS provider.
    pub provider_type: String,
}

impl DnsConfig {
    /// Whether Gardener's own domain is used.
    pub fn is_internal(&self) -> bool {
        self.secret_name.is_empty() && self.domain_prefix.is_empty() && self.provider_type.is_empty()
    }
}

/// The clouds and their machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    /// Defaults of pools.
    pub worker: WorkerConfig,
    /// Names of cloud profiles, where they are not the usual ones.
    pub cloud_profiles: BTreeMap<ProviderType, String>,
    /// What is set for single clouds, by their names; each knows what it means.
    #[serde(flatten)]
    pub clouds: BTreeMap<String, Value>,
}

/// Defaults of pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerConfig {
    /// How often an eviction is tried.
    pub default_max_evict_retries: String,
    /// How long draining a machine may take.
    pub default_machine_drain_timeout: String,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { default_max_evict_retries: "2".to_owned(), default_machine_drain_timeout: "15m".to_owned() }
    }
}

/// The operating system where a pool names none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineImageConfig {
    /// Its name.
    pub default_name: String,
    /// Its version.
    pub default_version: String,
}

/// The Gardener project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GardenerConfig {
    /// Its name.
    pub project_name: String,
    /// Whether bindings are CredentialsBindings, not SecretBindings.
    pub enable_credential_binding: bool,
    /// Under which name Shoots are written. One name for life: fields belong to whoever wrote them.
    pub field_manager: String,
}

impl Default for GardenerConfig {
    fn default() -> Self {
        // The name of the reference, so that its Shoots are taken over without orphaned fields.
        Self { project_name: String::new(), enable_credential_binding: false, field_manager: "kim".to_owned() }
    }
}

/// Where audit logs go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditLogging {
    /// ConfigMap with the policy, in the project's namespace.
    pub policy_config_map_name: String,
    /// File with the tenants.
    pub tenant_config_path: String,
}

/// When Gardener may maintain clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MaintenanceWindowConfig {
    /// File with the windows of regions; empty for none.
    pub window_map_path: String,
}

/// A taint that Shoots bear.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Toleration {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// The networks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkingConfig {
    /// Whether Runtimes may ask for IPv6 addresses too.
    #[serde(rename = "enableDualStackIP")]
    pub enable_dual_stack_ip: bool,
}

/// Where only people in the EU may have access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EuAccess {
    /// The platform regions.
    pub platform_regions: Vec<String>,
}

impl Default for EuAccess {
    fn default() -> Self {
        Self { platform_regions: ["cf-eu11", "cf-ch20", "cf-eu01", "cf-eu02", "cf-eu31"].map(str::to_owned).into() }
    }
}

/// Addresses that may always reach API servers, from a ConfigMap of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AclAddresses {
    /// Networks of operators.
    pub operators: Vec<String>,
    /// Where the control plane comes from.
    pub control_plane: Option<String>,
}

impl ConverterConfig {
    /// Reads a configuration. Answers also what it did not know, for the log.
    pub fn parse(text: &str) -> Result<(Self, Vec<String>), ConfigError> {
        let mut value = serde_json::from_str(text)
            .map_err(|error| ConfigError::one("the file", format!("is not JSON: {error}")))?;
        let unknown = members::check(&value)?;
        members::simplify(&mut value);
        // The table of members has checked every type, so what is left is a member the table forgot.
        let config = serde_json::from_value(value).map_err(|error| ConfigError::one("the file", error.to_string()))?;
        Ok((config, unknown))
    }

    /// Namespace of the project.
    pub fn namespace(&self) -> String {
        slipway_kube::shoot::project_namespace(&self.converter.gardener.project_name)
    }

    /// Checks what depends on flags.
    pub fn check_switches(&self) -> Result<(), ConfigError> {
        if self.switches.api_server_acl && self.converter.kubernetes.kube_api_server.acl.config_map_name.is_empty() {
            let path = "converter.kubernetes.kubeApiServer.acl.configMapName";
            return Err(ConfigError::one(path, "must be set when --api-server-acl-enabled is on"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
