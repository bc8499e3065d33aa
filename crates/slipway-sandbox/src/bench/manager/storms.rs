//! Many at once: a queue of changes (A2), a garden that goes away under it (A11), and many new Runtimes (A1).

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use slipway_model::{
    ports::Clock as _,
    time::{millis, secs},
};

use super::{
    gardener::LEFT_ALONE,
    land::{Land, Requests},
    runtimes::{self, change, create, finished},
    spread::{Spread, round},
    traces::{Trace, Traces},
};

/// Changes that are queued.
const QUEUED: usize = 1_000;
/// Changes that come behind the queue, one after the other.
const BEHIND: usize = 100;
/// Changes that wait for a garden that is away.
const HELD: usize = 500;
/// New ones at once.
const BURST: usize = 200;

/// Changes behind a queue (A2).
#[derive(Debug, serde::Serialize)]
pub struct Queue {
    /// Changes that were made at once and wait for the garden's budget.
    pub queued: usize,
    /// Of these, from the write until `Pending` with the new generation.
    pub queued_to_pending: Spread,
    /// The same of changes that come one after the other while the queue is there.
    pub behind_to_pending: Spread,
    /// From the first write until all are `Ready`.
    pub all_ready_s: f64,
}

/// A garden that is away for a while (A11).
#[derive(Debug, serde::Serialize)]
pub struct Outage {
    /// How long.
    pub away_s: f64,
    /// Changes made at its beginning.
    pub changes: usize,
    /// Requests in its first five seconds, until it is known to be away.
    pub requests_first_5s: u64,
    /// Requests afterwards, while it is away: probes, and tries to watch again.
    pub requests_afterwards: u64,
    /// The same in five seconds.
    pub requests_per_5s_afterwards: f64,
    /// From its return until all changes are `Ready`.
    pub back_to_all_ready_s: f64,
    /// Requests from its return on.
    pub requests_after_return: Requests,
}

/// Many new ones at once (A1).
#[derive(Debug, serde::Serialize)]
pub struct Burst {
    /// How many.
    pub runtimes: usize,
    /// From the first write until each has its Shoot.
    pub to_shoot: Spread,
    /// Requests to the garden.
    pub garden_requests: u64,
}

async fn change_all(land: &Land, names: &[String]) -> Result<Vec<(Duration, i64)>, String> {
    stream::iter(names)
        .map(async |name| {
            let asked = land.clock.monotonic();
            Ok::<_, String>((asked, change(land, name, runtimes::grow).await?))
        })
        .buffered(16)
        .try_collect()
        .await
}

async fn acknowledged(traces: &Traces, names: &[String], asked: &[(Duration, i64)]) -> Result<Spread, String> {
    // Every one of these has the generation it was given, or a newer one.
    let newest = asked.iter().map(|(_, generation)| *generation).min().unwrap_or_default();
    traces.until("every change is acknowledged", names, |trace| trace.acknowledged(newest)).await?;
    let mut times = Vec::new();
    for (name, (at, generation)) in names.iter().zip(asked) {
        let one = std::slice::from_ref(name);
        let seen = traces.until("a change is acknowledged", one, |trace| trace.acknowledged(*generation)).await?;
        times.extend(seen.first().map(|seen| seen.saturating_sub(*at)));
    }
    Ok(Spread::of(times))
}

/// Fills the queue, and changes others behind it.
pub(super) async fn queue(land: &Land, traces: &Traces, count: usize) -> Result<Queue, String> {
    traces.clear();
    let queued = QUEUED.min(count * 9 / 10).max(1);
    let names: Vec<String> = (0..queued).map(finished).collect();
    let others: Vec<String> = (queued..count).take(BEHIND).map(finished).collect();
    let began = land.clock.monotonic();
    let asked = change_all(land, &names).await?;
    let mut behind = Vec::new();
    for name in &others {
        let one = std::slice::from_ref(name);
        let at = land.clock.monotonic();
        let generation = change(land, name, runtimes::grow).await?;
        let seen = traces.until("a change is acknowledged", one, |trace| trace.acknowledged(generation)).await?;
        behind.extend(seen.first().map(|seen| seen.saturating_sub(at)));
        land.clock.sleep(millis(10)).await;
    }
    let queued_to_pending = acknowledged(traces, &names, &asked).await?;
    let all: Vec<String> = names.into_iter().chain(others).collect();
    traces.until("every changed Runtime is Ready", &all, Trace::ready).await?;
    Ok(Queue {
        queued,
        queued_to_pending,
        behind_to_pending: Spread::of(behind),
        all_ready_s: round(land.clock.monotonic().saturating_sub(began).as_secs_f64()),
    })
}

/// Takes the garden away, changes many, gives it back.
pub(super) async fn outage(land: &Land, traces: &Traces, count: usize, away: Duration) -> Result<Outage, String> {
    traces.clear();
    let names: Vec<String> = (0..HELD.min(count)).map(finished).collect();
    let before = land.asked.now();
    let began = land.clock.monotonic();
    land.take_garden_away(true);
    let asked = change_all(land, &names).await?;
    acknowledged(traces, &names, &asked).await?;
    land.clock.sleep(secs(5).saturating_sub(land.clock.monotonic().saturating_sub(began))).await;
    let known = land.asked.now();
    land.clock.sleep(away.saturating_sub(land.clock.monotonic().saturating_sub(began))).await;
    let returning = land.asked.now();
    let back = land.clock.monotonic();
    land.take_garden_away(false);
    traces.until("every changed Runtime is Ready", &names, Trace::ready).await?;
    let afterwards = returning.since(known).garden();
    let rest = away.saturating_sub(secs(5)).as_secs_f64();
    Ok(Outage {
        away_s: round(back.saturating_sub(began).as_secs_f64()),
        changes: names.len(),
        requests_first_5s: known.since(before).garden(),
        requests_afterwards: afterwards,
        requests_per_5s_afterwards: round(afterwards as f64 * 5.0 / rest),
        back_to_all_ready_s: round(land.clock.monotonic().saturating_sub(back).as_secs_f64()),
        requests_after_return: land.asked.now().since(returning),
    })
}

/// Asks for many at once.
pub(super) async fn burst(land: &Land, traces: &Traces) -> Result<Burst, String> {
    traces.clear();
    let names: Vec<String> = (0..BURST).map(|number| format!("{LEFT_ALONE}{number:05}")).collect();
    let before = land.asked.now();
    let began = land.clock.monotonic();
    stream::iter(&names).map(|name| create(land, name)).buffer_unordered(16).try_for_each(async |()| Ok(())).await?;
    let made = traces.until("every new Runtime has its Shoot", &names, |trace| trace.shoot_made).await?;
    Ok(Burst {
        runtimes: names.len(),
        to_shoot: Spread::of(made.into_iter().map(|at| at.saturating_sub(began)).collect()),
        garden_requests: land.asked.now().since(before).garden(),
    })
}
