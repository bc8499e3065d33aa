//! The commands: one file each, one variant here.

mod bench;
mod config;
mod manager_flags;
mod operations;
mod plan;
mod render;
mod serve;
mod sim;
mod up;

use clap::{Parser, Subcommand};

use crate::failure::{EXIT_CODES, Failure};

/// A control plane for managed Kubernetes runtimes.
#[derive(Parser)]
#[command(name = "slipway", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Up(up::Up),
    Serve(Box<serve::Serve>),
    Operations(operations::Operations),
    Render(render::Render),
    Plan(plan::Plan),
    #[command(subcommand)]
    Config(config::Config),
    #[command(subcommand)]
    Sim(sim::Sim),
    #[command(subcommand)]
    Bench(bench::Bench),
}

impl Cli {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Up(up) => on_runtime(up.run()),
            Command::Serve(serve) => on_runtime(serve.run()),
            Command::Operations(operations) => on_runtime(operations.run()),
            Command::Render(render) => render.run(),
            Command::Plan(plan) => on_runtime(plan.run()),
            Command::Config(config) => config.run(),
            Command::Sim(sim) => sim.run(),
            Command::Bench(bench) => on_runtime(bench.run()),
        }
    }
}

fn on_runtime(run: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::failed)?;
    let result = runtime.block_on(run);
    // What is left are connections of callers who keep them open; nobody waits for those.
    runtime.shutdown_background();
    result
}

/// The environment as pairs. A variable that is not text cannot be one of ours, and those of the manager's flags
/// are read with the flags.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !name.starts_with("SLIPWAY_INFRA_"))
        .collect()
}
