//! Durable steps per second, and the latencies that users feel.

use std::time::Duration;

use slipway_model::{
    OperationId,
    ports::Clock,
    time::{millis, secs},
};

use super::{
    bare,
    databases::{Kind, Server},
    steps::{self, NAMES, Watch, operation},
};
use crate::bench::measure::{Percentiles, cpu_time};

/// A step writes three rows: operation, ledger, flight recorder.
const ROWS_PER_STEP: f64 = 3.0;

/// Operations whose first step is timed.
const FIRST_STEPS: usize = 300;

/// One line of figures.
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
            "  {:.0} steps/s: {:.2} of one transaction per step, {:.2} of bare group commit",
            self.engine_steps_per_s, self.engine_vs_single_ratio, self.engine_vs_group_ratio
        )
    }
}

pub(super) async fn measure(server: &Server, kind: Kind, in_flight: usize, seconds: f64) -> Result<Throughput, String> {
    let (single, group) = bare::measure(server, kind, in_flight, Duration::from_secs_f64(seconds)).await?;
    let (engine, step_commit, cpu) = engine_loop(server, kind, in_flight, group * seconds).await?;
    let enqueue_to_first_step = first_steps(server, kind).await?;
    let round = |figure: f64| (figure * 100.0).round() / 100.0;
    Ok(Throughput {
        database: kind,
        in_flight,
        single_rows_per_s: round(single * ROWS_PER_STEP),
        group_rows_per_s: round(group * ROWS_PER_STEP),
        engine_rows_per_s: round(engine * ROWS_PER_STEP),
        engine_steps_per_s: round(engine),
        engine_vs_single_ratio: round(engine / single),
        engine_vs_group_ratio: round(engine / group),
        engine_cpu_us_per_step: round(cpu),
        step_commit,
        enqueue_to_first_step,
    })
}

/// Lets the engine run operations of twenty steps, all accepted beforehand, from its start to the
/// last step. Claims, starts and ends of operations are part of its work here; the bare loops have
/// none.
async fn engine_loop(
    server: &Server,
    kind: Kind,
    in_flight: usize,
    steps_wanted: f64,
) -> Result<(f64, Percentiles, f64), String> {
    let database = server.fresh(kind).await?;
    let watch = Watch::new();
    let count = ((steps_wanted / NAMES.len() as f64) as usize).clamp(in_flight * 2, 20_000);
    database.fill(count, "writes").await?;
    let (begun, cpu) = (watch.clock.monotonic(), cpu_time());
    let engine = steps::engine(database.store.clone(), &watch, in_flight).await?;
    while watch.look(|seen| seen.ended) < count {
        watch.clock.sleep(millis(2)).await;
    }
    let took = watch.clock.monotonic().saturating_sub(begun);
    let cpu = cpu_time().saturating_sub(cpu);
    engine.stop().await;
    let (steps, commits) = watch.look(|seen| (seen.steps, std::mem::take(&mut seen.commits)));
    let cpu_us_per_step = cpu.as_secs_f64() * 1e6 / steps as f64;
    Ok((steps as f64 / took.as_secs_f64(), Percentiles::of(commits), cpu_us_per_step))
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
