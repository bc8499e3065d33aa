//! A server that cases run on, and all a case may know of it.

use std::{path::PathBuf, time::Duration};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Door, Server, Settings, kubeconfig::Credentials, pki::Ca, real};

/// How users of a server prove who they are: kubeconfigs, as text.
pub trait Logins: Send + Sync {
    /// The administrator's.
    fn admin(&self) -> String;
    /// Of a user with a client certificate and no rights but those of RBAC.
    fn user(&self, name: &str, groups: &[&str]) -> String;
    /// Of somebody whose certificate is signed by an authority nobody knows.
    fn stranger(&self) -> String;
    /// With a bearer token; with an empty one, no credentials at all.
    fn token(&self, token: &str) -> String;
    /// A service-account token with these claims, signed as the server signs them.
    fn sign_token(&self, claims: &Value) -> String;
}

/// A server under test.
pub struct Target {
    /// For the report, such as `kube-apiserver 1.36.4`.
    pub name: String,
    /// Where the `kubectl` for the sessions is.
    pub kubectl: PathBuf,
    /// The namespace all cases share; where there is none, each gets its own.
    pub home: Option<String>,
    /// The server; it ends with this.
    pub logins: Box<dyn Logins>,
}

impl Target {
    /// The embedded server, on disk and over TLS.
    pub async fn embedded() -> Self {
        let server = Embedded::start("contract").await;
        Self { name: "embedded".to_owned(), kubectl: kubectl(), home: None, logins: Box::new(server) }
    }

    /// A real kube-apiserver, if the environment names one: see [`real::Binaries::from_env`].
    pub async fn kube_apiserver() -> Option<Self> {
        let kube = match real::Kube::start().await {
            Ok(kube) => kube,
            Err(error @ real::Error::NotFound) => {
                super::say(&format!("SKIPPED: {error}; no case ran on a real server"));
                return None;
            }
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        };
        let name = format!("kube-apiserver {}", kube.binaries().kubernetes_version());
        Some(Self { name, kubectl: kube.binaries().path("kubectl"), home: None, logins: Box::new(kube) })
    }
}

/// The one that came with the real servers, or else the machine's.
pub fn kubectl() -> PathBuf {
    real::Binaries::from_env().map_or_else(|_| "kubectl".into(), |found| found.path("kubectl"))
}

/// Long enough for any run.
const DAY: Duration = Duration::from_secs(86_400);

/// A cluster of the embedded server at a port of its own, so that paths are those of a real server.
pub struct Embedded {
    cluster: &'static str,
    server: Server,
    door: Door,
    _folder: TempDir,
}

impl Embedded {
    /// Starts a server in a folder of its own, with one cluster of this name.
    pub async fn start(cluster: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings { folder: Some(folder.path().to_owned()), ..Settings::default() };
        let server = Server::start(settings).await.expect("a server");
        server.add_cluster(cluster).await.expect("a cluster");
        let certificate = server.sign_server(&["127.0.0.1".to_owned()], DAY).expect("a certificate");
        let door = server.expose(cluster, &certificate, server.ca(), ([127, 0, 0, 1], 0).into()).await.expect("a port");
        Self { cluster, server, door, _folder: folder }
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    fn kubeconfig(&self, credentials: &Credentials<'_>) -> String {
        self.server.kubeconfig_with(self.cluster, &self.door.url(), credentials)
    }
}

impl Logins for Embedded {
    fn admin(&self) -> String {
        self.server.admin_kubeconfig(self.cluster, &self.door.url())
    }

    fn user(&self, name: &str, groups: &[&str]) -> String {
        let pair = self.server.sign_client(name, groups, DAY).expect("a certificate");
        self.kubeconfig(&Credentials::Certificate(&pair))
    }

    fn stranger(&self) -> String {
        let ca = Ca::new("nobody-knows-it").expect("an authority");
        let pair = ca.client("stranger", &["system:masters"], DAY).expect("a certificate");
        self.kubeconfig(&Credentials::Certificate(&pair))
    }

    fn token(&self, token: &str) -> String {
        self.kubeconfig(&Credentials::Token(token))
    }

    fn sign_token(&self, claims: &Value) -> String {
        self.server.cluster(self.cluster).expect("the cluster").tokens().sign(claims)
    }
}

impl Logins for real::Kube {
    fn admin(&self) -> String {
        self.kubeconfig().to_owned()
    }

    fn user(&self, name: &str, groups: &[&str]) -> String {
        self.kubeconfig_of(name, groups).expect("a certificate")
    }

    fn stranger(&self) -> String {
        self.kubeconfig_of_stranger().expect("a certificate")
    }

    fn token(&self, token: &str) -> String {
        self.kubeconfig_with_token(token)
    }

    fn sign_token(&self, claims: &Value) -> String {
        Self::sign_token(self, claims)
    }
}
