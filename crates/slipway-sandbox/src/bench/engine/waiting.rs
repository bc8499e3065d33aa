//! What ten thousand waiting operations cost.

use std::time::Duration;

use slipway_model::{
    ports::Clock,
    time::{millis, secs},
};

use super::{
    databases::{Kind, Server},
    steps::{self, Timings, Watch},
};
use crate::bench::measure::{cpu_time, resident_bytes};

/// How long to watch an engine that has nothing to do.
const WATCHED: Duration = secs(10);

/// Figures of waiting operations.
#[derive(Debug, serde::Serialize)]
pub struct Waiting {
    /// Database.
    pub database: Kind,
    /// How many wait.
    pub operations: usize,
    /// Resident memory of this process more than before, in bytes. With SQLite that includes the
    /// database's page cache.
    pub more_memory_bytes: i64,
    /// Processor time while nothing happens, in parts of one core.
    pub idle_cpu: f64,
    /// The same of an engine that has no operations at all.
    pub empty_engine_cpu: f64,
}

pub(super) async fn measure(server: &Server, kind: Kind, operations: usize) -> Result<Waiting, String> {
    let database = server.fresh(kind).await?;
    let watch = Watch::new();
    let engine = steps::engine(database.store.clone(), &watch, 64).await?;
    // Warm: connections, statements, caches.
    database.fill(200, "writes").await?;
    while watch.look(|seen| seen.ended) < 200 {
        watch.clock.sleep(millis(10)).await;
    }
    watch.look(|seen| *seen = Timings::default());
    let empty_engine_cpu = idle_cpu(&watch).await;
    let before = resident_bytes();
    database.fill(operations, "waits").await?;
    while watch.look(|seen| seen.waits) < operations {
        watch.clock.sleep(millis(20)).await;
    }
    watch.clock.sleep(secs(2)).await;
    let idle_cpu = idle_cpu(&watch).await;
    let after = resident_bytes();
    engine.stop().await;
    let more_memory_bytes = i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(0);
    Ok(Waiting { database: kind, operations, more_memory_bytes, idle_cpu, empty_engine_cpu })
}

async fn idle_cpu(watch: &Watch) -> f64 {
    let begun = cpu_time();
    watch.clock.sleep(WATCHED).await;
    let used = cpu_time().saturating_sub(begun);
    (used.as_secs_f64() / WATCHED.as_secs_f64() * 1000.0).round() / 1000.0
}
