//! What the manager is measured against: a control plane next door, a garden and customers' clusters far away.
//!
//! All of them are clusters of one embedded API in this process, in memory; the manager is a process of its own
//! and comes in by TLS. The garden checks requests as always, but nobody works on its Shoots by itself: the
//! benchmark decides when Gardener is done. Requests are counted here, on the side of those who are asked.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use kube_sandbox::{
    Settings,
    cluster::Cluster,
    http::{Seen, Trouble},
    server::{Door, Server},
    status::Status,
};
use slipway_engine::SystemClock;
use slipway_model::time::hours;
use slipway_server::manager::definitions;
use slipway_sim::{
    garden::{
        self, Pace,
        chance::Chance,
        endpoints::{CertificateTime, Endpoints},
        engine::{faults::Faults, port},
        kinds,
        kubeconfig::Issuer,
        landscape,
        scheduler::Usage,
    },
    ground::{CONTROL_PLANE, GARDEN, control_plane},
};
use tempfile::TempDir;

use super::line::Line;
use crate::world::configuration;

/// Requests of the manager so far.
#[derive(Debug, Default)]
pub(super) struct RequestCounters {
    collections: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    kubeconfigs: AtomicU64,
    kcp_writes: AtomicU64,
    away: AtomicBool,
}

/// The same, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Requests {
    /// Lists and watches of the garden.
    pub garden_lists_and_watches: u64,
    /// Reads of one object of the garden.
    pub garden_reads: u64,
    /// Writes to the garden.
    pub garden_writes: u64,
    /// Kubeconfigs asked of the garden.
    pub garden_kubeconfigs: u64,
    /// Writes to the control plane: status, events, Secrets.
    pub control_plane_writes: u64,
}

impl Requests {
    /// What came since.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            garden_lists_and_watches: self.garden_lists_and_watches - before.garden_lists_and_watches,
            garden_reads: self.garden_reads - before.garden_reads,
            garden_writes: self.garden_writes - before.garden_writes,
            garden_kubeconfigs: self.garden_kubeconfigs - before.garden_kubeconfigs,
            control_plane_writes: self.control_plane_writes - before.control_plane_writes,
        }
    }

    /// All to the garden.
    pub(super) fn garden(self) -> u64 {
        self.garden_lists_and_watches + self.garden_reads + self.garden_writes + self.garden_kubeconfigs
    }
}

impl RequestCounters {
    fn note(&self, seen: &Seen<'_>) -> Option<Trouble> {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let is_read = seen.method == Method::GET;
        if seen.cluster == CONTROL_PLANE && !is_read {
            count(&self.kcp_writes);
        }
        if seen.cluster != GARDEN {
            return None;
        }
        let is_collection = ["/shoots", "/seeds"].iter().any(|end| seen.path.ends_with(end));
        count(match (is_read, is_collection) {
            (true, true) => &self.collections,
            (true, false) => &self.reads,
            (false, _) if seen.path.ends_with("/adminkubeconfig") => &self.kubeconfigs,
            (false, _) => &self.writes,
        });
        let away = self.away.load(Ordering::Relaxed);
        away.then(|| Trouble::Status(Status::new(503, "ServiceUnavailable", "the garden is away, on purpose")))
    }

    /// So far.
    pub(super) fn now(&self) -> Requests {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Requests {
            garden_lists_and_watches: of(&self.collections),
            garden_reads: of(&self.reads),
            garden_writes: of(&self.writes),
            garden_kubeconfigs: of(&self.kubeconfigs),
            control_plane_writes: of(&self.kcp_writes),
        }
    }
}

/// The clusters, and the files by which the manager finds them.
pub(super) struct Land {
    pub(super) clock: SystemClock,
    pub(super) round_trip: Duration,
    pub(super) kcp: Cluster,
    pub(super) garden: Cluster,
    pub(super) endpoints: Endpoints,
    pub(super) asked: Arc<RequestCounters>,
    pub(super) folder: TempDir,
    pub(super) configuration: PathBuf,
    garden_line: Line,
    _doors: [Door; 2],
}

/// For whoever reads it.
pub(super) fn prefix_error(what: &str) -> impl Fn(&dyn std::fmt::Display) -> String + use<> {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

impl Land {
    /// Starts everything but the manager.
    pub(super) async fn start(round_trip: Duration, history: usize) -> Result<Self, String> {
        let wrong = prefix_error("the clusters do not start");
        let clock = SystemClock::default();
        let folder = tempfile::Builder::new().prefix("slipway-bench-").tempdir().map_err(|error| wrong(&error))?;
        let settings = Settings { history, ..Settings::default() };
        let server = Server::start(settings).await.map_err(|error| wrong(&error))?;
        let kcp = control_plane(&server, definitions()).await.map_err(|error| wrong(&error))?;
        let garden = garden_of(&server).await?;
        let asked = Arc::new(RequestCounters::default());
        let noting = asked.clone();
        server.set_faults(Some(Arc::new(move |seen| noting.note(seen))));

        let kcp_door = door(&server, CONTROL_PLANE).await?;
        let garden_door = door(&server, GARDEN).await?;
        let line = Line::open(garden_door.address(), round_trip, clock).await.map_err(|error| wrong(&error))?;
        for (cluster, address) in [(CONTROL_PLANE, kcp_door.address()), (GARDEN, line.address())] {
            let text = server.admin_kubeconfig(cluster, &format!("https://{address}"));
            std::fs::write(folder.path().join(cluster), text).map_err(|error| wrong(&error))?;
        }
        let configuration = configuration(folder.path()).map_err(|error| wrong(&error))?;
        let endpoints = Endpoints::new(server, CertificateTime::Real);
        Ok(Self {
            clock,
            round_trip,
            kcp,
            garden,
            endpoints,
            asked,
            folder,
            configuration,
            garden_line: line,
            _doors: [kcp_door, garden_door],
        })
    }

    /// The garden goes away, or comes back. Connections break both times.
    pub(super) fn take_garden_away(&self, away: bool) {
        self.asked.away.store(away, Ordering::Relaxed);
        self.garden_line.cut();
    }
}

async fn door(server: &Server, cluster: &str) -> Result<Door, String> {
    let wrong = prefix_error("a cluster cannot be reached");
    let certificate = server.sign_server(&["127.0.0.1".to_owned()], hours(24)).map_err(|error| wrong(&error))?;
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    server.expose(cluster, &certificate, server.ca(), address).await.map_err(|error| wrong(&error))
}

/// A garden with its rules and its landscape, and nobody who works in it.
async fn garden_of(server: &Server) -> Result<Cluster, String> {
    let wrong = prefix_error("the garden does not start");
    let garden = server.add_cluster(GARDEN).await.map_err(|error| wrong(&error))?;
    let shared = kinds::Shared {
        clock: garden::Clock::start(Pace::Scale(1.0)),
        issuer: Issuer::default(),
        usage: Usage::default(),
        chance: Chance::new(1),
        faults: Faults::default(),
    };
    kinds::kinds(&shared).into_iter().for_each(|kind| garden.register(kind));
    port::seed(&garden, landscape::objects()).await.map_err(|error| wrong(&error))?;
    Ok(garden)
}
