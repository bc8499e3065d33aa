//! What the provisioner's steps work on: the data they store, the memory they share, the systems they
//! call.

use std::{sync::Arc, time::Duration};

use secrecy::{ExposeSecret as _, SecretString, zeroize::Zeroize};
use serde::{Deserialize, Serialize};
use slipway_clients::director;
use slipway_engine::Domain;
use slipway_kube::access::{Access, Options};
use slipway_model::{
    WaitKey,
    ports::{BoxFuture, Clock, Runtimes},
    runtime_record::RuntimeId,
    time::secs,
};

use crate::{deadlines::Deadlines, installer::Installer};

/// Errors an operation keeps; the oldest go first.
pub const ERRORS_MAX: usize = 20;

/// The provisioner as the engine sees it.
#[derive(Debug, Clone, Copy)]
pub struct Provisioner;

impl Domain for Provisioner {
    type Data = Data;
    type Systems = Systems;
}

/// Outputs of steps, stored with the operation. Never a secret. A field may be added at any time:
/// operations stored before read it as its default. The first three are written by who accepts the
/// request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Data {
    /// The cluster changes.
    pub changes_cluster: bool,
    /// Kyma changes, or is installed.
    pub changes_kyma: bool,
    /// What the client should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The generation of the Runtime resource that holds what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The cluster's domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The seed that Gardener chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The version of the installer's configuration that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation: Option<i64>,
    /// What went wrong so far, the newest last, at most [`ERRORS_MAX`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Trouble>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// In a sentence.
    pub message: String,
    /// The machine's word.
    pub reason: String,
    /// Who is to blame.
    pub component: String,
}

impl Data {
    /// Keeps an error; the same one again is not news.
    pub fn add_error(&mut self, trouble: Trouble) {
        if self.errors.last() == Some(&trouble) {
            return;
        }
        self.errors.push(trouble);
        let surplus = self.errors.len().saturating_sub(ERRORS_MAX);
        self.errors.drain(..surplus);
    }
}

/// A kubeconfig in stage memory.
pub struct Kubeconfig(SecretString);

impl Kubeconfig {
    /// To be kept until its stage is over.
    pub fn new(text: SecretString) -> Self {
        Self(text)
    }

    /// The text.
    pub fn secret(&self) -> &SecretString {
        &self.0
    }

    /// The text, in the open.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl Zeroize for Kubeconfig {
    fn zeroize(&mut self) {
        // The old text wipes itself when it is dropped.
        self.0 = SecretString::from(String::new());
    }
}

/// A one-time token in stage memory.
pub struct AgentToken {
    /// The token.
    pub token: SecretString,
    /// Where to take it.
    pub connector_url: String,
}

impl Zeroize for AgentToken {
    fn zeroize(&mut self) {
        self.token = SecretString::from(String::new());
    }
}

/// Opens the way into a customer's cluster by its kubeconfig, or says why there is none. A function, because
/// there are as many clusters as runtimes and each has its own wire; tests lead all of them to the simulators.
pub type Connect = Arc<dyn Fn(SecretString) -> BoxFuture<'static, Result<Access, String>> + Send + Sync>;

/// Clients of the outside systems, and what an operator has set about them.
pub struct Systems {
    /// What is stored about runtimes.
    pub runtimes: Arc<dyn Runtimes>,
    /// The control plane's Kubernetes.
    pub control_plane: Access,
    /// The namespace of Runtimes and kubeconfigs there.
    pub namespace: String,
    /// The way into customers' clusters.
    pub connect: Connect,
    /// The Director; none when there is no registry of runtimes.
    pub director: Option<Arc<director::Client>>,
    /// Who installs Kyma.
    pub installer: Installer,
    /// Whether clusters have an agent.
    pub has_agent: bool,
    /// Services of brokers whose address begins like this are removed before their cluster.
    pub cleanup_prefix: String,
    /// How long each stage may take.
    pub deadlines: Deadlines,
}

impl Systems {
    /// The name of customers' clusters in metrics and in the flight recorder.
    pub const CLUSTER: &'static str = "runtime";
    /// The name of the control plane's Kubernetes there.
    pub const CONTROL_PLANE: &'static str = "kubernetes";
    /// Whose fields ours are, on every object we write.
    pub const FIELD_MANAGER: &'static str = "slipway-provisioner";

    /// How steps call Kubernetes. Nobody waits for a step, so a slow server has time to answer.
    pub fn access_options(cluster: &'static str, clock: Arc<dyn Clock>) -> Options {
        const TIMEOUT: Duration = secs(30);
        Options { read_timeout: TIMEOUT, write_timeout: TIMEOUT, ..Options::new(cluster, clock) }
    }
}

/// What an operation waits on: whoever sees something of its runtime change wakes it.
pub fn wait_key(id: RuntimeId) -> WaitKey {
    format!("runtime/{id}").parse().expect("a UUID fits a wait key")
}

#[cfg(test)]
mod tests {
    use slipway_model::JsonText;

    use super::*;

    fn trouble(number: usize) -> Trouble {
        Trouble { message: number.to_string(), reason: "r".to_owned(), component: "c".to_owned() }
    }

    #[test]
    fn data_of_who_accepts_are_read() {
        let text = r#"{"changesCluster":true,"changesKyma":false,"warnings":["w"]}"#;
        let data: Data = JsonText::parse(text.to_owned()).expect("JSON").to().expect("data");
        assert!(data.changes_cluster && !data.changes_kyma && data.warnings == ["w"]);
        assert_eq!(JsonText::empty().to::<Data>().expect("data"), Data::default());
    }

    #[test]
    fn errors_are_kept_newest_last_without_repeats_and_never_more_than_twenty() {
        let mut data = Data::default();
        (0..30).for_each(|number| data.add_error(trouble(number)));
        data.add_error(trouble(29));
        assert_eq!(data.errors.len(), ERRORS_MAX);
        assert_eq!(data.errors.first().map(|error| error.message.as_str()), Some("10"));
        assert_eq!(data.errors.last().map(|error| error.message.as_str()), Some("29"));
    }
}
