//! The API of every Shoot: a port of its own, behind which a logical cluster answers.
//!
//! The port is bound when the address is first asked for, before anybody answers there: an address
//! is advertised long before its API server runs. It is held until the Shoot is gone, whatever becomes of
//! its API server meanwhile: another Shoot that got it would be taken for this one. Who holds a
//! certificate of the Shoot's client CA comes in; whether it is still valid is asked for every request, by
//! the simulated clock. A door that is down breaks every connection, as a hibernated cluster does.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::body::Body;
use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use jiff::Timestamp;
use kube_sandbox::{
    http as face,
    http::{Asker, Frame},
    kind::User,
    server::Server,
    tls,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, UnixTime, pem::PemObject as _},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::{
    net::TcpStream,
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::{
    certificates::{self, Pair},
    clock::Clock,
    engine::{faults::Endpoint, life::PersistedLife},
};

/// By which clock client certificates end.
#[derive(Debug, Clone)]
pub enum CertificateTime {
    /// The simulated one: whoever signed them went by it too.
    Simulated(Clock),
    /// The real one: a real Gardener API server signed them.
    Real,
}

/// The doors of all Shoots. Clones are the same doors.
#[derive(Clone)]
pub struct Endpoints {
    server: Server,
    time: CertificateTime,
    doors: Arc<Mutex<BTreeMap<String, Door>>>,
    troubles: Troubles,
}

/// What is wrong with whose API server (F12), by technical id.
type Troubles = Arc<Mutex<BTreeMap<String, Endpoint>>>;

/// How long a slow API server takes: longer than a hasty client waits, shorter than a patient one.
const SLOW: Duration = Duration::from_secs(5);

impl std::fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} endpoints", self.doors().len())
    }
}

