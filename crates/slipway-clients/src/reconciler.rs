//! The Reconciler (mothership): keeps Kyma in clusters as configured. REST and JSON, inside the cluster,
//! without a token.
//!
//! The same content again is the same version, so a repeat after a lost answer does no harm as long as
//! the content is the same to the letter; whoever renders it must render the same twice.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned};
use slipway_model::{
    ports::{Transport, TransportError},
    time::secs,
};

use crate::{answer::Answer, base_url::BaseUrl};

/// Its own limit.
const TIMEOUT: Duration = secs(30);

/// It takes no longer body.
pub const BODY_MAX: usize = 100_000;

/// Why a call brought no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not keep this cluster, or not in this version.
    #[error("the Reconciler does not know this cluster")]
    NotFound,
    /// It will not do this, however often it is asked.
    #[error("the Reconciler refused the request")]
    Refused(#[source] Answer),
    /// The configuration is longer than it takes.
    #[error("the configuration has {0} bytes, and the Reconciler takes at most {BODY_MAX}")]
    TooLong(usize),
    /// It cannot do this now.
    #[error("the Reconciler is busy or broken")]
    Busy(#[source] Answer),
    /// It answered something else than it promised.
    #[error("the Reconciler answered something that is not {0}")]
    Garbled(&'static str),
    /// No answer came. The effect is unknown, and a repeat does no harm.
    #[error("the Reconciler gave no answer")]
    Unreachable(#[source] TransportError),
}

impl Error {
    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Garbled(_) | Self::Unreachable(_) => true,
            Self::NotFound | Self::Refused(_) | Self::TooLong(_) => false,
        }
    }

    /// How long to stay away: what was asked for, or else `usual`.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match self {
            Self::Busy(answer) => answer.pause_or(usual),
            _ => usual,
        }
    }
}

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
pub struct Standing {
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
pub struct Client {
    transport: Arc<dyn Transport>,
    base: BaseUrl,
}

impl Client {
    /// The name in metrics and in the flight recorder.
    pub const SYSTEM: &'static str = "reconciler";

    /// A client of the Reconciler at this address, the part before `/v1`.
    pub fn new(transport: Arc<dyn Transport>, base: BaseUrl) -> Self {
        Self { transport, base }
    }

    /// Says what a cluster shall have. The same again is the same version, and another run.
    pub async fn apply(&self, cluster: &Cluster) -> Result<Standing, Error> {
        let body = serde_json::to_vec(cluster).map_err(|_| Error::Garbled("a cluster"))?;
        if body.len() > BODY_MAX {
            return Err(Error::TooLong(body.len()));
        }
        read(&self.send(Method::POST, &["v1", "clusters"], body.into()).await?)
    }

    /// How one version of a cluster's configuration stands. Changes nothing.
    pub async fn standing(&self, runtime_id: &str, version: i64) -> Result<Standing, Error> {
        let path = ["v1", "clusters", runtime_id, "configs", &version.to_string(), "status"];
        read(&self.send(Method::GET, &path, Bytes::new()).await?)
    }

    /// How a cluster stands. Changes nothing.
    pub async fn latest(&self, runtime_id: &str) -> Result<Standing, Error> {
        read(&self.send(Method::GET, &["v1", "clusters", runtime_id, "status"], Bytes::new()).await?)
    }

    /// Has a cluster cleaned up and forgotten. One that is not there is [`Error::NotFound`].
    pub async fn delete(&self, runtime_id: &str) -> Result<(), Error> {
        self.send(Method::DELETE, &["v1", "clusters", runtime_id], Bytes::new()).await.map(drop)
    }

    async fn send(&self, method: Method, path: &[&str], body: Bytes) -> Result<Response<Bytes>, Error> {
        let mut request =
            Request::builder().method(method).uri(self.base.at(path)).header(header::ACCEPT, "application/json");
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(body).expect("a checked address and fixed headers make a request");
        classify(self.transport.send(Self::SYSTEM, request, TIMEOUT).await.map_err(Error::Unreachable)?)
    }
}

/// The table: what each status means.
fn classify(answer: Response<Bytes>) -> Result<Response<Bytes>, Error> {
    match answer.status() {
        StatusCode::OK | StatusCode::CREATED => Ok(answer),
        StatusCode::NOT_FOUND => Err(Error::NotFound),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            Err(Error::Busy(Answer::of(&answer)))
        }
        status if status.is_server_error() => Err(Error::Busy(Answer::of(&answer))),
        _ => Err(Error::Refused(Answer::of(&answer))),
    }
}

fn read<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<T, Error> {
    serde_json::from_slice(answer.body()).map_err(|_| Error::Garbled("the standing of a cluster"))
}
