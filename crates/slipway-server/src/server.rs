//! A running server: database, engine and API, put together.
//!
//! The order of a start matters. The socket is taken first, because a port in use is found out
//! without touching anything; then the database, which refuses wrong keys and newer schemas before
//! it writes; then the engine. After the start the database may go away as it likes: the engine
//! waits for it, `/readyz` says so, and nothing ends.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use secrecy::ExposeSecret;
use slipway_broker::{Broker, Systems};
use slipway_clients::UsedBy;
use slipway_engine::{Engine, EngineConfig, Parts, Registry, Status, SystemClock, SystemEntropy, SystemRandom};
use slipway_model::{
    WaitKey,
    ports::{Clock, Runtimes, Storage, TransportError},
    time::secs,
};
use slipway_store::{Keyring, KeyringError, OpenError, PgOptions, PgStore, SqliteStore};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{ConfigError, Database, Keys, Settings, systems::check_required},
    http::{self, Api},
    metrics::Metrics,
    systems::{HealthFigures, Outside},
};

/// How long a stop tries to give operations back, after the grace of running steps. Together with
/// the default grace it stays well within the 30 s that Kubernetes leaves a pod.
const GIVING_BACK_MAX: Duration = secs(5);

/// Why a server does not start. Each is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The keys are wrong.
    #[error("configuration")]
    Keys(#[from] KeyringError),
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not, and what to do.
        problem: String,
    },
    /// No client of outside systems can be made.
    #[error("cannot prepare outgoing calls")]
    Transport(#[from] TransportError),
    /// A process table is wrong: a defect of the program.
    #[error("this program is broken")]
    Table(#[from] slipway_engine::TableError),
}

impl StartError {
    /// Whether the configuration is to blame, and not the world around.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Config(_) | Self::Keys(_) | Self::Database(OpenError::BadUrl(_)) => true,
            Self::Database(_) | Self::Listen { .. } | Self::Transport(_) | Self::Table(_) => false,
        }
    }
}

/// A running server. Dropping it abandons the work as a crash would; [`Server::stop`] ends it in
/// good order.
pub struct Server {
    api: Api,
    store: Store,
    engine: EngineConfig,
    address: SocketAddr,
    clock: Arc<dyn Clock>,
    grace: Duration,
    stop_listening: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
    counting: JoinHandle<()>,
}

impl Server {
    /// Starts everything.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let random = Arc::new(SystemRandom::default());
        let registry = registry(&settings)?;
        let keyring = keyring(&settings.keys)?;
        check_required(UsedBy::Broker, &settings.systems).map_err(ConfigError::from)?;
        let outside = Outside::connect(&settings.systems, &clock)?;

        let listener = listen(settings.listen).await?;
        let address = listener.local_addr().unwrap_or(settings.listen);
        let store = open(&settings.database, keyring, clock.clone()).await?;

        let grace = settings.engine.grace;
        let parts = Parts {
            store: store.storage.clone(),
            registry,
            systems: Arc::new(Systems { outside: outside.connections }),
            clock: clock.clone(),
            random,
            config: settings.engine.clone(),
        };
        let engine = Engine::<Broker>::start(parts);
        let metrics = Arc::new(Metrics::new().with(HealthFigures(outside.health)));
        let counting = tokio::spawn(metrics.clone().count(engine.events()));
        let api = Api::new(engine, metrics, clock.clone(), settings.token.clone(), settings.operation_timeout);

        let stop_listening = CancellationToken::new();
        let serving = {
            let (router, stop) = (http::router(api.clone()), stop_listening.clone());
            tokio::spawn(
                async move { axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await },
            )
        };
        tracing::info!(%address, "listening");
        Ok(Self { api, store, engine: settings.engine, address, clock, grace, stop_listening, serving, counting })
    }

    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database, for other roles of the same process.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The settings of its engine.
    pub fn engine_config(&self) -> &EngineConfig {
        &self.engine
    }

    /// Whether the engine is at work.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.api.status()
    }

    /// For parts in the same process that see things change.
    pub fn news(&self) -> News {
        News(self.api.clone())
    }

    /// Stops in good order: accepts nothing new, lets requests and running steps end within the
    /// grace, and gives all operations back so that another replica goes on at once.
    pub async fn stop(self) {
        let Self { api, clock, grace, stop_listening, serving, counting, .. } = self;
        stop_listening.cancel();
        let served = serving.abort_handle();
        let requests = async {
            tokio::select! {
                biased;
                _ = serving => {}
                () = clock.sleep(grace) => tracing::warn!("some requests did not end within the grace period"),
            }
        };
        let in_order = async { futures::join!(requests, api.stop_engine()) };
        tokio::select! {
            biased;
            _ = in_order => {}
            // The database may be away: its answers are not waited for without end.
            () = clock.sleep(grace + GIVING_BACK_MAX) => {
                tracing::warn!("could not give everything back in time; others take over when the lease ends");
            }
        }
        served.abort();
        counting.abort();
        tracing::info!("stopped");
    }
}

/// Tells the engine what happened outside.
#[derive(Clone)]
pub struct News(Api);

impl News {
    /// Something happened to the thing of this key; a text that is no key wakes nobody.
    pub async fn tell(&self, key: &str, cause: &str) {
        match key.parse::<WaitKey>() {
            Ok(key) => self.0.wake(&key, cause).await,
            Err(error) => tracing::warn!(%error, "news of something that nobody can wait on"),
        }
    }
}

fn registry(settings: &Settings) -> Result<Registry<Broker>, StartError> {
    let registry = slipway_broker::registry()?;
    registry
        .without_steps(settings.disabled_steps.iter().cloned())
        .map_err(|problem| StartError::Config(ConfigError::new("steps.disabled", format!("is no good: {problem}"))))
}

fn keyring(keys: &Keys) -> Result<Keyring, KeyringError> {
    Keyring::new(keys.by_id.clone(), &keys.active, Arc::new(SystemEntropy))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|error| {
        let problem = match error.kind() {
            io::ErrorKind::AddrInUse => "another program listens there; stop it or choose another port".to_owned(),
            io::ErrorKind::PermissionDenied => "that needs more rights; choose a port above 1023".to_owned(),
            io::ErrorKind::AddrNotAvailable => "this machine does not have that address".to_owned(),
            _ => error.to_string(),
        };
        StartError::Listen { address, problem }
    })
}

/// One database by its two ports.
#[derive(Clone)]
pub struct Store {
    /// Operations.
    pub storage: Arc<dyn Storage>,
    /// Runtimes.
    pub runtimes: Arc<dyn Runtimes>,
}

impl Store {
    /// Opens the database that the settings name.
    pub async fn open(settings: &Settings) -> Result<Self, StartError> {
        let keyring = keyring(&settings.keys)?;
        Ok(open(&settings.database, keyring, Arc::new(SystemClock::default())).await?)
    }

    fn of<S: Storage + Runtimes>(store: S) -> Self {
        let store = Arc::new(store);
        Self { storage: store.clone(), runtimes: store }
    }
}

async fn open(database: &Database, keyring: Keyring, clock: Arc<dyn Clock>) -> Result<Store, OpenError> {
    Ok(match database {
        Database::Postgres { url, max_connections } => {
            let options = PgOptions { max_connections: *max_connections, ..PgOptions::default() };
            Store::of(PgStore::open(url.expose_secret(), keyring, options, clock).await?)
        }
        Database::Sqlite { path } => Store::of(SqliteStore::open(path, keyring, clock).await?),
    })
}
