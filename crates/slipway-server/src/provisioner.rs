//! The role `provisioner`: its listener, its engine, its watch of the control plane and its rounds.
//!
//! It stands on the same database as the broker with an engine of its own; each engine takes only the
//! processes it knows. Outgoing calls of steps are recorded, whichever way they go.

mod figures;
mod file;

use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use slipway_clients::{director, reconciler};
use slipway_engine::{Engine, EngineConfig, Parts, Supervisor, SystemClock, SystemRandom};
use slipway_kube::access::{Access, Client, ConnectError, Options, from_operators_file, in_cluster};
use slipway_model::ports::{Clock, Runtimes, Storage, TransportError};
use slipway_provisioner::{
    Api, Installer, Metrics, Provisioner, Systems,
    auth::{Gate, Issuer},
    clusters::Clusters,
    http::{self, Sockets},
    jobs::{agents::Agents, intents::Intents, tombstones::Tombstones},
    reach, registry,
    watch::Watch,
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use self::figures::Figures;
pub use self::file::{File, FileError, IssuerFile};
use crate::{
    listener::{self, Limits},
    systems::{HealthFigures, Outside},
};
pub use slipway_provisioner::auth::{EVERY_TENANT, LocalIssuer, Scope};

/// Why the role does not start. Each is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// Its file is wrong.
    #[error("configuration")]
    File(#[from] FileError),
    /// The control plane cannot be reached, even in principle.
    #[error("control plane")]
    Connect(#[from] ConnectError),
    /// No client of outside systems can be made.
    #[error("cannot prepare outgoing calls")]
    Transport(#[from] TransportError),
    /// The port cannot be taken.
    #[error("cannot listen on {address}: {problem}; choose another address")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        problem: io::Error,
    },
    /// A process table is wrong: a defect of the program.
    #[error("this program is broken")]
    Table(#[from] slipway_engine::TableError),
}

/// A client of the control plane: by kubeconfig, or as the pod we are.
pub async fn control_plane(kubeconfig: Option<&Path>) -> Result<Client, RoleError> {
    Ok(match kubeconfig {
        Some(path) => from_operators_file(path).await?,
        None => in_cluster()?,
    })
}

/// What the role is given.
pub struct Given {
    /// Operations.
    pub storage: Arc<dyn Storage>,
    /// Runtimes, in the same database.
    pub runtimes: Arc<dyn Runtimes>,
    /// The control plane.
    pub control_plane: Client,
    /// Whose tokens are taken, beside those of the file.
    pub issuers: Vec<Issuer>,
    /// The engine's settings.
    pub engine: EngineConfig,
    /// What an operator has set.
    pub file: File,
}

/// The running role. Dropping it abandons the work as a crash would; [`ProvisionerRole::stop`] ends it in
/// good order.
pub struct ProvisionerRole {
    engine: Arc<Engine<Provisioner>>,
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    stopping: CancellationToken,
    clock: Arc<dyn Clock>,
    grace: Duration,
    sockets: Sockets,
    serving: JoinSet<()>,
    rounds: JoinSet<()>,
}

impl ProvisionerRole {
    /// Starts it.
    pub async fn start(given: Given) -> Result<Self, RoleError> {
        let Given { storage, runtimes, control_plane, mut issuers, engine: config, file } = given;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let random = Arc::new(SystemRandom::default());
        let Outside { connections, wire, health } = Outside::connect(&file.systems, &clock)?;
        issuers.extend(file.issuers(&wire, &clock)?);
        let metrics = Arc::new(Metrics::default().with(HealthFigures(health)));
        let director = connections.find::<director::Client>().map(|client| {
            let metrics = metrics.clone();
            Arc::new(client.observed(Arc::new(move |call, result| metrics.asked_director(call, result))))
        });
        let (installer, with_kyma) = match connections.find::<reconciler::Client>() {
            Some(reconciler) => (Installer::Reconciler(reconciler), false),
            None => (Installer::LifecycleManager { channel: file.channel.clone() }, true),
        };
        let namespace = file.settings.namespace.clone();
        // For looks and watches; steps have a way that is recorded.
        let watched = Access::new(control_plane.clone(), Options::new(Systems::CONTROL_PLANE, clock.clone()));
        let systems = Arc::new(Systems {
            runtimes: runtimes.clone(),
            control_plane: reach::recorded(control_plane, Systems::CONTROL_PLANE, clock.clone()),
            namespace: namespace.clone(),
            connect: reach::by_kubeconfig(clock.clone()),
            director: director.clone(),
            installer,
            has_agent: file.settings.agent.enabled,
            cleanup_prefix: file.cleanup_prefix.clone(),
            deadlines: file.deadlines,
        });
        let (listener, address) = listen(file.listen).await?;
        let figures = match file.metrics {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let metrics_address = figures.as_ref().map(|(_, address)| *address);
        let grace = config.grace;
        let engine = Arc::new(Engine::start(Parts {
            store: storage.clone(),
            registry: registry()?,
            systems: systems.clone(),
            clock: clock.clone(),
            random: random.clone(),
            config,
        }));
        let retention = file.settings.retention();
        let sockets = Sockets::new(&file.settings.limits);
        let stale_after = Duration::from_secs(file.settings.agent.stale_after_seconds);
        let api = Arc::new(Api {
            store: storage,
            runtimes: runtimes.clone(),
            engine: engine.clone(),
            clock: clock.clone(),
            random: random.clone(),
            director: director.clone(),
            clusters: Clusters::new(watched.clone(), namespace.clone()),
            gate: Gate::new(issuers, clock.clone()),
            settings: file.settings,
            metrics: metrics.clone(),
        });

        let stopping = CancellationToken::new();
        let (mut serving, mut rounds) = (JoinSet::new(), JoinSet::new());
        let (router, stop) = (http::router(api, sockets.clone()), stopping.clone());
        serving.spawn(listener::serve(listener, router, Limits::default(), clock.clone(), stop));
        if let Some((listener, _)) = figures {
            let page = Figures { metrics: metrics.clone(), runtimes: runtimes.clone(), clock: clock.clone() };
            let (router, stop) = (page.router(), stopping.clone());
            serving.spawn(listener::serve(listener, router, Limits::default(), clock.clone(), stop));
        }
        let (news, counting, by) = (engine.events(), metrics.clone(), clock.clone());
        rounds.spawn(async move { counting.count(news, &*by).await });
        let watch = Watch { engine: engine.clone(), control_plane: watched, namespace, random: random.clone() };
        rounds.spawn(async move { watch.run(with_kyma).await });
        if systems.has_agent {
            let agents = Agents { systems, clock: clock.clone(), random: random.clone(), stale_after, metrics };
            rounds.spawn(async move { agents.run().await });
        }
        if let Some(director) = director {
            let intents =
                Intents { director, runtimes: runtimes.clone(), clock: clock.clone(), random: random.clone() };
            rounds.spawn(async move { intents.run().await });
        }
        let tombstones = Tombstones { runtimes, clock: clock.clone(), random, retention };
        rounds.spawn(async move { tombstones.run().await });
        tracing::info!(%address, "the provisioner listens");
        Ok(Self { engine, address, metrics_address, stopping, clock, grace, sockets, serving, rounds })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its engine as operators see it, for [`Server::supervise`](crate::Server::supervise).
    pub fn supervisor(&self) -> Supervisor {
        Supervisor::clone(&self.engine)
    }

    /// Where its figures are, under `/metrics`.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Stops in good order: accepts nothing new, lets requests and running steps end within the grace, and
    /// gives all operations back so that another replica goes on at once.
    pub async fn stop(self) {
        let Self { engine, stopping, clock, grace, sockets, mut serving, mut rounds, .. } = self;
        rounds.shutdown().await;
        stopping.cancel();
        tokio::select! {
            biased;
            ((), ()) = async { tokio::join!(sockets.close(), async { while serving.join_next().await.is_some() {} }) } => {}
            () = clock.sleep(grace) => tracing::warn!("some requests did not end within the grace period"),
        }
        serving.shutdown().await;
        match Arc::try_unwrap(engine) {
            Ok(engine) => engine.stop().await,
            // Somebody still listens to its news; it ends as a crash would, and others take over.
            Err(engine) => drop(engine),
        }
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), RoleError> {
    let listener = TcpListener::bind(address).await.map_err(|problem| RoleError::Listen { address, problem })?;
    let address = listener.local_addr().unwrap_or(address);
    Ok((listener, address))
}
