//! How long it takes until everything moves again after `kill -9` of one of two processes.

use std::path::Path;

use slipway_engine::SystemClock;
use slipway_model::{
    OperationId, OperationState, Timestamp,
    ports::{Clock, Filter, Storage},
    time::{millis, secs},
};

use super::{
    databases::{self, Kind, Server},
    steps::{self, Watch},
};
use crate::bench::part::{self, READY};

/// Figures of a takeover.
#[derive(Debug, serde::Serialize)]
pub struct Takeover {
    /// Operations in progress, all held by the process that is killed.
    pub operations: usize,
    /// From the kill until the last of them had moved again, in milliseconds.
    pub all_move_again_ms: u64,
}

/// An operation in progress.
struct Row {
    id: OperationId,
    is_held: bool,
    updated_at: Timestamp,
}

/// One of the two processes: says when it is at work, and runs ticking operations until it is killed.
pub async fn replica(address: &str) -> Result<(), String> {
    let store = databases::open(Kind::Postgres, address).await?;
    let _engine = steps::engine(store, &Watch::new(), 64).await?;
    println!("{READY}");
    std::future::pending().await
}

pub(super) async fn measure(server: &Server, program: &Path, operations: usize) -> Result<Takeover, String> {
    let database = server.fresh(Kind::Postgres).await?;
    let clock = SystemClock::default();
    // The first takes all operations before there is a second: so it is known what dies with it.
    let start = || part::start(program, "engine-replica", ("--database", database.address.as_ref()));
    let mut victim = start().await?;
    database.fill(operations, "ticks").await?;
    let limit = clock.monotonic() + secs(60);
    while in_progress(&*database.store, operations).await?.iter().filter(|row| row.is_held).count() < operations {
        if clock.monotonic() > limit {
            return Err("the operations are not held after a minute".to_owned());
        }
        clock.sleep(millis(50)).await;
    }
    let _survivor = start().await?;

    victim.child.kill().await.map_err(|error| format!("cannot kill a process: {error}"))?;
    let killed_at = clock.monotonic();
    let before = in_progress(&*database.store, operations).await?;
    let limit = killed_at + secs(60);
    loop {
        let now = in_progress(&*database.store, operations).await?;
        let has_moved = |row: &Row| before.iter().any(|old| old.id == row.id && old.updated_at < row.updated_at);
        if now.len() == operations && now.iter().all(has_moved) {
            break;
        }
        if clock.monotonic() > limit {
            return Err("some operations never moved again".to_owned());
        }
        clock.sleep(millis(10)).await;
    }
    let took = clock.monotonic().saturating_sub(killed_at);
    Ok(Takeover { operations, all_move_again_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) })
}

async fn in_progress(store: &dyn Storage, count: usize) -> Result<Vec<Row>, String> {
    let filter = Filter { states: vec![OperationState::InProgress], limit: count, ..Filter::default() };
    let operations = store.operations(&filter).await.map_err(|error| error.to_string())?;
    let row = |op: slipway_model::Operation| Row {
        id: op.id,
        is_held: op.schedule.owner.is_some(),
        updated_at: op.updated_at,
    };
    Ok(operations.into_iter().map(row).collect())
}
