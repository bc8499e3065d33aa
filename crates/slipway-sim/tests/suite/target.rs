//! A server that cases run on, and all a case may know of it.

use std::path::PathBuf;

use serde_json::Value;
use slipway_sim::real;

/// A server under test.
pub(crate) struct Target {
    /// For the report, such as `kube-apiserver 1.36.4`.
    pub(crate) name: String,
    /// Where the `kubectl` for the sessions is.
    pub(crate) kubectl: PathBuf,
    server: Server,
}

enum Server {
    Kube(Box<real::Kube>),
}

impl Target {
    /// A real kube-apiserver, if the machine has one.
    pub(crate) async fn kube_apiserver() -> Option<Self> {
        let kube = real_server(real::Kube::start().await)?;
        Some(Self {
            name: format!("kube-apiserver {}", kube.binaries().kubernetes_version()),
            kubectl: kube.binaries().path("kubectl"),
            server: Server::Kube(Box::new(kube)),
        })
    }

    /// The administrator's kubeconfig.
    pub(crate) fn admin(&self) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig().to_owned(),
        }
    }

    /// The kubeconfig of a user with a client certificate and no rights but those of RBAC.
    pub(crate) fn user(&self, name: &str, groups: &[&str]) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig_of(name, groups).expect("a certificate"),
        }
    }

    /// The kubeconfig of somebody whose certificate is signed by an authority nobody knows.
    pub(crate) fn stranger(&self) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig_of_stranger().expect("a certificate"),
        }
    }

    /// A kubeconfig with a bearer token; with an empty one, no credentials at all.
    pub(crate) fn token(&self, token: &str) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig_with_token(token),
        }
    }

    /// A service-account token with these claims, signed as the server signs them.
    pub(crate) fn sign_token(&self, claims: &Value) -> String {
        match &self.server {
            Server::Kube(kube) => kube.sign_token(claims),
        }
    }
}

/// What the environment says about a real server that did not come: a loud line, or a failure.
fn real_server<T>(started: Result<T, real::Error>) -> Option<T> {
    match (started, real::Mode::from_env()) {
        (Ok(server), _) => Some(server),
        (Err(real::Error::Off), _) => {
            crate::contract::say("SKIPPED: SLIPWAY_REAL=off, no case ran on a real server");
            None
        }
        (Err(error @ real::Error::NotBuilt), real::Mode::Auto) => {
            crate::contract::say(&format!("SKIPPED: {error}; no case ran on a real server"));
            None
        }
        (Err(error), _) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}
