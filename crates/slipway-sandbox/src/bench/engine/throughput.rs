//! Durable steps per second, and the latencies that users feel.

use std::time::Duration;

use slipway_model::{
    OperationId,
    ports::Clock,
    time::{millis, secs},
};

use super::{
    Options, bare,
    databases::{Kind, Server},
    steps::{self, NAMES, Watch, operation},
};
use crate::bench::measure::{Percentiles, cpu_time, median};

/// A step writes three rows: operation, ledger, flight recorder.
const ROWS_PER_STEP: f64 = 3.0;

/// Operations whose first step is timed.
const FIRST_STEPS: usize = 300;

/// One line of figures. Each is the median of the rounds, so that one hiccup of the disk decides nothing.
#[derive(Debug, serde::Serialize)]
pub struct Throughput {
    /// Database.
    pub database: Kind,
    /// Operations in flight.
    pub in_flight: usize,
    /// Bare loop, one transaction per step.
    pub single_rows_per_s: f64,
    /// Bare loop, group commit.
    pub group_rows_per_s: f64,
    /// The engine.
    pub engine_rows_per_s: f64,
    /// The engine, in steps.
    pub engine_steps_per_s: f64,
    /// The engine in units of the first bare loop.
    pub engine_vs_single_ratio: f64,
    /// The engine in units of the second.
    pub engine_vs_group_ratio: f64,
    /// The same of each round.
    pub engine_vs_group_ratios: Vec<f64>,
    /// Processor time of this process per step of the engine; the database's is not in it.
    pub engine_cpu_us_per_step: f64,
    /// From the end of a step's code to the beginning of the next step of the same operation.
    pub step_commit: Percentiles,
    /// From the acknowledged insert of an operation to the beginning of its first step.
    pub enqueue_to_first_step: Percentiles,
}

impl Throughput {
    /// One line, for whoever watches.
    pub(super) fn spelled(&self) -> String {
        format!(
            "  {:.0} steps/s: {:.2} of one transaction per step, {:.2} of bare group commit ({:?})",
            self.engine_steps_per_s,
            self.engine_vs_single_ratio,
            self.engine_vs_group_ratio,
            self.engine_vs_group_ratios
        )
    }
}

/// Steps per second of the three, one after the other.
struct Round {
    single: f64,
    group: f64,
    engine: f64,
    cpu_us_per_step: f64,
}

pub(super) async fn measure(
    server: &Server,
    kind: Kind,
    in_flight: usize,
    options: &Options,
) -> Result<Throughput, String> {
    let (mut rounds, mut commits) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let length = Duration::from_secs_f64(options.seconds);
        let (single, group) = bare::measure(server, kind, in_flight, length).await?;
        let (engine, cpu_us_per_step) =
            engine_loop(server, kind, in_flight, group * options.seconds, &mut commits).await?;
        rounds.push(Round { single, group, engine, cpu_us_per_step });
    }
    let enqueue_to_first_step = first_steps(server, kind).await?;
    let round = |figure: f64| (figure * 100.0).round() / 100.0;
    let median = |get: fn(&Round) -> f64| round(median(rounds.iter().map(get).collect()));
    Ok(Throughput {
        database: kind,
        in_flight,
        single_rows_per_s: median(|of| of.single * ROWS_PER_STEP),
        group_rows_per_s: median(|of| of.group * ROWS_PER_STEP),
        engine_rows_per_s: median(|of| of.engine * ROWS_PER_STEP),
        engine_steps_per_s: median(|of| of.engine),
        engine_vs_single_ratio: median(|of| of.engine / of.single),
        engine_vs_group_ratio: median(|of| of.engine / of.group),
        engine_vs_group_ratios: rounds.iter().map(|of| round(of.engine / of.group)).collect(),
        engine_cpu_us_per_step: median(|of| of.cpu_us_per_step),
        step_commit: Percentiles::of(commits),
        enqueue_to_first_step,
    })
}

/// Lets the engine run operations of twenty steps, all accepted beforehand, from its start to the
/// last step. Claims, starts and ends of operations are part of its work, as of the bare loops'.
async fn engine_loop(
    server: &Server,
    kind: Kind,
    in_flight: usize,
    steps_wanted: f64,
    commits: &mut Vec<Duration>,
) -> Result<(f64, f64), String> {
    let database = server.fresh(kind).await?;
    let watch = Watch::new();
    let count = ((steps_wanted / NAMES.len() as f64) as usize).clamp(in_flight * 2, 20_000);
    database.fill(count, "writes").await?;
    server.settle(kind).await?;
    let (begun, cpu) = (watch.clock.monotonic(), cpu_time());
    let engine = steps::engine(database.store.clone(), &watch, in_flight).await?;
    while watch.look(|seen| seen.ended) < count {
        watch.clock.sleep(millis(2)).await;
    }
    let took = watch.clock.monotonic().saturating_sub(begun);
    let cpu = cpu_time().saturating_sub(cpu);
    engine.stop().await;
    let steps = watch.look(|seen| {
        commits.append(&mut seen.commits);
        seen.steps
    });
    Ok((steps as f64 / took.as_secs_f64(), cpu.as_secs_f64() * 1e6 / steps as f64))
}

/// Accepts one operation after the other on an engine that has nothing else to do.
async fn first_steps(server: &Server, kind: Kind) -> Result<Percentiles, String> {
    let database = server.fresh(kind).await?;
    let watch = Watch::new();
    let engine = steps::engine(database.store.clone(), &watch, 64).await?;
    let mut accepted = Vec::new();
    for _ in 0..FIRST_STEPS {
        let id = engine.draw_id();
        engine.enqueue(operation(id, "writes")?).await.map_err(|error| error.to_string())?;
        accepted.push((id, watch.clock.monotonic()));
        watch.clock.sleep(millis(5)).await;
    }
    let limit = watch.clock.monotonic() + secs(60);
    while watch.look(|seen| seen.begins.len()) < FIRST_STEPS {
        if watch.clock.monotonic() > limit {
            return Err("some operations were never begun".to_owned());
        }
        watch.clock.sleep(millis(5)).await;
    }
    engine.stop().await;
    let begins = watch.look(|seen| std::mem::take(&mut seen.begins));
    let latency = |(id, at): &(OperationId, Duration)| Some(begins.get(id)?.saturating_sub(*at));
    Ok(Percentiles::of(accepted.iter().filter_map(latency).collect()))
}
