//! The role `manager`: the infrastructure manager, its probes and its page of figures.
//!
//! It needs no database: all its state is in Kubernetes. Its files are read again when they change, and a
//! file that is wrong leaves the old one in force.

mod drafts;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{Router, http::StatusCode, routing::get};
use slipway_engine::{SystemClock, SystemRandom};
use slipway_kube::access::{Client, ConnectError, from_operators_file, in_cluster};
use slipway_manager::{
    Manager, Parts,
    blueprints::{Files, LoadError},
    config::Switches,
};
use slipway_model::{
    ports::{Clock, Random as _},
    time::secs,
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::listener::{self, Limits};

pub use drafts::{Draft, Drafts};
pub use slipway_manager::{Probe, Settings};

/// How often the files are looked at. They come by a mounted volume, which is a minute behind anyway.
const LOOK_EVERY: Duration = secs(10);

/// Why the role does not start. Each is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// A file is wrong or missing.
    #[error("configuration")]
    Files(#[from] LoadError),
    /// A cluster cannot be reached, even in principle.
    #[error("{which}: {problem}")]
    Connect {
        /// Which.
        which: &'static str,
        /// Why.
        problem: ConnectError,
    },
    /// A port cannot be taken.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        problem: std::io::Error,
    },
}

/// How the role is run.
#[derive(Debug, Clone)]
pub struct RoleSettings {
    /// Kubeconfig of the control plane; the service account of the pod if there is none.
    pub kubeconfig: Option<PathBuf>,
    /// Kubeconfig of the garden.
    pub garden_kubeconfig: PathBuf,
    /// The converter configuration.
    pub converter_config: PathBuf,
    /// Requests a second to the garden.
    pub rate: f64,
    /// Requests at once to the garden.
    pub burst: u32,
    /// Longest time for a write to the garden.
    pub timeout: Duration,
    /// Where figures are shown.
    pub metrics: Option<SocketAddr>,
    /// Where probes are answered.
    pub health: Option<SocketAddr>,
    /// The rest.
    pub settings: Settings,
}

/// What a landscape on one machine gives instead of kubeconfigs.
pub struct Landscape {
    /// The control plane.
    pub kcp: Client,
    /// The garden.
    pub garden: Client,
    /// Time as the garden counts it.
    pub garden_time: Arc<dyn Clock>,
    /// The converter configuration.
    pub converter_config: PathBuf,
    /// How it is run.
    pub settings: Settings,
}

/// The running role.
pub struct ManagerRole {
    manager: Manager,
    _tasks: JoinSet<()>,
}

impl ManagerRole {
    /// Starts it against real clusters.
    pub async fn start(role: RoleSettings) -> Result<Self, RoleError> {
        let switches = switches(&role.settings);
        let files = Files::load(&role.converter_config, switches)?;
        let connect = |which| move |problem| RoleError::Connect { which, problem };
        let kcp = match &role.kubeconfig {
            Some(path) => from_operators_file(path).await.map_err(connect("control plane"))?,
            None => in_cluster().map_err(connect("control plane"))?,
        };
        let garden = from_operators_file(&role.garden_kubeconfig).await.map_err(connect("garden"))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let random = Arc::new(SystemRandom::default());
        let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "manager".to_owned());
        let parts = Parts {
            identity: format!("{host}_{:016x}", random.next_u64()),
            settings: role.settings,
            files,
            kcp,
            garden,
            garden_time: clock.clone(),
            clock: clock.clone(),
            random,
            garden_rate: (role.rate, role.burst),
            garden_timeout: role.timeout,
            calls: None,
        };
        let mut tasks = JoinSet::new();
        let metrics = listen(role.metrics).await?;
        let health = listen(role.health).await?;
        let manager = Manager::start(parts);
        serve(&mut tasks, metrics, figures(manager.probe()));
        serve(&mut tasks, health, probes(manager.probe()));
        tasks.spawn(reload(manager.probe(), role.converter_config, switches, clock));
        Ok(Self { manager, _tasks: tasks })
    }

    /// Starts it in a landscape on one machine.
    pub fn within(landscape: Landscape) -> Result<Self, RoleError> {
        let switches = switches(&landscape.settings);
        let files = Files::load(&landscape.converter_config, switches)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let parts = Parts {
            identity: "landscape".to_owned(),
            settings: landscape.settings,
            files,
            kcp: landscape.kcp,
            garden: landscape.garden,
            garden_time: landscape.garden_time,
            clock: clock.clone(),
            random: Arc::new(SystemRandom::default()),
            // A garden on the same machine needs no protection from us.
            garden_rate: (1_000.0, 1_000),
            garden_timeout: secs(15),
            calls: None,
        };
        let manager = Manager::start(parts);
        let mut tasks = JoinSet::new();
        tasks.spawn(reload(manager.probe(), landscape.converter_config, switches, clock));
        Ok(Self { manager, _tasks: tasks })
    }

    /// Answers how it is.
    pub fn probe(&self) -> Probe {
        self.manager.probe()
    }

    /// Stops in good order.
    pub async fn stop(self) {
        self.manager.stop().await;
    }
}

/// The definitions of our kinds, as JSON, for a cluster that does not have them.
pub fn definitions() -> Vec<serde_json::Value> {
    // Our own types; that they can be written is tested where they are.
    slipway_kube::crds::all().iter().filter_map(|definition| serde_json::to_value(definition).ok()).collect()
}

fn switches(settings: &Settings) -> Switches {
    Switches { network_restriction: settings.network_restriction, api_server_acl: settings.acl }
}

async fn listen(address: Option<SocketAddr>) -> Result<Option<TcpListener>, RoleError> {
    match address {
        None => Ok(None),
        Some(address) => {
            TcpListener::bind(address).await.map(Some).map_err(|problem| RoleError::Listen { address, problem })
        }
    }
}

fn serve(tasks: &mut JoinSet<()>, listener: Option<TcpListener>, router: Router) {
    if let Some(listener) = listener {
        // Ends with its task.
        let stop = CancellationToken::new();
        tasks.spawn(listener::serve(listener, router, Limits::default(), Arc::new(SystemClock::default()), stop));
    }
}

fn figures(probe: Probe) -> Router {
    Router::new().route("/metrics", get(move || async move { probe.figures() }))
}

fn probes(probe: Probe) -> Router {
    Router::new().route("/healthz", get(|| async { "ok\n" })).route(
        "/readyz",
        get(move || async move {
            match probe.unready() {
                None => (StatusCode::OK, "ready\n".to_owned()),
                Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            }
        }),
    )
}

/// Looks at the files, and takes new ones that are right.
async fn reload(probe: Probe, path: PathBuf, switches: Switches, clock: Arc<dyn Clock>) {
    let mut before = texts(&path, &probe);
    loop {
        clock.sleep(LOOK_EVERY).await;
        let now = texts(&path, &probe);
        if now == before {
            continue;
        }
        match Files::load(&path, switches) {
            Ok(files) => {
                tracing::info!("the configuration changed; Runtimes it concerns follow");
                probe.reload(files).await;
                before = texts(&path, &probe);
            }
            Err(error) => {
                tracing::error!(%error, "the changed configuration is wrong; the old one stays in force");
                probe.note_unread();
                before = now;
            }
        }
    }
}

/// What the files hold: the configuration, and those it names now.
fn texts(path: &Path, probe: &Probe) -> Vec<Option<String>> {
    let paths = probe.files().paths(path);
    paths.iter().map(|path| std::fs::read_to_string(path).ok()).collect()
}
