//! The whole landscape in one process: what `slipway up` starts and what the scenarios play in.
//!
//! The server is the one of production, with SQLite in the data folder; the outside systems are
//! simulators, reached over real HTTP. Nothing below knows that it is in a sandbox. Everything that
//! must outlive a `kill -9` is in the data folder: the database, the key it is encrypted with, the
//! token, and every object of every cluster. The other simulators forget; a step that finds its work
//! gone does it again or passes over it.

mod alone;
mod clusters;
mod folder;
mod managing;
mod provisioning;
mod systems;
mod testing;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use slipway_server::{
    ConfigError, News, Server, Settings, Sources, StartError, config,
    manager::{ManagerRole, RoleError},
    provisioner::{self, File, ProvisionerRole},
    systems::UsedBy,
};
use slipway_sim::{Listening, Systems};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use alone::Alone;
use folder::Folder;

pub use clusters::{Clusters, ClustersError, Open};
pub use folder::FolderError;
pub use managing::configuration;
pub use slipway_sim::{
    garden::Pace,
    ground::{CONTROL_PLANE, GARDEN},
};
pub use testing::{LiveCluster, NewCluster, OngoingOperation, TENANT, cluster_on, gcp};

/// What to start.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where everything is kept; in a folder that goes with the landscape if nowhere.
    pub data_dir: Option<PathBuf>,
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where the provisioner listens and what is set about it. Its systems and its project are the landscape's.
    pub provisioner: File,
    /// How fast time passes in the garden.
    pub pace: Pace,
    /// All chance of the garden comes from this.
    pub seed: u64,
    /// Environment variables; they go over the settings made here, so that everything can be tried
    /// with other figures.
    pub environment: Vec<(String, String)>,
}

