//! The GardenerCluster: asks for a kubeconfig of one Shoot in one Secret, always fresh.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::words;

/// The only type of condition it has.
pub const CONDITION: &str = "KubeconfigManagement";

/// The key in the Secret.
pub const SECRET_KEY: &str = "config";

/// Name of the Secret of a runtime.
pub fn secret_name(runtime_id: &str) -> String {
    format!("kubeconfig-{runtime_id}")
}

words! {
    /// Why the condition has its status.
    Reason {
        /// True.
        SecretCreated = "KubeconfigSecretCreated",
        /// True.
        SecretRotated = "KubeconfigSecretRotated",
        /// False.
        FailedToCheckSecret = "FailedToCheckSecret",
        /// False.
        FailedToCreateSecret = "ConditionReasonFailedToCreateSecret",
        /// False.
        FailedToDeleteSecret = "ConditionReasonFailedToDeleteSecret",
        /// False.
        FailedToUpdateSecret = "FailedToUpdateSecret",
        /// False.
        FailedToGetKubeconfig = "FailedToGetKubeconfig",
    }
}

words! {
    /// The states we write.
    State {
        Ready = "Ready",
        Error = "Error",
    }
}

/// Which kubeconfig, and where to.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "infrastructuremanager.kyma-project.io",
    version = "v1",
    kind = "GardenerCluster",
    plural = "gardenerclusters",
    singular = "gardenercluster",
    namespaced,
    status = "GardenerClusterStatus",
    derive = "PartialEq",
    doc = "A kubeconfig of a Shoot, kept fresh in a Secret.",
    printcolumn = r#"{"name":"STATE","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"RUNTIME-ID","type":"string","jsonPath":".metadata.labels.kyma-project\\.io/runtime-id"}"#,
    printcolumn = r#"{"name":"SHOOT-NAME","type":"string","jsonPath":".metadata.labels.kyma-project\\.io/shoot-name"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct GardenerClusterSpec {
    /// The Secret.
    pub kubeconfig: Kubeconfig,
    /// The Shoot.
    pub shoot: ShootName,
}

/// Where a kubeconfig is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kubeconfig {
    /// The Secret.
    pub secret: SecretKey,
}

/// A key in a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKey {
    /// Name of the Secret.
    pub name: String,
    /// Namespace of the Secret.
    pub namespace: String,
    /// The key.
    pub key: String,
}

/// A Shoot of the configured project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShootName {
    /// Its name.
    pub name: String,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GardenerClusterStatus {
    /// In one word: `Ready` or `Error`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// In detail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
