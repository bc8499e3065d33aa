//! `slipway bench`: measures, and prints JSON.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use slipway_sandbox::bench::{
    engine::{self, Kind, Options},
    garden, kube, manager, provisioner, render,
};

use crate::failure::Failure;

/// Measure, and print the figures as JSON. Everything is compared within one run.
#[derive(Subcommand)]
pub(super) enum Bench {
    Engine(Engine),
    /// One of the processes that `bench engine` starts and kills
    #[command(hide = true)]
    EngineReplica {
        /// The database they share
        #[arg(long)]
        database: String,
    },
    Kube(Kube),
    /// The process of the embedded Kubernetes API that `bench kube` measures
    #[command(hide = true)]
    KubeServer {
        /// Where it keeps its data and writes its kubeconfig
        #[arg(long)]
        data_dir: PathBuf,
    },
    Garden(Garden),
    /// The process of the garden that `bench garden` measures
    #[command(hide = true)]
    GardenServer {
        /// Where it keeps its data and writes how it is reached
        #[arg(long)]
        data_dir: PathBuf,
    },
    Manager(Manager),
    Provisioner(Provisioner),
    Render(Render),
}

/// How many Shoots one core renders: new ones, living ones, and the hash that saves rendering.
#[derive(Args)]
pub(super) struct Render {
    /// How long each line is measured, in seconds
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
}

/// What a durable step costs, what a wait costs, and how fast the work of a dead process moves again.
///
/// Starts a PostgreSQL server of its own (or uses the one of SLIPWAY_PG_URL) and SQLite files in the
/// temporary folder.
#[derive(Args)]
pub(super) struct Engine {
    /// The databases to measure
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values = ["postgres", "sqlite"])]
    database: Vec<Kind>,
    /// Operations in flight, line by line
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 16, 64])]
    in_flight: Vec<usize>,
    /// How long each bare loop runs, in seconds
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// How often the bare loops and the engine take turns; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Operations that wait; 0 leaves this part out
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    waiting: usize,
    /// Operations in progress when a process is killed; 0 leaves this part out
    #[arg(long, value_name = "N", default_value_t = 100)]
    takeover: usize,
}

/// The embedded Kubernetes API beside a real kube-apiserver with etcd.
///
/// Writes, watches and memory, with the same client over TLS. The real servers are those of `cargo xtask
/// testbins`; where they are not built, the report says so and has the embedded API alone.
#[derive(Args)]
pub(super) struct Kube {
    /// How long each line is measured, in seconds
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// Objects of 9 kB to hold
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    objects: usize,
    /// Watches on one collection
    #[arg(long, value_name = "N", default_value_t = 200)]
    watchers: usize,
    /// Measure the embedded API alone
    #[arg(long)]
    without_real: bool,
}

/// The simulated garden: its start, creates, changes by its engine, memory, lists and watches.
///
/// The garden is a process of its own, on disk; it is asked over TLS.
#[derive(Args)]
pub(super) struct Garden {
    /// Shoots that live in it
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    shoots: usize,
    /// How long creates and watches are measured, in seconds
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// Watches of all Shoots
    #[arg(long, value_name = "N", default_value_t = 20)]
    watchers: usize,
}

/// The infrastructure manager: how fast it reacts, what it asks for, what it costs to be there.
///
/// The manager runs in a process of its own, against simulators in this one. The control plane is next door;
/// the garden and the customers' clusters are a round trip away.
#[derive(Args)]
pub(super) struct Manager {
    /// Numbers of finished Runtimes to begin with, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10,1000,10000")]
    runtimes: Vec<usize>,
    /// Round trip to the garden and to customers' clusters, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 20)]
    round_trip_ms: u64,
    /// How long the garden is away, in seconds; half an hour is 1800
    #[arg(long, value_name = "S", default_value_t = 20)]
    outage: u64,
}

/// Mutations that the provisioner accepts, and how long each takes, beside the same rows written bare.
///
/// Starts a PostgreSQL server of its own (or uses the one of SLIPWAY_PG_URL) and SQLite files in the
/// temporary folder. Nobody runs what is accepted.
#[derive(Args)]
pub(super) struct Provisioner {
    /// The databases to measure
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values = ["postgres", "sqlite"])]
    database: Vec<Kind>,
    /// Clients that ask at once, line by line
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// How long each side is measured, in seconds
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// How often the two take turns; rates are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
}

