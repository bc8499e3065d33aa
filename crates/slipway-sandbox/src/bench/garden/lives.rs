//! What the engine does with many Shoots, and what they cost when they are there.

use serde_json::json;
use slipway_engine::SystemClock;
use slipway_model::ports::Clock as _;

use super::{
    Options, making, round,
    target::Target,
    watchers::{self, Watched},
};
use crate::bench::kube::Flow;

/// The clock moves on by so many seconds when everything that was due is done: the engine is never waited for.
const PACE: u32 = 10;

/// So often: a creation takes about eight minutes, and no maintenance window opens for most.
const ROUNDS: usize = 72;

/// Lists of all Shoots; the fastest counts.
const LISTS: usize = 3;

/// Figures of the creation of all Shoots.
#[derive(Debug, serde::Serialize)]
pub struct Lives {
    /// Status changes of Shoots per second, while nothing is waited for.
    pub status_changes_per_s: f64,
    /// All writes of the engine per second: status, Shoots, CAs, events, nodes.
    pub writes_per_s: f64,
    /// Status changes.
    pub status_changes: u64,
    /// Shoots created per second, from an accepted object to a cluster that answers.
    pub shoots_per_s: f64,
    /// Processor time of the garden per status change.
    pub server_cpu_us: f64,
}

pub(super) async fn measure(target: &mut Target, shoots: usize, say: &dyn Fn(&str)) -> Result<Lives, String> {
    let clock = SystemClock::default();
    let before = target.advance(0).await?;
    let (begun, cpu) = (clock.monotonic(), target.cpu_time());
    let mut after = before.clone();
    for _ in 0..ROUNDS {
        after = target.advance(PACE).await?;
    }
    let ended = clock.monotonic();
    let cpu = target.cpu_time().saturating_sub(cpu).as_secs_f64();
    let elapsed = ended.saturating_sub(begun).as_secs_f64();
    let moved = |what: &str| after[what].as_u64().unwrap_or(0).saturating_sub(before[what].as_u64().unwrap_or(0));
    let succeeded = text(target, making::PATH).await?.matches("\"state\":\"Succeeded\"").count();
    if succeeded != shoots {
        say(&format!("only {succeeded} of {shoots} Shoots were created"));
    }
    let changes = moved("status");
    Ok(Lives {
        status_changes_per_s: round(changes as f64 / elapsed),
        writes_per_s: round((moved("write") + changes) as f64 / elapsed),
        status_changes: changes,
        shoots_per_s: round(succeeded as f64 / elapsed),
        server_cpu_us: round(cpu * 1e6 / changes.max(1) as f64),
    })
}

async fn text(target: &Target, path: &str) -> Result<String, String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
    target.client.request_text(request).await.map_err(|error| format!("a list failed: {error}"))
}

pub(super) async fn list(target: &Target, shoots: usize) -> Result<(f64, usize), String> {
    let clock = SystemClock::default();
    let (mut fastest, mut bytes) = (f64::MAX, 0);
    for _ in 0..LISTS {
        let begun = clock.monotonic();
        let text = text(target, making::PATH).await?;
        fastest = fastest.min(clock.monotonic().saturating_sub(begun).as_secs_f64() * 1000.0);
        bytes = text.len();
        let listed = text.matches("\"technicalID\":").count();
        if listed < shoots {
            return Err(format!("a list had {listed} of {shoots} Shoots"));
        }
    }
    Ok((round(fastest), bytes))
}

pub(super) async fn fan_out(target: &Target, options: &Options) -> Result<Flow, String> {
    let annotations = |writer: usize, sent_at: u64| {
        let told = json!({"writer": writer.to_string(), "sentAt": sent_at.to_string()});
        json!({"metadata": {"annotations": told}})
    };
    let watched = Watched {
        client: &target.client,
        path: making::PATH,
        name: &making::name,
        patch: &annotations,
        cpu_time: &|| target.cpu_time(),
    };
    watchers::measure(&watched, options.watchers, options.seconds).await
}
