//! The server: clusters, the doors into them, and one store behind them.

mod door;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::body::Body;
use http::{Request, Response};

pub use self::door::Door;
use super::{
    auth::tokens::TokenKey,
    bootstrap,
    cluster::Cluster,
    controllers::{self, Clusters},
    http::{self as face, Asker, Faults, Frame, Recorder, Reset},
    kind::User,
    kinds,
    kubeconfig::{self, Credentials},
    pki::{Ca, Pair, PkiError},
    registry::Registry,
    status::Status,
    store::{self, DiskError, Store, WriteError},
    tls::{self, TlsError},
};
use crate::clock;

/// Certificates of a laptop's landscape live for a year; a new start makes new ones.
const LIFE: Duration = Duration::from_secs(365 * 86_400);

/// Notes of the server itself belong to no cluster.
const OWN: &str = "";

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where it keeps everything; in memory only if nowhere.
    pub folder: Option<PathBuf>,
    /// How many changes of each kind a watch can be resumed over; 0 is the usual number.
    pub history: usize,
    /// Names and addresses it can be reached at, besides this machine's own.
    pub names: Vec<String>,
}

/// Why a server does not start, or a door does not open.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The store.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A write to the store.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A certificate.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The socket.
    #[error("the server cannot listen there")]
    Listen(#[from] std::io::Error),
    /// A cluster could not be filled.
    #[error("a cluster could not be filled")]
    Fill(#[from] Status),
    /// There is no such cluster.
    #[error("there is no cluster of this name")]
    NoCluster,
}

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    store: Store,
    clusters: Arc<Clusters>,
    ca: Ca,
    certificate: Pair,
    admin: Pair,
    admin_token: Arc<str>,
    faults: RwLock<Option<Faults>>,
    recorder: RwLock<Option<Recorder>>,
    controllers: tokio::task::JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("embedded Kubernetes API")
    }
}

impl Server {
    /// Starts a server with the clusters it had, listening nowhere yet.
    pub async fn start(settings: Settings) -> Result<Self, ServerError> {
        let mut kept = store::Settings { folder: settings.folder, ..store::Settings::default() };
        if settings.history > 0 {
            kept.history = settings.history;
        }
        let store = Store::open(kept).await?;
        let ca = match (text(&store, "ca.crt"), text(&store, "ca.key")) {
            (Some(certificate), Some(key)) => Ca(Pair { certificate, key }),
            _ => {
                let ca = Ca::new("kube-sandbox")?;
                store.set_note(OWN, "ca.crt", ca.0.certificate.as_bytes()).await?;
                store.set_note(OWN, "ca.key", ca.0.key.as_bytes()).await?;
                ca
            }
        };
        let admin_token = match text(&store, "admin.token") {
            Some(token) => token,
            None => {
                let token = hex(&clock::random::<24>());
                store.set_note(OWN, "admin.token", token.as_bytes()).await?;
                token
            }
        };
        let mut names = settings.names;
        names.extend(["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"].map(ToOwned::to_owned));
        let certificate = ca.server(&names, LIFE)?;
        let admin = ca.client("kubernetes-admin", &["system:masters"], LIFE)?;
        let clusters: Arc<Clusters> = Arc::new(RwLock::new(BTreeMap::new()));
        let controllers = tokio::spawn(controllers::run(Arc::downgrade(&clusters), store.clone()));
        let admin_token = admin_token.into();
        let (faults, recorder) = (RwLock::new(None), RwLock::new(None));
        let server = Self(Arc::new(Inner {
            store,
            clusters,
            ca,
            certificate,
            admin,
            admin_token,
            faults,
            recorder,
            controllers,
        }));
        for name in server.0.store.clusters() {
            server.open(&name).await?;
        }
        Ok(server)
    }

    /// A cluster, made if it is not there.
    pub async fn add_cluster(&self, name: &str) -> Result<Cluster, ServerError> {
        if let Some(cluster) = self.cluster(name) {
            return Ok(cluster);
        }
        self.0.store.add_cluster(name).await?;
        self.open(name).await
    }

    async fn open(&self, name: &str) -> Result<Cluster, ServerError> {
        let store = self.0.store.clone();
        let secret = match store.note(name, "token.key") {
            Some(secret) => secret,
            None => {
                let secret: Arc<[u8]> = clock::random::<32>().into();
                store.set_note(name, "token.key", &secret).await?;
                secret
            }
        };
        let registry = Registry::default();
        kinds::builtin().iter().for_each(|kind| registry.add(kind.clone()));
        let cluster = Cluster::new(name, store, registry, TokenKey::new(&secret));
        cluster.registry().all().iter().for_each(|kind| cluster.keep_history(kind));
        cluster.serve_definitions();
        let cluster = {
            let mut clusters = self.0.clusters.write().unwrap_or_else(PoisonError::into_inner);
            // Somebody else may have made it in the meantime; there is one of each.
            clusters.entry(name.to_owned()).or_insert(cluster).clone()
        };
        bootstrap::fill(&cluster).await?;
        controllers::resume(&cluster);
        Ok(cluster)
    }

