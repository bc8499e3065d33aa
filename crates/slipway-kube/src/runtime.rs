//! The Runtime: what its owner asks for, and what became of it.
//!
//! The fields are those the reference operator and its broker use, so that objects written for it are
//! read unchanged. What is Gardener's (workers, provider configurations) is typed only where it is
//! looked at; the rest is kept as it came.

mod extras;
mod oidc;
mod registry_cache;
mod rules;
mod shoot;
mod status;
mod worker;

use kube::{CustomResource, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    extras::{AutoUpdate, ClusterFacts, Dns, DnsProvider, Hibernation, Maintenance, ShootExtras},
    oidc::{AdditionalOidcConfig, ClientAuthentication, OidcConfig},
    registry_cache::{
        GarbageCollection, ImageRegistryCache, RegistryCacheConfig, RegistryCacheHttp, RegistryCacheProxy,
        RegistryCacheVolume,
    },
    shoot::{Acl, KubeApiServer, Kubernetes, Networking, Provider, RuntimeShoot},
    status::{LastError, LastOperation, RuntimeState, RuntimeStatus},
    worker::{ContainerRuntime, Cri, Machine, MachineControllerManager, MachineImage, Worker, WorkerKubernetes},
};
pub use crate::providers::ProviderType;

/// Keeps a Runtime until its Shoot, its GardenerCluster and its Secret are gone.
pub const FINALIZER: &str = "runtime-controller.infrastructure-manager.kyma-project.io/deletion-hook";

/// The group of both our kinds.
pub const GROUP: &str = "infrastructuremanager.kyma-project.io";

/// A JSON object of which nothing is known.
pub type Raw = serde_json::Map<String, serde_json::Value>;

/// What a Runtime asks for.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "infrastructuremanager.kyma-project.io",
    version = "v1",
    kind = "Runtime",
    plural = "runtimes",
    singular = "runtime",
    namespaced,
    status = "RuntimeStatus",
    derive = "PartialEq",
    doc = "A managed Kubernetes cluster, as its owner wants it.",
    printcolumn = r#"{"name":"Provider","type":"string","jsonPath":".spec.shoot.provider.type"}"#,
    printcolumn = r#"{"name":"Region","type":"string","jsonPath":".spec.shoot.region"}"#,
    printcolumn = r#"{"name":"STATE","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeSpec {
    /// The cluster.
    pub shoot: RuntimeShoot,
    /// Who may do what with it.
    pub security: Security,
    /// Caches of image registries inside the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "registry_cache::list_or_switch")]
    pub image_registry_cache: Vec<ImageRegistryCache>,
    /// Whether the customer wants an audit log of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_log_access_enabled: Option<bool>,
}

/// Who may do what with the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Security {
    /// Users who administrate the cluster. An empty list removes all of them.
    pub administrators: Vec<String>,
    /// What traffic is filtered.
    pub networking: NetworkingSecurity,
}

/// What traffic is filtered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkingSecurity {
    /// The filter.
    pub filter: Filter,
}

/// The network filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Filter {
    /// Traffic that leaves the cluster.
    pub egress: Switch,
    /// Traffic that enters the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Switch>,
}

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switch {
    /// Whether it is on.
    pub enabled: bool,
}

impl Runtime {
    /// A label's value; none when it is absent or empty, because writers send both for "unset".
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// An annotation's value; none when it is absent or empty.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations().get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All pools in the order in which they are rendered: the one of Kyma, then the customer's.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        let provider = &self.spec.shoot.provider;
        provider.workers.iter().chain(&provider.additional_workers)
    }
}

#[cfg(test)]
mod tests;
