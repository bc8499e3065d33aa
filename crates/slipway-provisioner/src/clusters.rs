//! What the infrastructure manager has made of a runtime: read from Kubernetes, never written here.
//!
//! A request must not hang on a control plane that is away: every look has a short patience, and what
//! cannot be seen is said in words. No customer's cluster is ever called from here.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use secrecy::SecretString;
use slipway_kube::{Runtime, gardener_cluster};
use slipway_model::{
    ports::Clock,
    runtime_record::{RuntimeId, RuntimeRecord},
    time::secs,
};

use crate::{
    errors::{ApiError, Class, component, reason},
    ownership::{Foreign, OwnRuntime},
};

/// Longer than any healthy answer takes, and short beside what a client waits.
const PATIENCE: Duration = secs(5);

/// Why something cannot be seen, in words for whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// Kubernetes does not tell; trying again later may help.
    #[error("{0}")]
    Away(String),
    /// It is not the runtime's.
    #[error(transparent)]
    Foreign(#[from] Foreign),
}

impl Unseen {
    /// For a client whose request needs what is not seen.
    pub(crate) fn into_error(self, runtime: RuntimeId) -> ApiError {
        let error = match &self {
            Self::Away(why) => ApiError::new(Class::Overloaded, reason::INTERNAL, format!("{why}; try again")),
            Self::Foreign(foreign) => ApiError::new(Class::Forbidden, reason::TENANT_MISMATCH, foreign.to_string()),
        };
        error.blaming(component::K8S).about(runtime)
    }
}

/// Looks at Runtimes and kubeconfigs.
#[derive(Clone)]
pub struct Clusters {
    client: kube::Client,
    namespace: String,
    clock: Arc<dyn Clock>,
}

impl Clusters {
    /// Looks in this namespace.
    pub fn new(client: kube::Client, namespace: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client, namespace: namespace.into(), clock }
    }

    /// The Runtime of a record; none if there is none (yet, or any more).
    pub async fn runtime(&self, record: &RuntimeRecord) -> Result<Option<OwnRuntime>, Unseen> {
        let found = self.named(record.id).await?;
        Ok(found.map(|runtime| OwnRuntime::prove(runtime, record)).transpose()?)
    }

    /// Whether there is a Runtime of this id, whosever it is.
    pub async fn has(&self, id: RuntimeId) -> Result<bool, Unseen> {
        Ok(self.named(id).await?.is_some())
    }

    async fn named(&self, id: RuntimeId) -> Result<Option<Runtime>, Unseen> {
        let api: Api<Runtime> = Api::namespaced(self.client.clone(), &self.namespace);
        self.look("Runtime", api.get_opt(&id.to_string())).await
    }

    /// The kubeconfig; none if the manager has written none yet.
    pub async fn kubeconfig(&self, runtime: &OwnRuntime) -> Result<Option<SecretString>, Unseen> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let name = gardener_cluster::secret_name(runtime.name());
        let secret = self.look("kubeconfig Secret", api.get_opt(&name)).await?;
        let bytes = secret.and_then(|secret| secret.data?.remove(gardener_cluster::SECRET_KEY));
        let text = bytes.and_then(|bytes| String::from_utf8(bytes.0).ok()).filter(|text| !text.is_empty());
        Ok(text.map(SecretString::from))
    }

    async fn look<T>(&self, what: &str, asked: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Unseen> {
        tokio::select! {
            biased;
            answer = asked => answer.map_err(|error| {
                tracing::warn!(%error, what, "cannot be read");
                let why = match &error {
                    kube::Error::Api(status) => format!("Kubernetes refused it ({})", status.reason),
                    _ => "Kubernetes cannot be reached".to_owned(),
                };
                Unseen::Away(format!("the {what} cannot be read: {why}"))
            }),
            () = self.clock.sleep(PATIENCE) => Err(Unseen::Away(format!("the {what} cannot be read: Kubernetes did not answer in time"))),
        }
    }
}
