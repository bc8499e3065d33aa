//! A server that cases run on, and all a case may know of it.

use std::path::PathBuf;

use serde_json::Value;
use slipway_sim::{
    garden::{Driver, Garden, Options, landscape},
    kube::{self, kubeconfig::Credentials, pki::Ca},
    real,
};

/// A server under test.
pub(crate) struct Target {
    /// For the report, such as `kube-apiserver 1.36.4`.
    pub(crate) name: String,
    /// Where the `kubectl` for the sessions is.
    pub(crate) kubectl: PathBuf,
    /// The namespace all cases share; where there is none, each gets its own.
    pub(crate) home: Option<String>,
    server: Server,
}

enum Server {
    Kube(Box<real::Kube>),
    /// A real garden, and the engine of the simulator that plays the gardenlets of it.
    Garden {
        garden: Box<real::Garden>,
        _driver: Driver,
    },
    /// Ours: a logical cluster, and the garden that plays in it.
    Embedded {
        cluster: &'static str,
        server: kube::Server,
        door: kube::Door,
        _garden: Option<Garden>,
        _folder: tempfile::TempDir,
    },
}

/// The logical cluster the cases run in.
const CLUSTER: &str = "contract";

/// Long enough for any run.
const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);

impl Target {
    /// A real kube-apiserver, if the machine has one.
    pub(crate) async fn kube_apiserver() -> Option<Self> {
        let kube = real_server(real::Kube::start().await)?;
        Some(Self {
            name: format!("kube-apiserver {}", kube.binaries().kubernetes_version()),
            kubectl: kube.binaries().path("kubectl"),
            home: None,
            server: Server::Kube(Box::new(kube)),
        })
    }

    /// A real gardener-apiserver with the landscape of the simulator, if the machine has one.
    pub(crate) async fn gardener_apiserver() -> Option<Self> {
        let garden = real_server(real::Garden::start(&landscape::objects()).await)?;
        let options = Options { landscape: false, ..Options::default() };
        let driver = Driver::start(garden.kubeconfig(), options).await.expect("a driver");
        Some(Self {
            name: format!("gardener-apiserver {}", garden.front().binaries().gardener_version()),
            kubectl: garden.front().binaries().path("kubectl"),
            home: Some("garden-dev".to_owned()),
            server: Server::Garden { garden: Box::new(garden), _driver: driver },
        })
    }

    /// Our own API, on disk and over TLS as in production.
    pub(crate) async fn embedded() -> Self {
        let (server, folder) = our_server().await;
        server.add_cluster(CLUSTER).await.expect("a cluster");
        let server = expose(CLUSTER, server, None, folder).await;
        Self { name: "embedded".to_owned(), kubectl: kubectl(), home: None, server }
    }

    /// Our own garden, with the landscape that the real one gets too.
    pub(crate) async fn simulator() -> Self {
        let (server, folder) = our_server().await;
        let garden = Garden::on(server.clone(), Options::default()).await.expect("a garden");
        let server = expose("garden", server, Some(garden), folder).await;
        Self { name: "simulator".to_owned(), kubectl: kubectl(), home: Some("garden-dev".to_owned()), server }
    }

    /// The administrator's kubeconfig.
    pub(crate) fn admin(&self) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig().to_owned(),
            Server::Garden { garden, .. } => garden.kubeconfig().to_owned(),
            Server::Embedded { cluster, server, door, .. } => server.admin_kubeconfig(cluster, &door.url()),
        }
    }

    /// The kubeconfig of a user with a client certificate and no rights but those of RBAC.
    pub(crate) fn user(&self, name: &str, groups: &[&str]) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig_of(name, groups).expect("a certificate"),
            Server::Garden { garden, .. } => garden.front().kubeconfig_of(name, groups).expect("a certificate"),
            Server::Embedded { cluster, server, door, .. } => {
                let pair = server.sign_client(name, groups, DAY).expect("a certificate");
                server.kubeconfig_with(cluster, &door.url(), &Credentials::Certificate(&pair))
            }
        }
    }

    /// The kubeconfig of somebody whose certificate is signed by an authority nobody knows.
    pub(crate) fn stranger(&self) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig_of_stranger().expect("a certificate"),
            Server::Garden { garden, .. } => garden.front().kubeconfig_of_stranger().expect("a certificate"),
            Server::Embedded { cluster, server, door, .. } => {
                let ca = Ca::new("nobody-knows-it").expect("an authority");
                let pair = ca.client("stranger", &["system:masters"], DAY).expect("a certificate");
                server.kubeconfig_with(cluster, &door.url(), &Credentials::Certificate(&pair))
            }
        }
    }

    /// A kubeconfig with a bearer token; with an empty one, no credentials at all.
    pub(crate) fn token(&self, token: &str) -> String {
        match &self.server {
            Server::Kube(kube) => kube.kubeconfig_with_token(token),
            Server::Garden { garden, .. } => garden.front().kubeconfig_with_token(token),
            Server::Embedded { cluster, server, door, .. } => {
                server.kubeconfig_with(cluster, &door.url(), &Credentials::Token(token))
            }
        }
    }

    /// A service-account token with these claims, signed as the server signs them.
    pub(crate) fn sign_token(&self, claims: &Value) -> String {
        match &self.server {
            Server::Kube(kube) => kube.sign_token(claims),
            Server::Garden { garden, .. } => garden.front().sign_token(claims),
            Server::Embedded { cluster, server, .. } => {
                server.cluster(cluster).expect("the cluster").tokens().sign(claims)
            }
        }
    }
}

async fn our_server() -> (kube::Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = kube::Settings { folder: Some(folder.path().to_owned()), ..kube::Settings::default() };
    (kube::Server::start(settings).await.expect("a server"), folder)
}

/// Opens a port of the cluster's own, as a Shoot has: paths are then those of a real server.
async fn expose(
    cluster: &'static str,
    server: kube::Server,
    garden: Option<Garden>,
    folder: tempfile::TempDir,
) -> Server {
    let certificate = server.sign_server(&["127.0.0.1".to_owned()], DAY).expect("a certificate");
    let door = server.expose(cluster, &certificate, server.ca(), ([127, 0, 0, 1], 0).into()).await.expect("a port");
    Server::Embedded { cluster, server, door, _garden: garden, _folder: folder }
}

/// The one that was built with the real servers, or else the machine's.
fn kubectl() -> PathBuf {
    real::Binaries::find().map_or_else(|_| "kubectl".into(), |found| found.path("kubectl"))
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
