//! `slipway sim`: the product's parts under simulated time.

use std::num::NonZeroU64;

use clap::{Args, Subcommand};
use slipway_sandbox::engine_sim::{Report, run_many};
use slipway_server::{Clock as _, SystemClock};

use crate::failure::Failure;

/// Run parts of Slipway under simulated time, with everything going wrong that can.
#[derive(Subcommand)]
pub(super) enum Sim {
    Engine(Engine),
}

/// Tell stories of the engine: replicas that die and pause, storage that fails, clocks that jump.
///
/// One seed is one story, and always the same one. A judge checks every write against the promises of
/// the engine; the exit code is 1 if one was broken.
#[derive(Args)]
pub(super) struct Engine {
    /// How many stories
    #[arg(long, value_name = "N", default_value = "1000")]
    seeds: NonZeroU64,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    from: u64,
    /// Threads; as many as there are processors if not given
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

impl Sim {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Engine(engine) => engine.run(),
        }
    }
}

impl Engine {
    fn run(self) -> Result<(), Failure> {
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
        let clock = SystemClock::default();
        let begun = clock.monotonic();
        let report = run_many(self.from, self.seeds.get(), threads, Default::default(), false);
        let seconds = clock.monotonic().saturating_sub(begun).as_secs_f64();
        tell(&report, seconds)
    }
}

fn tell(report: &Report, seconds: f64) -> Result<(), Failure> {
    let document = serde_json::json!({
        "seeds": report.seeds,
        "seconds": (seconds * 100.0).round() / 100.0,
        "seeds_per_second": (report.seeds as f64 / seconds).round(),
        "operations": report.operations,
        "writes_judged": report.writes,
        "crashes": report.crashes,
        "simulated_hours": report.simulated_hours.round(),
        "violations": report.failed.len(),
        "failed": report.failed.iter().map(|story| serde_json::json!({
            "seed": story.seed,
            "violations": story.violations,
        })).collect::<Vec<_>>(),
    });
    println!("{}", serde_json::to_string_pretty(&document).map_err(Failure::failed)?);
    match report.failed.first() {
        None => Ok(()),
        Some(story) => Err(Failure::failed(anyhow::anyhow!(
            "{} of {} stories broke a promise; tell the first again with: slipway sim engine --seeds 1 --from {}",
            report.failed.len(),
            report.seeds,
            story.seed
        ))),
    }
}
