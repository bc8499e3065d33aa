//! Who installs Kyma: the Reconciler, or the Lifecycle Manager by a Kyma resource, as configured.
//!
//! Both are told what a cluster shall have and then asked how it stands; neither is waited for here. The
//! errors of both are the installer's towards the client, whichever it is.

mod lifecycle;
mod reconciler;

use std::time::Duration;

use secrecy::SecretString;
use slipway_clients::{chain, reconciler as reconciler_client};
use slipway_kube::access;
use slipway_model::runtime_record::RuntimeRecord;

use crate::{
    domain::Systems,
    input::{ClusterSecrets, ClusterSpec, KymaSecrets, KymaSpec},
    steps::described,
};

/// Who installs Kyma.
pub enum Installer {
    /// The Reconciler.
    Reconciler(reconciler_client::Client),
    /// The Lifecycle Manager: Kyma resources in the control plane.
    LifecycleManager {
        /// The release channel of every Kyma.
        channel: String,
    },
}

/// What a cluster shall have, and whose it is.
pub struct Order<'a> {
    /// The runtime.
    pub record: &'a RuntimeRecord,
    /// Its cluster.
    pub cluster: &'a ClusterSpec,
    /// Who administrates it.
    pub people: &'a ClusterSecrets,
    /// Its Kyma.
    pub kyma: &'a KymaSpec,
    /// Values of overrides that are secret.
    pub secrets: &'a KymaSecrets,
    /// How to reach it.
    pub kubeconfig: &'a SecretString,
}

/// How an installation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// All is as ordered.
    Ready,
    /// Not yet; in a sentence.
    Working(String),
    /// It does not work and will not by itself.
    Failed {
        /// The components that fail; may be empty.
        components: Vec<String>,
        /// In a sentence.
        message: String,
    },
    /// The installer does not know this cluster.
    Unknown,
}

/// Why the installer could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// In a sentence, with what caused it.
    pub message: String,
    /// Trying again later may help.
    pub is_temporary: bool,
    /// How long it asks us to stay away.
    pub pause: Option<Duration>,
}

impl From<reconciler_client::Error> for Error {
    fn from(error: reconciler_client::Error) -> Self {
        let pause = error.pause_or(Duration::ZERO);
        Self {
            message: chain(&error),
            is_temporary: error.is_temporary(),
            pause: Some(pause).filter(|it| !it.is_zero()),
        }
    }
}

impl From<access::Error> for Error {
    fn from(error: access::Error) -> Self {
        let pause = error.pause_or(Duration::ZERO);
        Self {
            message: described(&error),
            is_temporary: error.is_temporary(),
            pause: Some(pause).filter(|it| !it.is_zero()),
        }
    }
}

impl Installer {
    /// Orders an installation or a change of one. The same order again does no harm. Answers the version
    /// to ask about, where there is one.
    pub async fn order(&self, systems: &Systems, order: &Order<'_>) -> Result<Option<i64>, Error> {
        match self {
            Self::Reconciler(client) => reconciler::order(client, order).await.map(Some),
            Self::LifecycleManager { channel } => lifecycle::order(systems, channel, order).await,
        }
    }

    /// How the order of this version stands; without one, how the cluster stands.
    pub async fn standing(
        &self,
        systems: &Systems,
        record: &RuntimeRecord,
        version: Option<i64>,
    ) -> Result<Standing, Error> {
        match self {
            Self::Reconciler(client) => reconciler::standing(client, record, version).await,
            Self::LifecycleManager { .. } => lifecycle::standing(systems, record, version).await,
        }
    }

    /// Has Kyma removed; nobody waits for it. A cluster that is not known is fine.
    pub async fn remove(&self, systems: &Systems, record: &RuntimeRecord) -> Result<(), Error> {
        match self {
            Self::Reconciler(client) => reconciler::remove(client, record).await,
            Self::LifecycleManager { .. } => lifecycle::remove(systems, record).await,
        }
    }
}