/// Why the landscape does not start. Each is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// The data folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A role got no threads of its own, or broke before it was at work.
    #[error("a role of the landscape cannot be run")]
    Run(#[from] io::Error),
    /// A simulator cannot listen.
    #[error("the simulators cannot listen on this machine")]
    Simulator(#[source] io::Error),
    /// The clusters do not start.
    #[error(transparent)]
    Clusters(#[from] ClustersError),
    /// A setting from the environment is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server does not start.
    #[error(transparent)]
    Server(#[from] StartError),
    /// The provisioner does not start.
    #[error("the provisioner does not start")]
    Provisioner(#[from] provisioner::RoleError),
    /// The infrastructure manager does not start.
    #[error("the infrastructure manager does not start")]
    Manager(#[from] RoleError),
}

impl UpError {
    /// Whether the configuration is to blame, and not the world around.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Config(_) | Self::Manager(RoleError::Files(_)) => true,
            Self::Server(error) => error.is_configuration(),
            Self::Folder(_)
            | Self::Run(_)
            | Self::Simulator(_)
            | Self::Clusters(_)
            | Self::Manager(_)
            | Self::Provisioner(_) => false,
        }
    }
}

/// The running landscape.
pub struct World {
    server: Server,
    provisioning: provisioning::Provisioning,
    manager: Alone<ManagerRole>,
    clusters: Clusters,
    folder: Folder,
    systems: Systems,
    listening: Vec<(&'static str, Listening)>,
}

/// The settings of a landscape that is not started yet. Apart from the start, because logging
/// begins between the two.
pub struct Plan {
    settings: Settings,
    provisioner: File,
    pace: Pace,
    clusters: Clusters,
    folder: Folder,
    systems: Systems,
    listening: Vec<(&'static str, Listening)>,
}

impl Plan {
    /// Takes the data folder, makes what is missing in it, and starts the simulators and the clusters.
    pub async fn make(options: Options) -> Result<Self, UpError> {
        let Options { data_dir, listen, provisioner, pace, seed, environment } = options;
        let folder = match data_dir {
            Some(path) => Folder::take(&path)?,
            None => Folder::take_temporary()?,
        };
        let systems = Systems::default();
        let mut listening = systems.listen().await.map_err(UpError::Simulator)?;
        let mut sources = Sources { file: None, environment: folder.variables(), flags: Vec::new() };
        let simulated = systems::settings(UsedBy::Broker, &systems, &listening);
        sources.environment.extend(systems::variables(&simulated));
        sources.environment.push(("SLIPWAY_LOG__LEVEL".to_owned(), "warn".to_owned()));
        // Those of the caller go over ours; the address has a flag of its own.
        sources.environment.extend(environment.into_iter().filter(|(name, _)| name != "SLIPWAY_LISTEN"));
        sources.flags.push(("listen".to_owned(), listen.to_string()));
        let settings = config::load(&sources)?;
        let clusters = Clusters::start(folder.path(), listen.ip(), pace, seed).await?;
        listening.push((GARDEN, clusters.garden.control().await.map_err(UpError::Simulator)?));
        Ok(Self { settings, provisioner, pace, clusters, folder, systems, listening })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Starts the server.
    pub async fn start(self) -> Result<World, UpError> {
        let Self { settings, provisioner, pace, clusters, folder, systems, listening } = self;
        let server = Server::start(settings).await?;
        tokio::spawn(pass_on(systems.hello.reads(), server.news()));
        let manager = managing::manage(folder.path(), &clusters).await?;
        let place = provisioning::Place {
            folder: &folder,
            server: &server,
            clusters: &clusters,
            systems: &systems,
            outside: systems::settings(UsedBy::Provisioner, &systems, &listening),
            file: provisioner,
            pace,
        };
        let provisioning = provisioning::Provisioning::start(place).await?;
        let world = World { server, provisioning, manager, clusters, folder, systems, listening };
        world.supervise_provisioner();
        Ok(world)
    }
}

/// What a person does to the simulators wakes whoever waits for it.
async fn pass_on(mut reads: Receiver<String>, news: News) {
    loop {
        match reads.recv().await {
            Ok(id) => news.tell(&format!("hello/{id}"), "the greeting was read").await,
            // Those who missed it have a timer.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

impl World {
    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Ends when the engines are at work.
    pub async fn until_ready(&self) {
        self.server.until_ready().await;
    }

    /// The file with the token of the API.
    pub fn token_file(&self) -> &Path {
        self.folder.token_file()
    }

    /// Where the provisioner listens.
    pub fn provisioner(&self) -> SocketAddr {
        self.provisioning.address
    }

    /// Where the provisioner's figures are.
    pub fn provisioner_metrics(&self) -> Option<SocketAddr> {
        self.provisioning.role.look(ProvisionerRole::metrics_address).flatten()
    }

    /// The file with a token for the provisioner.
    pub fn provisioner_token_file(&self) -> &Path {
        &self.provisioning.token_file
    }

    /// The folder.
    pub fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// The simulated systems: name and address.
    pub fn simulators(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.listening.iter().map(|(name, socket)| (*name, socket.url()))
    }

    /// The clusters.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }

    /// The state of the simulated systems.
    pub fn systems(&self) -> &Systems {
        &self.systems
    }

    /// Stops in good order.
    pub async fn stop(self) {
        self.stop_provisioner().await;
        self.server.stop().await;
        // Dropped, not said goodbye to: it holds no Lease here, and nothing of it is lost.
        drop(self.manager);
    }

    /// The provisioner stops in good order. The rest of the landscape goes on.
    pub async fn stop_provisioner(&self) {
        self.provisioning.role.stop(ProvisionerRole::stop).await;
    }

    /// The provisioner dies as by `kill -9`.
    pub async fn kill_provisioner(&self) {
        self.provisioning.role.kill().await;
    }

    /// Another provisioner, at the same address and on the same database.
    pub async fn start_provisioner(&self) -> Result<(), UpError> {
        self.provisioning.start_again().await?;
        self.supervise_provisioner();
        Ok(())
    }

    fn supervise_provisioner(&self) {
        self.provisioning.role.look(ProvisionerRole::supervisor).into_iter().for_each(|it| self.server.supervise(it));
    }

    /// The infrastructure manager stops in good order.
    pub async fn stop_manager(&self) {
        self.manager.stop(ManagerRole::stop).await;
    }

    /// The infrastructure manager dies as by `kill -9`.
    pub async fn kill_manager(&self) {
        self.manager.kill().await;
    }

    /// Another infrastructure manager, which knows only what Kubernetes remembers.
    pub async fn start_manager(&self) -> Result<(), UpError> {
        self.manager.replace(managing::manage(self.folder.path(), &self.clusters).await?);
        Ok(())
    }
}
