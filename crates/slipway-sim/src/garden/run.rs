//! Starting a garden: with an API of its own, or as the driver of a real one.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use kube_sandbox::{
    cluster::Cluster,
    server::{self, Door, Server, ServerError},
    status::Status,
};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::{
    chance::Chance,
    clock::{Clock, Pace},
    endpoints::{CertificateTime, Endpoints},
    engine::{
        faults::{Aimed, Faults},
        life::Settings,
        port::{self, Port, Remote, SHOOTS},
        protection::Users,
        runtime::{self, Shared},
    },
    journal::Journal,
    kinds,
    kubeconfig::Issuer,
    landscape,
    problems::CORE,
    recording,
    scheduler::Usage,
    value::text,
};

/// The logical cluster the garden is.
pub(crate) const CLUSTER: &str = "garden";

/// How a garden is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where everything is kept; in memory only if nowhere.
    pub data: Option<PathBuf>,
    /// Where its API listens; a free port of this machine unless told otherwise.
    pub listen: SocketAddr,
    /// How time passes.
    pub pace: Pace,
    /// All chance comes from this.
    pub seed: u64,
    /// How the landscape is run.
    pub settings: Settings,
    /// Whether to write the landscape's objects.
    pub landscape: bool,
    /// When it begins; now unless told otherwise. What was stored later than that is where it goes on.
    pub start: Option<Timestamp>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            // A creation of eight minutes takes under a second.
            pace: Pace::Scale(600.0),
            seed: 1,
            settings: Settings::default(),
            landscape: true,
            start: None,
        }
    }
}