impl Bench {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Engine(engine) => engine.run().await,
            Self::EngineReplica { database } => engine::replica(&database).await.map_err(failed),
            Self::Kube(kube) => kube.run().await,
            Self::KubeServer { data_dir } => kube::serve(&data_dir).await.map_err(failed),
            Self::Manager(manager) => manager.run().await,
            Self::Provisioner(provisioner) => provisioner.run().await,
            Self::Render(render) => render.run(),
            Self::Garden(garden) => garden.run().await,
            Self::GardenServer { data_dir } => garden::serve(&data_dir).await.map_err(failed),
        }
    }
}

impl Engine {
    async fn run(self) -> Result<(), Failure> {
        let Self { database: databases, in_flight, seconds, rounds, waiting, takeover } = self;
        if !(seconds > 0.0 && seconds <= 600.0) || takeover == 1 || rounds < 1 || in_flight.contains(&0) {
            return Err(Failure::usage(anyhow::anyhow!(
                "--seconds must be above 0 and at most 600, --rounds and --in-flight at least 1, --takeover 0 or at least 2"
            )));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let options = Options { databases, in_flight, seconds, rounds, waiting, takeover };
        let report = engine::run(&options, &program, &|what| eprintln!("{what}")).await.map_err(failed)?;
        println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
        Ok(())
    }
}

impl Kube {
    async fn run(self) -> Result<(), Failure> {
        if !(self.seconds > 0.0 && self.seconds <= 600.0) || self.objects < 4 || self.watchers < 1 {
            return Err(Failure::usage(anyhow::anyhow!(
                "--seconds must be above 0 and at most 600, --objects at least 4, --watchers at least 1"
            )));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let Self { seconds, objects, watchers, without_real } = self;
        let options = kube::Options { seconds, objects, watchers, with_real: !without_real };
        let report = kube::run(&options, &program, &|what| eprintln!("{what}")).await.map_err(failed)?;
        println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
        Ok(())
    }
}

impl Manager {
    async fn run(self) -> Result<(), Failure> {
        let is_wrong = self.runtimes.iter().any(|count| !(1..=50_000).contains(count));
        if is_wrong || self.round_trip_ms > 1_000 || !(10..=7_200).contains(&self.outage) {
            return Err(Failure::usage(anyhow::anyhow!(
                "--runtimes must be from 1 to 50000 each, --round-trip-ms at most 1000, --outage from 10 to 7200"
            )));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let round_trip = Duration::from_millis(self.round_trip_ms);
        let outage = Duration::from_secs(self.outage);
        let options = manager::Options { runtimes: self.runtimes, round_trip, outage };
        let report = manager::run(&options, &program, &|what| eprintln!("{what}")).await.map_err(failed)?;
        println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
        Ok(())
    }
}

impl Provisioner {
    async fn run(self) -> Result<(), Failure> {
        let Self { database: databases, clients, seconds, rounds } = self;
        if !(seconds > 0.0 && seconds <= 600.0) || rounds < 1 || clients.contains(&0) {
            return Err(Failure::usage(anyhow::anyhow!(
                "--seconds must be above 0 and at most 600, --rounds and --clients at least 1"
            )));
        }
        let options = provisioner::Options { databases, clients, seconds, rounds };
        let report = provisioner::run(&options, &|what| eprintln!("{what}")).await.map_err(failed)?;
        println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
        Ok(())
    }
}

impl Render {
    fn run(self) -> Result<(), Failure> {
        if !(self.seconds > 0.0 && self.seconds <= 600.0) {
            return Err(Failure::usage(anyhow::anyhow!("--seconds must be above 0 and at most 600")));
        }
        let report = render::run(self.seconds).map_err(failed)?;
        println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
        Ok(())
    }
}

impl Garden {
    async fn run(self) -> Result<(), Failure> {
        let Self { shoots, seconds, watchers } = self;
        if !(seconds > 0.0 && seconds <= 600.0) || shoots < 4 || watchers < 1 {
            return Err(Failure::usage(anyhow::anyhow!(
                "--seconds must be above 0 and at most 600, --shoots at least 4, --watchers at least 1"
            )));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let options = garden::Options { shoots, seconds, watchers };
        let report = garden::run(&options, &program, &|what| eprintln!("{what}")).await.map_err(failed)?;
        println!("{}", serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
        Ok(())
    }
}

fn failed(sentence: String) -> Failure {
    Failure::failed(anyhow::anyhow!(sentence))
}
