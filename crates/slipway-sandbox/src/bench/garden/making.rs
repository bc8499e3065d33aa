//! Creates of Shoots per second.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::future::try_join_all;
use kube::Client;
use serde_json::{Value, json};
use slipway_engine::SystemClock;
use slipway_model::ports::Clock as _;
use slipway_sim::garden::landscape;

use super::{round, target::Target};
use crate::bench::measure::Percentiles;

/// Requests in flight.
const IN_FLIGHT: usize = 64;

/// Path of the Shoots.
pub(super) const PATH: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots";

/// Figures of creates.
#[derive(Debug, serde::Serialize)]
pub struct Creates {
    /// Acknowledged creates per second.
    pub per_s: f64,
    /// How many.
    pub count: usize,
    /// From the request to its answer.
    pub took: Percentiles,
    /// Processor time of the garden per create.
    pub server_cpu_us: f64,
}

/// Name of a Shoot.
pub(super) fn name(number: usize) -> String {
    format!("s{number:05}")
}

pub(super) async fn for_a_while(target: &Target, seconds: f64) -> Result<Creates, String> {
    let mut shoot = landscape::shoot("x");
    shoot["metadata"]["annotations"] = json!({"shoot.gardener.cloud/ignore": "true"});
    make(target, &shoot, usize::MAX, Duration::from_secs_f64(seconds)).await
}

pub(super) async fn all(target: &Target, count: usize) -> Result<Creates, String> {
    make(target, &landscape::shoot("x"), count, Duration::MAX).await
}

async fn make(target: &Target, shoot: &Value, most: usize, longest: Duration) -> Result<Creates, String> {
    let clock = SystemClock::default();
    let next = AtomicUsize::new(0);
    let (begun, cpu) = (clock.monotonic(), target.cpu_time());
    let end = begun.saturating_add(longest);
    let workers = (0..IN_FLIGHT).map(|_| async {
        let mut took = Vec::new();
        let mut shoot = shoot.clone();
        while clock.monotonic() < end {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= most {
                break;
            }
            shoot["metadata"]["name"] = json!(name(number));
            let sent = clock.monotonic();
            create(&target.client, &shoot).await?;
            took.push(clock.monotonic().saturating_sub(sent));
        }
        Ok::<_, String>(took)
    });
    let took: Vec<Duration> = try_join_all(workers).await?.into_iter().flatten().collect();
    let elapsed = clock.monotonic().saturating_sub(begun).as_secs_f64();
    let cpu = target.cpu_time().saturating_sub(cpu);
    let count = took.len();
    Ok(Creates {
        per_s: round(count as f64 / elapsed),
        count,
        took: Percentiles::of(took),
        server_cpu_us: round(cpu.as_secs_f64() * 1e6 / count.max(1) as f64),
    })
}

async fn create(client: &Client, shoot: &Value) -> Result<(), String> {
    let request = http::Request::post(PATH)
        .header("content-type", "application/json")
        .body(shoot.to_string().into_bytes())
        .map_err(|error| error.to_string())?;
    client.request_text(request).await.map(drop).map_err(|error| format!("a Shoot was not made: {error}"))
}
