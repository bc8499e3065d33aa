//! One at a time: how fast the manager reacts when it has nothing else to do, and what it asks for (A1, A3, A4, A8).

use std::time::Duration;

use serde_json::json;
use slipway_model::{ports::Clock as _, time::secs};

use super::{
    land::{Land, Requests},
    process::Process,
    rest::until_at_rest,
    runtimes::{self, change, create, delete, finished},
    spread::{Spread, round},
    traces::{Trace, Traces},
};

/// New Runtimes.
const CREATES: usize = 30;
/// Changes of finished ones.
const UPDATES: usize = 100;
/// Changes that concern nobody.
const TOUCHES: usize = 50;

/// A new Runtime, from the wish to `Ready`.
#[derive(Debug, serde::Serialize)]
pub struct Creation {
    /// From the write of the Runtime until its Shoot is there (A1).
    pub to_shoot: Spread,
    /// From the Shoot's success until the Runtime is `Ready`: kubeconfig fetched and kept, cluster prepared (A3).
    pub succeeded_to_ready: Spread,
    /// Requests for one (A8).
    pub requests_each: Each,
}

/// A changed Runtime, from the wish to `Ready`.
#[derive(Debug, serde::Serialize)]
pub struct Update {
    /// From the write until `Pending` with the new generation.
    pub to_pending: Spread,
    /// From the Shoot's success until the Runtime is `Ready` (A3).
    pub succeeded_to_ready: Spread,
    /// Requests for one (A8).
    pub requests_each: Each,
}

/// A Runtime that goes.
#[derive(Debug, serde::Serialize)]
pub struct Deletion {
    /// From the end of the Shoot to the end of the Runtime (A4).
    pub shoot_gone_to_gone: Spread,
    /// Requests for one.
    pub requests_each: Each,
}

/// Requests for one Runtime, on average.
#[derive(Debug, serde::Serialize)]
pub struct Each {
    /// Reads of one object of the garden.
    pub garden_reads: f64,
    /// Writes to the garden.
    pub garden_writes: f64,
    /// Kubeconfigs asked of the garden.
    pub garden_kubeconfigs: f64,
    /// Writes to the control plane.
    pub control_plane_writes: f64,
}

impl Each {
    fn of(requests: Requests, count: usize) -> Self {
        let each = |number: u64| round(number as f64 / count.max(1) as f64);
        Self {
            garden_reads: each(requests.garden_reads),
            garden_writes: each(requests.garden_writes),
            garden_kubeconfigs: each(requests.garden_kubeconfigs),
            control_plane_writes: each(requests.control_plane_writes),
        }
    }
}

fn since(later: Option<Duration>, earlier: Option<Duration>) -> Option<Duration> {
    Some(later?.saturating_sub(earlier?))
}

fn name(number: usize) -> String {
    format!("new-{number:05}")
}

/// New ones, one after the other.
pub(super) async fn creation(land: &Land, traces: &Traces, process: &Process) -> Result<Creation, String> {
    traces.clear();
    let before = land.asked.now();
    let (mut to_shoot, mut to_ready) = (Vec::new(), Vec::new());
    for number in 0..CREATES {
        let name = [name(number)];
        let asked = land.clock.monotonic();
        create(land, &name[0]).await?;
        traces.until("a new Runtime is Ready", &name, Trace::ready).await?;
        let trace = traces.of(&name[0]);
        to_shoot.extend(since(trace.shoot_made, Some(asked)));
        to_ready.extend(since(trace.ready(), trace.succeeded));
    }
    until_at_rest(land, process).await?;
    Ok(Creation {
        to_shoot: Spread::of(to_shoot),
        succeeded_to_ready: Spread::of(to_ready),
        requests_each: Each::of(land.asked.now().since(before), CREATES),
    })
}

/// Changes of finished ones, one after the other.
pub(super) async fn update(land: &Land, traces: &Traces, process: &Process, count: usize) -> Result<Update, String> {
    traces.clear();
    let before = land.asked.now();
    let (mut to_pending, mut to_ready) = (Vec::new(), Vec::new());
    for number in 0..UPDATES {
        let name = [finished(number % count)];
        let asked = land.clock.monotonic();
        let generation = change(land, &name[0], runtimes::grow).await?;
        let is_ready = |trace: &Trace| trace.ready().filter(|_| trace.acknowledged(generation).is_some());
        let ready = traces.until("a changed Runtime is Ready", &name, is_ready).await?;
        let trace = traces.of(&name[0]);
        to_pending.extend(since(trace.acknowledged(generation), Some(asked)));
        to_ready.extend(since(ready.first().copied(), trace.succeeded));
    }
    until_at_rest(land, process).await?;
    Ok(Update {
        to_pending: Spread::of(to_pending),
        succeeded_to_ready: Spread::of(to_ready),
        requests_each: Each::of(land.asked.now().since(before), UPDATES),
    })
}

/// A label or an annotation that no Shoot is made from: all requests that came of so many.
pub(super) async fn touches(land: &Land, process: &Process, kind: &str, count: usize) -> Result<Requests, String> {
    let before = land.asked.now();
    for number in 0..TOUCHES {
        let touch = |runtime: &mut serde_json::Value| {
            runtime["metadata"][kind]["example.com/touched"] = json!(format!("{number}"));
        };
        change(land, &finished(number % count), touch).await?;
    }
    land.clock.sleep(secs(1)).await;
    until_at_rest(land, process).await?;
    Ok(land.asked.now().since(before))
}

/// The new ones go again, one after the other.
pub(super) async fn deletion(land: &Land, traces: &Traces, process: &Process) -> Result<Deletion, String> {
    traces.clear();
    let before = land.asked.now();
    let mut times = Vec::new();
    for number in 0..CREATES {
        let name = [name(number)];
        delete(land, &name[0]).await?;
        traces.until("a deleted Runtime is gone", &name, |trace| trace.gone).await?;
        let trace = traces.of(&name[0]);
        times.extend(since(trace.gone, trace.shoot_gone));
    }
    until_at_rest(land, process).await?;
    Ok(Deletion {
        shoot_gone_to_gone: Spread::of(times),
        requests_each: Each::of(land.asked.now().since(before), CREATES),
    })
}
