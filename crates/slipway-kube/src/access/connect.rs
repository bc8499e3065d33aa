//! Clients from kubeconfigs: those of operators, who may have theirs run programs and read files, and those out of
//! Secrets and answers, which [`super::kubeconfig`] reads.
//!
//! The library's own retries are switched off: they would sleep by the wall clock, hide requests from the
//! counters and take the class of a failure away from us.

use std::path::Path;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use slipway_model::time::secs;

use super::kubeconfig::parse;

/// Why no client can be made. No text of a kubeconfig is in it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file cannot be read.
    #[error("the kubeconfig {path} is of no use: {problem}; check the path and that it is a kubeconfig")]
    File {
        /// Which.
        path: String,
        /// Why.
        problem: String,
    },
    /// It is no kubeconfig, or lacks something.
    #[error("the kubeconfig is of no use: {0}")]
    Kubeconfig(String),
    /// There is none around us.
    #[error("this is no pod with a service account: {0}; give a kubeconfig")]
    NotInCluster(String),
    /// TLS cannot be prepared.
    #[error("the connection cannot be prepared: {0}")]
    Tls(String),
}

fn client(mut config: Config) -> Result<Client, ConnectError> {
    config.default_retry = false;
    config.connect_timeout = Some(secs(5));
    // A watch is quiet for as long as nothing happens; bookmarks come every minute or so.
    config.read_timeout = Some(secs(300));
    Client::try_from(config).map_err(|error| ConnectError::Tls(error.to_string()))
}

/// By a file that an operator has named, on the command line or in a setting.
pub async fn from_operators_file(path: &Path) -> Result<Client, ConnectError> {
    let wrong = |problem: String| ConnectError::File { path: path.display().to_string(), problem };
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| wrong(error.to_string()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    client(config.map_err(|error| wrong(error.to_string()))?)
}

/// By a text out of a Secret or an answer, which somebody else may have written.
pub async fn from_secret_text(text: &str) -> Result<Client, ConnectError> {
    let kubeconfig = parse(text).map_err(ConnectError::Kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    // Errors of the library may quote the text, and the text holds a key.
    let useless = |_| ConnectError::Kubeconfig("it names no cluster, or a user without credentials".to_owned());
    client(config.map_err(useless)?)
}

/// By the service account of the pod we are.
pub fn in_cluster() -> Result<Client, ConnectError> {
    client(Config::incluster().map_err(|error| ConnectError::NotInCluster(error.to_string()))?)
}
