//! Creates and merge patches per second.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::future::try_join_all;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use slipway_engine::SystemClock;
use slipway_model::ports::Clock;

use super::{Target, objects, ratio, round, spelled};
use crate::bench::measure::Percentiles;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// New objects.
    Create,
    /// One field of an object, by a merge patch; everybody in flight has an object of their own.
    MergePatch,
}

/// Figures of one server.
#[derive(Debug, serde::Serialize)]
pub struct Writes {
    /// Acknowledged writes per second.
    pub per_s: f64,
    /// From the request to its answer.
    pub took: Percentiles,
    /// Processor time of the server per write, etcd included.
    pub server_cpu_us: f64,
}

/// One line of figures.
#[derive(Debug, serde::Serialize)]
pub struct WritesLine {
    /// What is done.
    pub load: Load,
    /// Size of an object, without what the server adds.
    pub object_bytes: usize,
    /// Requests in flight.
    pub in_flight: usize,
    /// The embedded API.
    pub embedded: Writes,
    /// The real server.
    pub real: Option<Writes>,
    /// Writes per second of the first in units of the second.
    pub embedded_vs_real: Option<f64>,
}

impl WritesLine {
    pub(super) async fn measure(
        embedded: &Target,
        real: Option<&Target>,
        load: Load,
        object_bytes: usize,
        in_flight: usize,
        seconds: f64,
    ) -> Result<Self, String> {
        let embedded = measure(embedded, load, object_bytes, in_flight, seconds).await?;
        let real = match real {
            Some(real) => Some(measure(real, load, object_bytes, in_flight, seconds).await?),
            None => None,
        };
        let embedded_vs_real = ratio(embedded.per_s, real.as_ref().map(|real| real.per_s));
        Ok(Self { load, object_bytes, in_flight, embedded, real, embedded_vs_real })
    }

    /// One line, for whoever watches.
    pub(super) fn spelled(&self) -> String {
        format!(
            "{:?} of {} bytes, {} in flight: {:.0}/s, real {}/s",
            self.load,
            self.object_bytes,
            self.in_flight,
            self.embedded.per_s,
            spelled(self.real.as_ref().map(|real| real.per_s)),
        )
    }
}

async fn measure(target: &Target, load: Load, bytes: usize, in_flight: usize, seconds: f64) -> Result<Writes, String> {
    let api = objects::widgets(&target.client, "writes");
    let name = |number: usize| format!("{}-{bytes}-{in_flight}-{number}", if load == Load::Create { "c" } else { "p" });
    let explain = |error: kube::Error| format!("a write failed: {error}");
    // Connections are made before the clock runs, and so are the objects that are patched.
    try_join_all((0..in_flight).map(|number| {
        let object = objects::widget(&name(number), bytes);
        let api = &api;
        async move { api.create(&PostParams::default(), &object).await.map_err(explain) }
    }))
    .await?;

    let clock = SystemClock::default();
    let next = AtomicUsize::new(in_flight);
    let cpu = target.cpu_time();
    let end = clock.monotonic() + Duration::from_secs_f64(seconds);
    let workers = (0..in_flight).map(|worker| {
        let (api, next, name) = (&api, &next, &name);
        async move {
            let mut took = Vec::new();
            let mut object = objects::widget("", bytes);
            while clock.monotonic() < end {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let begun = clock.monotonic();
                match load {
                    Load::Create => {
                        object.metadata.name = Some(name(number));
                        api.create(&PostParams::default(), &object).await.map_err(explain)?;
                    }
                    Load::MergePatch => {
                        let patch = Patch::Merge(json!({ "spec": { "round": number } }));
                        api.patch(&name(worker), &PatchParams::default(), &patch).await.map_err(explain)?;
                    }
                }
                took.push(clock.monotonic().saturating_sub(begun));
            }
            Ok::<_, String>(took)
        }
    });
    let begun = clock.monotonic();
    let took: Vec<Duration> = try_join_all(workers).await?.into_iter().flatten().collect();
    let elapsed = clock.monotonic().saturating_sub(begun).as_secs_f64();
    let cpu = target.cpu_time().saturating_sub(cpu);
    let count = took.len().max(1) as f64;
    Ok(Writes {
        per_s: round(count / elapsed),
        took: Percentiles::of(took),
        server_cpu_us: round(cpu.as_secs_f64() * 1e6 / count),
    })
}
