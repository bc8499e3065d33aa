//! What the infrastructure manager has made of a runtime: read from Kubernetes, never written here.
//!
//! A request must not hang on a control plane that is away: every look has the short patience of a read, and what
//! cannot be seen is said in words. No customer's cluster is ever called from here.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_kube::{
    Runtime,
    access::{
        Access, Ask,
        resource::{RUNTIMES, SECRETS},
    },
    gardener_cluster,
};
use slipway_model::{
    Component, Reason,
    runtime_record::{RuntimeId, RuntimeRecord},
};

use crate::{
    errors::{ApiError, Class},
    ownership::{Foreign, OwnRuntime},
};

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
            Self::Away(why) => {
                ApiError::new(Class::Overloaded, Reason::ProvisionerInternal, format!("{why}; try again"))
            }
            Self::Foreign(foreign) => ApiError::new(Class::Forbidden, Reason::TenantMismatch, foreign.to_string()),
        };
        error.blaming(Component::ProvisionerK8s).about(runtime)
    }
}

/// Looks at Runtimes and kubeconfigs.
#[derive(Clone)]
pub struct Clusters {
    control_plane: Access,
    namespace: String,
}

impl Clusters {
    /// Looks in this namespace.
    pub fn new(control_plane: Access, namespace: impl Into<String>) -> Self {
        Self { control_plane, namespace: namespace.into() }
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
        self.look("Runtime", Ask::get(&RUNTIMES, &self.namespace, &id.to_string())).await
    }

    /// The kubeconfig; none if the manager has written none yet.
    pub async fn kubeconfig(&self, runtime: &OwnRuntime) -> Result<Option<SecretString>, Unseen> {
        let name = gardener_cluster::secret_name(runtime.name());
        let secret: Option<Value> = self.look("kubeconfig Secret", Ask::get(&SECRETS, &self.namespace, &name)).await?;
        Ok(secret.as_ref().and_then(kubeconfig_in))
    }

    async fn look<T: DeserializeOwned>(&self, what: &str, ask: Ask) -> Result<Option<T>, Unseen> {
        self.control_plane.find(ask).await.map_err(|error| {
            tracing::warn!(%error, what, "cannot be read");
            let why = match (error.code, error.reason.as_str()) {
                (Some(_), reason) => format!("Kubernetes refused it ({reason})"),
                (None, "Timeout") => "Kubernetes did not answer in time".to_owned(),
                (None, _) => "Kubernetes cannot be reached".to_owned(),
            };
            Unseen::Away(format!("the {what} cannot be read: {why}"))
        })
    }
}

/// The kubeconfig in its Secret; none if there is no text in it yet.
pub(crate) fn kubeconfig_in(secret: &Value) -> Option<SecretString> {
    let text = STANDARD.decode(secret["data"][gardener_cluster::SECRET_KEY].as_str()?).ok()?;
    String::from_utf8(text).ok().filter(|text| !text.is_empty()).map(SecretString::from)
}