    /// A cluster.
    pub fn cluster(&self, name: &str) -> Option<Cluster> {
        self.0.clusters.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The clusters there are.
    pub fn cluster_names(&self) -> Vec<String> {
        self.0.clusters.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Removes a cluster with everything in it; its watches end.
    pub async fn drop_cluster(&self, name: &str) -> Result<(), ServerError> {
        self.0.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(self.0.store.drop_cluster(name).await?)
    }

    /// Lets this choose what goes wrong, on every cluster; `None` ends it.
    pub fn set_faults(&self, faults: Option<Faults>) {
        *self.0.faults.write().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    /// Tells this about every request that is answered, on every cluster; `None` ends it.
    pub fn set_recorder(&self, recorder: Option<Recorder>) {
        *self.0.recorder.write().unwrap_or_else(PoisonError::into_inner) = recorder;
    }

    /// The CA that signed the server and knows its clients, as PEM.
    pub fn ca(&self) -> &str {
        &self.0.ca.0.certificate
    }

    /// Signs a client certificate: a user of every cluster.
    pub fn sign_client(&self, user: &str, groups: &[&str], life: Duration) -> Result<Pair, ServerError> {
        Ok(self.0.ca.client(user, groups, life)?)
    }

    /// Signs a certificate for a port of its own.
    pub fn sign_server(&self, names: &[String], life: Duration) -> Result<Pair, ServerError> {
        Ok(self.0.ca.server(names, life)?)
    }

    /// Opens everything, as a bearer token.
    pub fn admin_token(&self) -> &str {
        &self.0.admin_token
    }

    /// The path of a cluster on the common port.
    pub fn path(cluster: &str) -> String {
        format!("/clusters/{cluster}")
    }

    /// A kubeconfig for the administrator of a cluster, by the common port.
    pub fn kubeconfig(&self, cluster: &str, address: SocketAddr) -> String {
        self.admin_kubeconfig(cluster, &format!("https://{address}{}", Self::path(cluster)))
    }

    /// The same by any way that leads to the cluster and is signed by our CA.
    pub fn admin_kubeconfig(&self, cluster: &str, url: &str) -> String {
        self.kubeconfig_with(cluster, url, &Credentials::Certificate(&self.0.admin))
    }

    /// The same with other credentials.
    pub fn kubeconfig_with(&self, cluster: &str, url: &str, credentials: &Credentials<'_>) -> String {
        kubeconfig::render(cluster, url, self.ca(), credentials)
    }

    /// A client in this process, for the administrator of a cluster: no socket, no TLS.
    pub fn client(&self, cluster: &str) -> Result<kube::Client, ServerError> {
        self.client_as(cluster, User::admin())
    }

    /// A client in this process, for somebody.
    pub fn client_as(&self, cluster: &str, user: User) -> Result<kube::Client, ServerError> {
        let cluster = self.cluster(cluster).ok_or(ServerError::NoCluster)?;
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (server, cluster, user) = (server.clone(), cluster.clone(), user.clone());
            async move {
                let request = request.map(Body::new);
                server.handle(&cluster, String::new(), Asker::Known(user), request).await
            }
        });
        Ok(kube::Client::new(service, "default"))
    }

    /// Opens the common port: every cluster below its path.
    pub async fn listen(&self, address: SocketAddr) -> Result<Door, ServerError> {
        let tls = tls::tls(&self.0.certificate, &self.0.ca.0.certificate)?;
        let server = self.clone();
        Door::open(address, tls, move |asker, request| {
            let server = server.clone();
            async move { server.route(asker, request).await }
        })
        .await
    }

    /// Opens a port of one cluster's own, with its own certificate, for clients of its own CA.
    pub async fn expose(
        &self,
        cluster: &str,
        certificate: &Pair,
        client_ca: &str,
        address: SocketAddr,
    ) -> Result<Door, ServerError> {
        let tls = tls::tls(certificate, client_ca)?;
        let (server, name) = (self.clone(), cluster.to_owned());
        Door::open(address, tls, move |asker, request| {
            let (server, cluster) = (server.clone(), server.cluster(&name));
            async move {
                match cluster {
                    Some(cluster) => server.handle(&cluster, String::new(), asker, request).await,
                    None => Err(Reset),
                }
            }
        })
        .await
    }

    async fn route(&self, asker: Asker, request: Request<Body>) -> Result<Response<Body>, Reset> {
        let path = request.uri().path();
        let inside = path.strip_prefix("/clusters/").map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        let Some((name, rest)) = inside else {
            return Ok(match path {
                "/healthz" | "/livez" | "/readyz" => face::answers::typed(200, "text/plain; charset=utf-8", "ok"),
                _ => face::answers::nothing_here(),
            });
        };
        let Some(cluster) = self.cluster(name) else { return Ok(face::answers::nothing_here()) };
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let (prefix, inner) = (Self::path(name), format!("/{rest}{query}").parse());
        let Ok(inner) = inner else { return Ok(face::answers::nothing_here()) };
        let mut request = request;
        *request.uri_mut() = inner;
        self.handle(&cluster, prefix, asker, request).await
    }

    async fn handle(
        &self,
        cluster: &Cluster,
        prefix: String,
        asker: Asker,
        request: Request<Body>,
    ) -> Result<Response<Body>, Reset> {
        let faults = self.0.faults.read().unwrap_or_else(PoisonError::into_inner).clone();
        let recorder = self.0.recorder.read().unwrap_or_else(PoisonError::into_inner).clone();
        let frame = Frame { admin_token: self.0.admin_token.clone(), faults, recorder, prefix };
        face::handle(cluster, &frame, asker, request).await
    }
}

fn text(store: &Store, key: &str) -> Option<String> {
    String::from_utf8(store.note(OWN, key)?.to_vec()).ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
