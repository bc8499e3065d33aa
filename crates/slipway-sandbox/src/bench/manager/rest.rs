//! A manager with nothing to do: what its start costs, and what it costs to be there (A5, A6, A7).

use std::{path::Path, time::Duration};

use slipway_model::{
    ports::Clock as _,
    time::{millis, secs},
};

use super::{
    land::{Land, Requests},
    process::Process,
    spread::round,
};

/// How long it is watched doing nothing.
const STEADY: Duration = secs(15);

/// A start with finished Runtimes (A5).
#[derive(Debug, serde::Serialize)]
pub struct Restart {
    /// From the start of the process until it says it is ready: all caches complete.
    pub ready_ms: f64,
    /// From there until it is at rest: every Runtime was looked at.
    pub at_rest_ms: f64,
    /// Processor time for all of it.
    pub cpu_ms: f64,
    /// All requests to the garden.
    pub garden_requests: u64,
    /// By kind. Writes must be none, kubeconfigs neither.
    pub requests: Requests,
}

/// Nothing is due (A6).
#[derive(Debug, serde::Serialize)]
pub struct Steady {
    /// How long it was watched.
    pub seconds: f64,
    /// Requests to the garden in a minute.
    pub garden_requests_per_minute: f64,
    /// Writes to the control plane in a minute.
    pub control_plane_writes_per_minute: f64,
    /// Part of a core.
    pub cpu_of_a_core: f64,
}

/// Starts the manager and waits until it has looked at everything.
pub(super) async fn restart(program: &Path, land: &Land) -> Result<(Process, Restart), String> {
    let before = land.asked.now();
    let began = land.clock.monotonic();
    let process = Process::start(program, land).await?;
    let ready = land.clock.monotonic();
    let at_rest = until_at_rest(land, &process).await?;
    let requests = land.asked.now().since(before);
    let restart = Restart {
        ready_ms: round(ready.saturating_sub(began).as_secs_f64() * 1000.0),
        at_rest_ms: round(at_rest.saturating_sub(ready).as_secs_f64() * 1000.0),
        cpu_ms: round(process.cpu_time().as_secs_f64() * 1000.0),
        garden_requests: requests.garden(),
        requests,
    };
    Ok((process, restart))
}

/// At rest is who uses no processor and asks nobody for a second; answers since when.
pub(super) async fn until_at_rest(land: &Land, process: &Process) -> Result<Duration, String> {
    let limit = land.clock.monotonic() + secs(180);
    let look = || (process.cpu_time() / 20, land.asked.now());
    let (mut last, mut since) = (look(), land.clock.monotonic());
    loop {
        land.clock.sleep(millis(50)).await;
        let (now, seen) = (land.clock.monotonic(), look());
        if seen != last {
            (last, since) = (seen, now);
        } else if now.saturating_sub(since) >= secs(1) {
            return Ok(since);
        }
        if now > limit {
            return Err("the manager did not come to rest within three minutes".to_owned());
        }
    }
}

/// Watches it doing nothing.
pub(super) async fn steady(land: &Land, process: &Process) -> Steady {
    let (before, cpu, began) = (land.asked.now(), process.cpu_time(), land.clock.monotonic());
    land.clock.sleep(STEADY).await;
    let seconds = land.clock.monotonic().saturating_sub(began).as_secs_f64();
    let asked = land.asked.now().since(before);
    let per_minute = |count: u64| round(count as f64 * 60.0 / seconds);
    Steady {
        seconds: round(seconds),
        garden_requests_per_minute: per_minute(asked.garden()),
        control_plane_writes_per_minute: per_minute(asked.control_plane_writes),
        cpu_of_a_core: (process.cpu_time().saturating_sub(cpu).as_secs_f64() / seconds * 10_000.0).round() / 10_000.0,
    }
}
