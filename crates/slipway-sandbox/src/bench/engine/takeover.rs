//! How long it takes until everything moves again after `kill -9` of one of two processes.

use std::{path::Path, process::Stdio, time::Duration};

use slipway_engine::SystemClock;
use slipway_model::{
    OperationId, OperationState, ReplicaId, Timestamp,
    ports::{Clock, Filter, Storage},
    time::{millis, secs},
};

use super::{
    databases::{self, Kind, Server},
    steps::{self, Watch},
};

/// Figures of a takeover.
#[derive(Debug, serde::Serialize)]
pub struct Takeover {
    /// Operations in progress, spread over two processes.
    pub operations: usize,
    /// How many the killed process held.
    pub held_by_the_killed: usize,
    /// From the kill until the last of them had moved again, in milliseconds.
    pub all_move_again_ms: u64,
}

/// An operation in progress: who holds it, and its latest change.
struct Row {
    id: OperationId,
    owner: Option<ReplicaId>,
    updated_at: Timestamp,
}

/// One of the two processes: runs ticking operations until it is killed.
pub async fn replica(address: &str) -> Result<(), String> {
    let store = databases::open(Kind::Postgres, address).await?;
    let _engine = steps::engine(store, &Watch::new(), 64).await?;
    std::future::pending().await
}

pub(super) async fn measure(server: &Server, program: &Path, operations: usize) -> Result<Takeover, String> {
    let database = server.fresh(Kind::Postgres).await?;
    let clock = SystemClock::default();
    let start = || {
        tokio::process::Command::new(program)
            .args(["bench", "engine-replica", "--database", &database.address])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))
    };
    // The first takes half of the operations, then the second the other half: so it is known
    // which of them the killed one holds.
    let mut victim = start()?;
    database.fill(operations / 2, "ticks").await?;
    let held_by_the_killed = until_held(&*database.store, &clock, operations / 2, 1).await?;
    let _survivor = start()?;
    database.fill(operations - operations / 2, "ticks").await?;
    until_held(&*database.store, &clock, operations, 2).await?;
    let theirs: Vec<OperationId> = {
        let owner = held_by_the_killed;
        let rows = in_progress(&*database.store, operations).await?;
        rows.into_iter().filter(|row| row.owner.as_ref() == Some(&owner)).map(|row| row.id).collect()
    };

    victim.kill().await.map_err(|error| format!("cannot kill a process: {error}"))?;
    let killed_at = clock.monotonic();
    let before: Vec<(OperationId, Timestamp)> =
        in_progress(&*database.store, operations).await?.into_iter().map(|row| (row.id, row.updated_at)).collect();
    let limit = killed_at + secs(60);
    loop {
        let rows = in_progress(&*database.store, operations).await?;
        let moved = |id: &OperationId| {
            let then = before.iter().find(|(old, _)| old == id).map(|(_, at)| *at);
            rows.iter().find(|row| row.id == *id).is_some_and(|row| Some(row.updated_at) > then)
        };
        if theirs.iter().all(moved) {
            break;
        }
        if clock.monotonic() > limit {
            return Err("some operations never moved again".to_owned());
        }
        clock.sleep(millis(10)).await;
    }
    let took = clock.monotonic().saturating_sub(killed_at);
    Ok(Takeover {
        operations,
        held_by_the_killed: theirs.len(),
        all_move_again_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Waits until `count` operations are held by this many replicas; answers who holds most.
async fn until_held(
    store: &dyn Storage,
    clock: &SystemClock,
    count: usize,
    replicas: usize,
) -> Result<ReplicaId, String> {
    let limit = clock.monotonic() + secs(60);
    loop {
        let mut owners: Vec<_> = in_progress(store, count).await?.into_iter().filter_map(|row| row.owner).collect();
        let all_held = owners.len() == count;
        owners.sort_unstable();
        let most = owners.chunk_by(PartialEq::eq).max_by_key(|held| held.len()).map(|held| held[0].clone());
        owners.dedup();
        match most {
            Some(most) if all_held && owners.len() == replicas => return Ok(most),
            _ if clock.monotonic() > limit => return Err("the operations are not held after a minute".to_owned()),
            _ => clock.sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn in_progress(store: &dyn Storage, count: usize) -> Result<Vec<Row>, String> {
    let filter = Filter { states: vec![OperationState::InProgress], limit: count, ..Filter::default() };
    let operations = store.operations(&filter).await.map_err(|error| error.to_string())?;
    let row = |op: slipway_model::Operation| Row { id: op.id, owner: op.schedule.owner, updated_at: op.updated_at };
    Ok(operations.into_iter().map(row).collect())
}
