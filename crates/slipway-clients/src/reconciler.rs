//! The Reconciler (mothership): keeps Kyma in clusters as configured. REST and JSON, inside the cluster,
//! without a token.
//!
//! The same content again is the same version, so a repeat after a lost answer does no harm as long as
//! the content is the same to the letter; whoever renders it must render the same twice.

#[cfg(test)]
mod tests;

use http::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

pub use crate::call::Error;
use crate::{call::Connection, connections::SystemClient};

/// It takes no longer body.
pub const BODY_MAX: usize = 100_000;

/// What every answer about a cluster is.
const STANDING: &str = "the standing of a cluster";

/// What a cluster shall have. Every field is sent, empty where there is nothing to say.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// The runtime.
    #[serde(rename = "runtimeID")]
    pub runtime_id: String,
    /// What it is called.
    pub runtime_input: RuntimeInput,
    /// What is installed.
    pub kyma_config: KymaConfig,
    /// Whose it is.
    pub metadata: Metadata,
    /// How to reach it.
    #[serde(serialize_with = "exposed")]
    pub kubeconfig: SecretString,
}

/// What a runtime is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RuntimeInput {
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
}

/// What is installed.
#[derive(Debug, Clone, Serialize)]
pub struct KymaConfig {
    /// Kyma's version.
    pub version: String,
    /// `Evaluation` or `Production`.
    pub profile: String,
    /// Users who administrate the cluster.
    pub administrators: Vec<String>,
    /// The components, in order.
    pub components: Vec<Component>,
}

/// One component.
#[derive(Debug, Clone, Serialize)]
pub struct Component {
    /// Name.
    pub component: String,
    /// Where it goes.
    pub namespace: String,
    /// Where it comes from, if not from the release.
    #[serde(rename = "URL")]
    pub url: String,
    /// Its own version, if not the release's.
    pub version: String,
    /// Overrides.
    pub configuration: Vec<Entry>,
}

/// One override.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// Key.
    pub key: String,
    /// Value; any may be a secret.
    #[serde(serialize_with = "exposed")]
    pub value: SecretString,
    /// It is.
    pub secret: bool,
}

/// Whose a cluster is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Global account.
    #[serde(rename = "globalAccountID")]
    pub global_account_id: String,
    /// Subaccount.
    #[serde(rename = "subAccountID")]
    pub sub_account_id: String,
    /// Service.
    #[serde(rename = "serviceID")]
    pub service_id: String,
    /// Plan.
    #[serde(rename = "servicePlanID")]
    pub service_plan_id: String,
    /// Plan, by name.
    #[serde(rename = "servicePlanName")]
    pub service_plan_name: String,
    /// Shoot.
    #[serde(rename = "shootName")]
    pub shoot_name: String,
    /// Instance.
    #[serde(rename = "instanceID")]
    pub instance_id: String,
    /// Region.
    pub region: String,
}

fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

/// How a cluster stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerStatus {
    /// Which configuration this is about.
    pub configuration_version: i64,
    /// In one word.
    pub status: Status,
    /// What does not work.
    #[serde(default)]
    pub failures: Vec<Failure>,
}

/// A component that does not work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Failure {
    /// Which.
    pub component: String,
    /// Why.
    pub reason: String,
}

/// How a cluster stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It will be looked at.
    ReconcilePending,
    /// It is worked on.
    Reconciling,
    /// It did not work, and is tried again.
    ReconcileErrorRetryable,
    /// All is as configured.
    Ready,
    /// It does not work.
    Error,
    /// An operator switched it off.
    ReconcileDisabled,
    /// It will be removed.
    DeletePending,
    /// It is being removed.
    Deleting,
    /// Removing did not work, and is tried again.
    DeleteErrorRetryable,
    /// It is removed.
    Deleted,
    /// Removing does not work.
    DeleteError,
}

/// The client.
#[derive(Clone)]
pub struct Client(Connection);

impl SystemClient for Client {
    const NAME: &'static str = "reconciler";

    fn over(connection: Connection) -> Self {
        Self(connection)
    }
}

impl Client {
    /// Says what a cluster shall have. The same again is the same version, and another run.
    pub async fn apply(&self, cluster: &Cluster) -> Result<ReconcilerStatus, Error> {
        self.0.call(Method::POST, &["v1", "clusters"]).json(cluster).at_most(BODY_MAX)?.read(STANDING).await
    }

    /// How one version of a cluster's configuration stands; not found if it is not kept, or not in this
    /// version. Changes nothing.
    pub async fn standing(&self, runtime_id: &str, version: i64) -> Result<ReconcilerStatus, Error> {
        let path = ["v1", "clusters", runtime_id, "configs", &version.to_string(), "status"];
        self.0.call(Method::GET, &path).read(STANDING).await
    }

    /// How a cluster stands. Changes nothing.
    pub async fn latest(&self, runtime_id: &str) -> Result<ReconcilerStatus, Error> {
        self.0.call(Method::GET, &["v1", "clusters", runtime_id, "status"]).read(STANDING).await
    }

    /// Has a cluster cleaned up and forgotten; not found if it is not there.
    pub async fn delete(&self, runtime_id: &str) -> Result<(), Error> {
        self.0.call(Method::DELETE, &["v1", "clusters", runtime_id]).send().await.map(drop)
    }
}
