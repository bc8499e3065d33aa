//! What the provisioner answers. Fields that we do not ask for are not here.

use secrecy::SecretString;
use serde::Deserialize;

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// Its id.
    pub id: String,
    /// What it does, in the words of the contract.
    pub operation: String,
    /// Where it stands.
    pub state: State,
    /// In a sentence.
    #[serde(default)]
    pub message: Option<String>,
    /// The runtime it is about.
    #[serde(rename = "runtimeID")]
    pub runtime_id: String,
    /// The same in the Director.
    #[serde(default, rename = "compassRuntimeID")]
    pub compass_runtime_id: Option<String>,
    /// What last went wrong; an object of empty texts counts as none.
    #[serde(default)]
    pub last_error: Option<LastError>,
    /// What went wrong so far, the newest last.
    #[serde(default)]
    pub errors: Option<Vec<Said>>,
}

impl OperationStatus {
    /// What last went wrong, if anything did.
    pub fn error(&self) -> Option<&LastError> {
        self.last_error.as_ref().filter(|error| !error.err_message.is_empty())
    }
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum State {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Ended well.
    Succeeded,
    /// Ended with an error.
    Failed,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// In a sentence.
    pub err_message: String,
    /// The machine's word.
    pub reason: String,
    /// Who is to blame.
    pub component: String,
}

/// A sentence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Said {
    /// The sentence.
    #[serde(default)]
    pub message: Option<String>,
}

/// One runtime.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeStatus {
    /// Its latest operation.
    #[serde(default)]
    pub last_operation_status: Option<OperationStatus>,
    /// Its agent.
    #[serde(default)]
    pub runtime_connection_status: Option<ConnectionStatus>,
    /// What it is.
    #[serde(default)]
    pub runtime_configuration: Option<Configuration>,
    /// Whether it sleeps.
    #[serde(default)]
    pub hibernation_status: Option<HibernationStatus>,
    /// Why a part is missing.
    #[serde(default)]
    pub problems: Option<Vec<Said>>,
}

/// How its agent stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ConnectionStatus {
    /// In one word.
    pub status: Connection,
    /// Why not, or what else is wrong.
    #[serde(default)]
    pub errors: Option<Vec<Said>>,
}

/// How an agent stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Connection {
    /// Not seen yet.
    Pending,
    /// Connected.
    Connected,
    /// Not connected.
    Disconnected,
}

/// What a runtime is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// How to reach it; none while there is no cluster.
    #[serde(default)]
    pub kubeconfig: Option<SecretString>,
    /// Its cluster.
    #[serde(default)]
    pub cluster_config: Option<Cluster>,
    /// Its Kyma.
    #[serde(default)]
    pub kyma_config: Option<Kyma>,
}

/// A cluster as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Name of the Shoot.
    #[serde(default)]
    pub name: Option<String>,
    /// Kubernetes version.
    #[serde(default)]
    pub kubernetes_version: Option<String>,
    /// Region.
    #[serde(default)]
    pub region: Option<String>,
    /// Seed.
    #[serde(default)]
    pub seed: Option<String>,
    /// Cloud, in lower case.
    #[serde(default)]
    pub provider: Option<String>,
    /// Name of the secret binding.
    #[serde(default)]
    pub target_secret: Option<String>,
    /// Machine type.
    #[serde(default)]
    pub machine_type: Option<String>,
    /// Least number of machines.
    #[serde(default)]
    pub auto_scaler_min: Option<i32>,
    /// Greatest number of machines.
    #[serde(default)]
    pub auto_scaler_max: Option<i32>,
}

/// Kyma as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Kyma {
    /// Its version.
    #[serde(default)]
    pub version: Option<String>,
}

/// Whether a cluster sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HibernationStatus {
    /// It does.
    #[serde(default)]
    pub hibernated: Option<bool>,
    /// It could.
    #[serde(default)]
    pub hibernation_possible: Option<bool>,
}
