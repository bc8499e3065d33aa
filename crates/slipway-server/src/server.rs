//! A running server: the database, the operator API, and the broker where it is among the roles. The other
//! roles of the process stand on the same database, and the API serves their operations too.
//!
//! The order of a start matters. The socket is taken first, because a port in use is found out
//! without touching anything; then the database, which refuses wrong keys and newer schemas before
//! it writes; then the engine. After the start the database may go away as it likes: the engine
//! waits for it, `/readyz` says so, and nothing ends.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use secrecy::ExposeSecret;
use slipway_broker::{Broker, Systems};
use slipway_engine::{
    Engine, EngineConfig, Parts, Registry, Status, Supervisor, SystemClock, SystemEntropy, SystemRandom,
};
use slipway_model::{
    WaitKey,
    ports::{Clock, Runtimes, Storage, TransportError},
    time::secs,
};
use slipway_store::{Keyring, KeyringError, OpenError, PgOptions, PgStore, SqliteStore};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{ConfigError, Database, Keys, Settings},
    http::{self, Api, Startable},
    listener::{self, Limits},
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
    serving: JoinHandle<()>,
    broker: Option<Engine<Broker>>,
}

impl Server {
    /// Starts the API and the broker.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let registry = registry(&settings)?;
        let outside = Outside::connect(&settings.systems, &clock())?;
        let closed = slipway_broker::not_offered(&outside.connections);
        let metrics = Arc::new(Metrics::new().with(HealthFigures(outside.health)));
        let mut server = Self::open(settings, metrics.clone()).await?;
        let engine = Engine::<Broker>::start(Parts {
            store: server.store.storage.clone(),
            registry,
            systems: Arc::new(Systems { outside: outside.connections }),
            clock: server.clock.clone(),
            random: Arc::new(SystemRandom::default()),
            config: server.engine.clone(),
        });
        // Ends with the engine.
        tokio::spawn(metrics.count(engine.events()));
        server.api.let_start(Startable { offers: engine.offers().to_vec(), closed });
        server.supervise(Supervisor::clone(&engine));
        server.broker = Some(engine);
        Ok(server)
    }

    /// Starts the API for the operations of other roles.
    pub async fn start_without_broker(settings: Settings) -> Result<Self, StartError> {
        Self::open(settings, Arc::new(Metrics::new())).await
    }

    async fn open(settings: Settings, metrics: Arc<Metrics>) -> Result<Self, StartError> {
        let clock = clock();
        let keyring = keyring(&settings.keys)?;
        let listener = listen(settings.listen).await?;
        let address = listener.local_addr().unwrap_or(settings.listen);
        let store = open(&settings.database, keyring, clock.clone()).await?;
        let api = Api::new(metrics, clock.clone(), settings.token.clone(), settings.operation_timeout);
        let stop_listening = CancellationToken::new();
        let serving = {
            let (router, stop) = (http::router(api.clone()), stop_listening.clone());
            tokio::spawn(listener::serve(listener, router, Limits::default(), clock.clone(), stop))
        };
        tracing::info!(%address, "listening");
        let (engine, grace) = (settings.engine.clone(), settings.engine.grace);
        Ok(Self { api, store, engine, address, clock, grace, stop_listening, serving, broker: None })
    }

    /// Shows and steers the operations of another role of this process too.
    pub fn supervise(&self, engine: Supervisor) {
        self.api.supervise(engine);
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

    /// Ends when every engine is at work.
    pub async fn until_ready(&self) {
        for engine in self.api.engines() {
            // An engine that is gone never will be; whoever has it knows.
            let _ = engine.status().wait_for(|status| *status == Status::Ready).await;
        }
    }

    /// For parts in the same process that see things change.
    pub fn news(&self) -> News {
        News(self.api.clone())
    }

    /// Stops in good order: accepts nothing new, lets requests and running steps end within the
    /// grace, and gives all operations back so that another replica goes on at once.
    pub async fn stop(self) {
        let Self { clock, grace, stop_listening, serving, broker, .. } = self;
        stop_listening.cancel();
        let served = serving.abort_handle();
        let requests = async {
            tokio::select! {
                biased;
                _ = serving => {}
                () = clock.sleep(grace) => tracing::warn!("some requests did not end within the grace period"),
            }
        };
        let engine = async {
            if let Some(engine) = broker {
                engine.stop().await;
            }
        };
        let in_order = async { futures::join!(requests, engine) };
        tokio::select! {
            biased;
            _ = in_order => {}
            // The database may be away: its answers are not waited for without end.
            () = clock.sleep(grace + GIVING_BACK_MAX) => {
                tracing::warn!("could not give everything back in time; others take over when the lease ends");
            }
        }
        served.abort();
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

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
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
