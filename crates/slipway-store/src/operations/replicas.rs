//! Replicas, their leases, and what they know.

use std::collections::BTreeSet;

use slipway_model::{
    OperationId, ProcessKey, ReplicaId, Timestamp,
    ports::{Heartbeat, Registration},
};

use super::{Queue, count};
use crate::{
    error::Tried,
    rows::{Cells, counted, peers, unreadable},
    sql::{Conn, args},
};

const PEERS: &str = "SELECT id, beat, at FROM replicas WHERE id <> $1 ORDER BY id";
const REMOVE: &str = "DELETE FROM replicas WHERE id = $1 AND (CAST($2 AS BIGINT) IS NULL OR beat = $2)";
const HELD: &str = "SELECT id, fence FROM operations WHERE owner = $1 AND due_at IS NULL ORDER BY id";

const KNOWN: &str = "SELECT known FROM replicas";
const UNFINISHED: &str = "
    SELECT process, count(*) AS found FROM operations
    WHERE state IN ('pending', 'in progress', 'canceling', 'retrying') GROUP BY process";

pub(super) async fn register<C: Queue>(
    conn: &mut C,
    replica: &ReplicaId,
    known: &[ProcessKey],
    wall: Timestamp,
) -> Tried<Registration> {
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    conn.register(replica, &serde_json::json!(known).to_string(), wall).await
}

/// A replica that does not tell what it knows may know anything: while there is one, nothing is stranded.
pub(super) async fn stranded<C: Conn>(conn: &mut C) -> Tried<Vec<(ProcessKey, usize)>> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for row in conn.rows(KNOWN, args![]).await? {
        let Some(told) = row.maybe_text("known")? else { return Ok(Vec::new()) };
        known.extend(serde_json::from_str::<Vec<String>>(&told).map_err(unreadable)?);
    }
    let mut found = Vec::new();
    for row in conn.rows(UNFINISHED, args![]).await? {
        let process = row.text("process")?;
        if !known.contains(&process) {
            found.push((process.parse().map_err(unreadable)?, usize::try_from(row.int("found")?).unwrap_or(0)));
        }
    }
    found.sort();
    Ok(found)
}

pub(super) async fn heartbeat<C: Queue>(
    conn: &mut C,
    replica: &ReplicaId,
    now: Timestamp,
    wall: Timestamp,
) -> Tried<Heartbeat> {
    let (alive, database_now) = conn.beat(replica, now, wall).await?;
    let others = conn.rows(PEERS, args![replica.as_str()]).await?;
    Ok(Heartbeat { alive, database_now, peers: peers(&others)? })
}

/// Removes a replica and frees its operations: without condition, or (`None` otherwise) if its
/// heartbeat count is still the given one.
///
/// A dead replica never ends up owning something. A claim locks its replica's row against removal;
/// here that row goes first, and the operations are freed in a later statement. So either the claim
/// comes first, and the freeing statement, whose view is younger than the removal, sees what was
/// claimed; or the removal comes first and the claim finds no row.
pub(super) async fn give_up<C: Queue>(
    conn: &mut C,
    replica: &ReplicaId,
    beat: Option<u64>,
    now: Timestamp,
) -> Tried<Option<usize>> {
    if conn.run(REMOVE, args![replica.as_str(), beat]).await? == 0 && beat.is_some() {
        return Ok(None);
    }
    Ok(Some(count(conn.run(C::FREE, args![replica.as_str(), now]).await?)))
}

pub(super) async fn held<C: Conn>(conn: &mut C, replica: &ReplicaId) -> Tried<Vec<(OperationId, u64)>> {
    let found = conn.rows(HELD, args![replica.as_str()]).await?;
    found.iter().map(|row| Ok((OperationId::from(row.uuid("id")?), counted(row.int("fence")?)?))).collect()
}