struct Door {
    port: u16,
    /// Who answers, and for which authorities; nobody while it is down.
    gate: watch::Sender<Option<Gate>>,
    task: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Endpoints {
    /// None yet; logical clusters will be on this server.
    pub fn new(server: Server, time: CertificateTime) -> Self {
        Self { server, time, doors: Arc::default(), troubles: Arc::default() }
    }

    fn doors(&self) -> MutexGuard<'_, BTreeMap<String, Door>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a Shoot's API server answer badly, or well again.
    pub fn set_trouble(&self, technical_id: &str, trouble: Option<Endpoint>) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(trouble) => drop(troubles.insert(technical_id.to_owned(), trouble)),
            None => drop(troubles.remove(technical_id)),
        }
    }

    /// The port of a Shoot: the one it had, if it is free, else another.
    pub fn port(&self, technical_id: &str, had: u16) -> std::io::Result<u16> {
        let mut doors = self.doors();
        if let Some(door) = doors.get(technical_id) {
            return Ok(door.port);
        }
        let bind = |port| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let listener = if had == 0 { bind(0)? } else { bind(had).or_else(|_| bind(0))? };
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let (gate, gates) = watch::channel(None);
        let task = tokio::spawn(serve(tokio::net::TcpListener::from_std(listener)?, gates));
        doors.insert(technical_id.to_owned(), Door { port, gate, task });
        Ok(port)
    }

    /// Answers from now on, with the Shoot's certificates.
    pub async fn up(&self, technical_id: &str, kept: &PersistedLife) -> Result<(), String> {
        self.port(technical_id, kept.port).map_err(|error| error.to_string())?;
        self.add_cluster(technical_id).await?;
        let newest = kept.authorities.last().ok_or("there is no CA yet")?;
        let authorities: Vec<u64> = kept.authorities.iter().map(|one| one.number).collect();
        let as_before = |door: &Door| door.gate.borrow().as_ref().is_some_and(|gate| gate.authorities == authorities);
        if self.doors().get(technical_id).is_some_and(as_before) {
            // Nobody's connection breaks because an operation came along.
            return Ok(());
        }
        let ca = Pair { certificate: newest.cluster.certificate.clone(), key: newest.cluster.key.clone() };
        let pair =
            ca.server("kube-apiserver", &["localhost", "kubernetes.default.svc"]).map_err(|error| error.to_string())?;
        let clients: String = kept.authorities.iter().map(|one| one.client.certificate.as_str()).collect();
        let config = tls::config(&pair.certificate, &pair.key, &[]).map_err(|error| error.to_string())?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(clients.as_bytes()).flatten() {
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| error.to_string())?;
        let gate = Gate {
            server: self.server.clone(),
            cluster: technical_id.to_owned(),
            verifier,
            time: self.time.clone(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            authorities,
            troubles: self.troubles.clone(),
        };
        if let Some(door) = self.doors().get(technical_id) {
            door.gate.send_replace(Some(gate));
        }
        Ok(())
    }

    /// Making a cluster cannot be moved between threads, and workers are; so it has a thread to itself.
    pub(super) async fn add_cluster(&self, technical_id: &str) -> Result<(), String> {
        if self.server.cluster(technical_id).is_some() {
            return Ok(());
        }
        let (server, id) = (self.server.clone(), technical_id.to_owned());
        let runtime = tokio::runtime::Handle::current();
        let made =
            tokio::task::spawn_blocking(move || runtime.block_on(async { server.add_cluster(&id).await.map(drop) }));
        made.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Answers nobody any more; the port stays.
    pub fn down(&self, technical_id: &str) {
        if let Some(door) = self.doors().get(technical_id) {
            door.gate.send_replace(None);
        }
    }

    /// The cluster is gone, and its port free.
    pub async fn forget(&self, technical_id: &str) {
        self.doors().remove(technical_id);
        if let Err(error) = self.server.drop_cluster(technical_id).await {
            tracing::warn!(%error, technical_id, "a Shoot's cluster was not removed");
        }
    }

    /// The server on which the logical clusters are.
    pub fn server(&self) -> &Server {
        &self.server
    }
}

#[derive(Clone)]
struct Gate {
    server: Server,
    cluster: String,
    verifier: Arc<dyn ClientCertVerifier>,
    time: CertificateTime,
    acceptor: TlsAcceptor,
    /// The generations of CAs that count here.
    authorities: Vec<u64>,
    troubles: Troubles,
}

async fn serve(listener: tokio::net::TcpListener, mut gates: watch::Receiver<Option<Gate>>) {
    loop {
        // Dropped with the gate they came through, and every connection with it.
        let mut connections = JoinSet::new();
        let gate = gates.borrow_and_update().clone();
        loop {
            while connections.try_join_next().is_some() {}
            tokio::select! {
                changed = gates.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                accepted = listener.accept() => match (accepted, &gate) {
                    (Ok((stream, _)), Some(gate)) if gate.trouble() == Some(Endpoint::Refuses) => drop(stream),
                    (Ok((stream, _)), Some(gate)) => drop(connections.spawn(connection(stream, gate.clone()))),
                    (Ok((stream, _)), None) => drop(stream),
                    (Err(_), _) => crate::clock::sleep(Duration::from_millis(10)).await,
                },
            }
        }
    }
}

async fn connection(stream: TcpStream, gate: Gate) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let stream = gate.acceptor.accept(stream).await?;
    let shown: Arc<Vec<CertificateDer<'static>>> = Arc::new(
        stream
            .get_ref()
            .1
            .peer_certificates()
            .map(|shown| shown.iter().map(|one| one.clone().into_owned()).collect())
            .unwrap_or_default(),
    );
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, shown) = (gate.clone(), shown.clone());
        async move {
            match gate.trouble() {
                Some(Endpoint::Refuses) => return Err(face::Reset),
                Some(Endpoint::Slow) => crate::clock::sleep(SLOW).await,
                None => {}
            }
            let asker = gate.asker(&shown);
            let Some(cluster) = gate.server.cluster(&gate.cluster) else { return Err(face::Reset) };
            let frame = Frame {
                admin_token: gate.server.admin_token().into(),
                faults: None,
                recorder: None,
                prefix: String::new(),
            };
            face::handle(&cluster, &frame, asker, request.map(Body::new)).await
        }
    });
    if let Err(error) = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection to a Shoot ended early");
    }
    Ok(())
}

impl Gate {
    fn trouble(&self) -> Option<Endpoint> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).get(&self.cluster).copied()
    }

    fn asker(&self, shown: &[CertificateDer<'static>]) -> Asker {
        let [own, rest @ ..] = shown else { return Asker::Nobody };
        let now = match &self.time {
            CertificateTime::Simulated(clock) => clock.now(),
            CertificateTime::Real => crate::clock::now(),
        };
        match self.verifier.verify_client_cert(own, rest, unix(now)) {
            Ok(_) => {
                certificates::subject_of(own).map_or(Asker::BadCertificate, |subject| Asker::Certificate(user(subject)))
            }
            Err(_) => Asker::BadCertificate,
        }
    }
}

fn unix(time: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default()))
}

/// Gardener's organisations stand for rights that its shoots bind to roles; here they map to groups.
fn user(subject: certificates::Subject) -> User {
    let mut groups: Vec<String> = subject.groups;
    if groups.iter().any(|group| group.ends_with(":admins")) {
        groups.push("system:masters".to_owned());
    }
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    User::named(&subject.name, &groups)
}
