//! `slipway bench`: measures, and prints JSON.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use slipway_sandbox::bench::{
    engine::{self, Options},
    kube, render,
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
    /// How long each bare loop runs, in seconds
    #[arg(long, value_name = "S", default_value_t = 4.0)]
    seconds: f64,
    /// Operations that wait
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    waiting: usize,
    /// Operations in progress when a process is killed
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

impl Bench {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Engine(engine) => engine.run().await,
            Self::EngineReplica { database } => engine::replica(&database).await.map_err(failed),
            Self::Kube(kube) => kube.run().await,
            Self::KubeServer { data_dir } => kube::serve(&data_dir).await.map_err(failed),
            Self::Render(render) => render.run(),
        }
    }
}

impl Engine {
    async fn run(self) -> Result<(), Failure> {
        if !(self.seconds > 0.0 && self.seconds <= 600.0) || self.takeover < 2 {
            return Err(Failure::usage(anyhow::anyhow!(
                "--seconds must be above 0 and at most 600, --takeover at least 2"
            )));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let options = Options { seconds: self.seconds, waiting: self.waiting, takeover: self.takeover };
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

fn failed(sentence: String) -> Failure {
    Failure::failed(anyhow::anyhow!(sentence))
}