/// Why a garden does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its API does not.
    #[error("the garden's API does not start")]
    Server(#[from] ServerError),
    /// The landscape was refused.
    #[error("the landscape was refused")]
    Landscape(#[from] Status),
    /// The journal cannot be written.
    #[error("the journal cannot be written")]
    Journal(#[from] std::io::Error),
    /// The kubeconfig of the real garden is of no use.
    #[error("the kubeconfig is of no use: {0}")]
    Kubeconfig(String),
}

/// What both ways to run have in common.
#[derive(Debug)]
struct Playing {
    clock: Clock,
    faults: Faults,
    journal: Journal,
    endpoints: Endpoints,
    bell: Arc<tokio::sync::Notify>,
    questions: mpsc::UnboundedSender<runtime::Question>,
    task: JoinHandle<()>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The later of when it is to begin and the last time anybody wrote down: a garden that goes on from its data does
/// not go back in time, however fast its clock ran.
async fn resume_at<P: Port>(port: &P, begin: Timestamp) -> Result<Timestamp, Status> {
    let shoots = port.list(SHOOTS, "").await?;
    let times = shoots.iter().filter_map(|shoot| text(shoot, "status.lastOperation.lastUpdateTime").parse().ok());
    Ok(times.fold(begin, Timestamp::max))
}

fn play<P: Port>(shared: Shared<P>) -> Playing {
    let (questions, asked) = mpsc::unbounded_channel();
    Playing {
        questions,
        clock: shared.clock.clone(),
        faults: shared.faults.clone(),
        journal: shared.journal.clone(),
        endpoints: shared.endpoints.clone(),
        bell: shared.bell.clone(),
        task: tokio::spawn(runtime::run(shared, asked)),
    }
}

/// Everything a garden can be told while it runs, in either way.
macro_rules! told {
    () => {
        /// Simulated time: advance it, set its pace.
        pub fn clock(&self) -> &Clock {
            &self.playing.clock
        }

        /// Waits until everything that is due is done; answers when something will be due next, if nothing happens
        /// before. Only a clock that stands still leaves time to use the answer.
        pub async fn settled(&self) -> Option<Timestamp> {
            let (question, answer) = oneshot::channel();
            self.playing.questions.send(question).ok()?;
            answer.await.ok().flatten()
        }

        /// Moves a clock that stands still to the next moment at which something happens, and lets it happen;
        /// answers that moment, or nothing if nothing is due any more.
        pub async fn step(&self) -> Option<Timestamp> {
            let next = self.settled().await?;
            self.playing.clock.advance_to(next);
            self.settled().await;
            Some(next)
        }

        /// What happened.
        pub fn journal(&self) -> &Journal {
            &self.playing.journal
        }

        /// Switches a fault on.
        pub fn inject(&self, fault: Aimed) {
            let more = serde_json::to_value(&fault).unwrap_or_default();
            self.playing.journal.record(self.playing.clock.now(), "fault", &fault.shoot, more);
            self.playing.faults.inject(fault);
            self.playing.bell.notify_one();
        }

        /// Switches all faults off that strike this Shoot (`namespace/name`), or all there are.
        pub fn clear_faults(&self, shoot: &str) {
            self.playing.journal.record(self.playing.clock.now(), "faults cleared", shoot, Value::Null);
            self.playing.faults.clear(shoot);
            self.playing.bell.notify_one();
        }

        /// The faults that are on.
        pub fn faults(&self) -> Vec<Aimed> {
            self.playing.faults.all()
        }

        /// The doors of Shoots.
        pub fn endpoints(&self) -> &Endpoints {
            &self.playing.endpoints
        }
    };
}

/// A garden with an API of its own.
#[derive(Debug)]
pub struct Garden {
    server: Server,
    cluster: Cluster,
    door: Option<Door>,
    chance: Chance,
    playing: Playing,
    /// Held by whoever lets it become another.
    pub(super) importing: tokio::sync::Mutex<()>,
}

impl Garden {
    /// Starts one on a server of its own, and opens its port.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let settings = server::Settings { folder: options.data.clone(), ..server::Settings::default() };
        let server = Server::start(settings).await?;
        let door = server.listen(options.listen).await?;
        let mut garden = Self::on(server, options).await?;
        garden.door = Some(door);
        Ok(garden)
    }

    /// Starts one on a server that is there, as its cluster `garden`.
    pub async fn on(server: Server, options: Options) -> Result<Self, Error> {
        let cluster = server.add_cluster(CLUSTER).await?;
        let usage = Usage::default();
        let chance = Chance::new(options.seed);
        let begin = options.start.unwrap_or_else(crate::clock::now);
        let clock = Clock::at(begin, options.pace);
        let faults = Faults::default();
        let shared = kinds::Shared {
            clock: clock.clone(),
            issuer: Issuer::default(),
            usage: usage.clone(),
            chance,
            faults: faults.clone(),
        };
        for kind in kinds::kinds(&shared) {
            cluster.register(kind);
        }
        clock.advance_to(resume_at(&cluster, begin).await?);
        let told = clock.clone();
        cluster.set_clock(Arc::new(move || told.now()));
        if options.landscape {
            port::seed(&cluster, landscape::objects()).await?;
        }
        let journal = match &options.data {
            Some(folder) => Journal::at(&folder.join("garden.journal"))?,
            None => Journal::default(),
        };
        server.set_recorder(Some(recording::recorder(journal.clone(), clock.clone())));
        let endpoints = Endpoints::new(server.clone(), CertificateTime::Simulated(clock.clone()));
        let playing = play(Shared {
            port: cluster.clone(),
            clock,
            chance,
            settings: Arc::new(options.settings),
            faults,
            usage,
            endpoints,
            users: Users::default(),
            rsa: false,
            journal,
            bell: Arc::default(),
        });
        Ok(Self { server, cluster, door: None, chance, playing, importing: tokio::sync::Mutex::default() })
    }

    told!();

    /// All chance in it.
    pub fn chance(&self) -> Chance {
        self.chance
    }

    /// The server behind it.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The cluster it is.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A client in this process, for its administrator.
    pub fn client(&self) -> Result<kube::Client, Error> {
        Ok(self.server.client(CLUSTER)?)
    }

    /// A kubeconfig for its administrator; none if it listens nowhere.
    pub fn kubeconfig(&self) -> Option<String> {
        self.door.as_ref().map(|door| self.server.kubeconfig(CLUSTER, door.address()))
    }

    /// All Shoots, as they are stored.
    pub fn shoots(&self) -> Vec<Value> {
        self.cluster.list(CORE, "shoots", "")
    }
}

/// The engine at work on a real garden.
#[derive(Debug)]
pub struct Driver {
    playing: Playing,
}

impl Driver {
    /// Connects to a real kube-apiserver with a Gardener API server behind it, by a kubeconfig.
    pub async fn start(kubeconfig: &str, options: Options) -> Result<Self, Error> {
        let wrong = |error: &dyn std::error::Error| Error::Kubeconfig(error.to_string());
        let config = kube::config::Kubeconfig::from_yaml(kubeconfig).map_err(|error| wrong(&error))?;
        let config = kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default())
            .await
            .map_err(|error| wrong(&error))?;
        let client = kube::Client::try_from(config).map_err(|error| wrong(&error))?;
        Self::with(client, options).await
    }

    /// The same with a client that is there.
    pub async fn with(client: kube::Client, options: Options) -> Result<Self, Error> {
        let port = Remote(client);
        if options.landscape {
            port::seed(&port, landscape::objects()).await?;
        }
        // The Shoots' own APIs are embedded in either way.
        let settings = server::Settings { folder: options.data.clone(), ..server::Settings::default() };
        let server = Server::start(settings).await?;
        let begin = options.start.unwrap_or_else(crate::clock::now);
        let clock = Clock::at(resume_at(&port, begin).await?, options.pace);
        let journal = match &options.data {
            Some(folder) => Journal::at(&folder.join("garden.journal"))?,
            None => Journal::default(),
        };
        let playing = play(Shared {
            port,
            clock,
            chance: Chance::new(options.seed),
            settings: Arc::new(options.settings),
            faults: Faults::default(),
            usage: Usage::default(),
            endpoints: Endpoints::new(server, CertificateTime::Real),
            users: Users::default(),
            rsa: true,
            journal,
            bell: Arc::default(),
        });
        Ok(Self { playing })
    }

    told!();
}

#[cfg(test)]
mod tests;
