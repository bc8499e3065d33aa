//! Replicas and their leases.

use slipway_model::{
    OperationId, ReplicaId, Timestamp,
    ports::{Heartbeat, Registration},
};
use sqlx::SqliteConnection;

use crate::{
    error::Tried,
    rows::{Cells, counted, peers, registration, signed},
};

const ENTER: &str = "
    INSERT INTO replicas (id, beat, at)
    VALUES (?1, 0, coalesce((SELECT engine_at FROM fleet_time), 0)) ON CONFLICT (id) DO NOTHING";
const FLEET: &str = "
    SELECT (SELECT engine_at FROM fleet_time) AS engine_at, (SELECT database_at FROM fleet_time) AS database_at,
        EXISTS (SELECT 1 FROM replicas WHERE id <> ?1) AS has_peers";
const NOTE: &str = "
    INSERT INTO fleet_time (id, engine_at, database_at) VALUES (1, ?1, ?2)
    ON CONFLICT (id) DO UPDATE SET engine_at = excluded.engine_at, database_at = excluded.database_at
        WHERE fleet_time.engine_at <= excluded.engine_at";
const BEAT: &str = "UPDATE replicas SET beat = beat + 1, at = ?2 WHERE id = ?1";
const PEERS: &str = "SELECT id, beat, at FROM replicas WHERE id <> ?1 ORDER BY id";
const REMOVE: &str = "DELETE FROM replicas WHERE id = ?1 AND (?2 IS NULL OR beat = ?2)";

/// A lease ends: the next holder gets a higher fence, and a running step runs again at once.
const FREE: &str = "
    UPDATE operations SET owner = NULL, fence = fence + 1, commits = 0, due_at = coalesce(due_at, ?2),
        taken_from = CASE WHEN due_at IS NULL THEN ?1 END
    WHERE owner = ?1";

const HELD: &str = "SELECT id, fence FROM operations WHERE owner = ?1 AND due_at IS NULL ORDER BY id";

const SURRENDER: &str = "
    UPDATE operations SET owner = NULL, fence = fence + 1, commits = 0, due_at = ?4
    WHERE id = ?2 AND fence = ?3 AND owner = ?1 AND due_at IS NULL";

pub(super) async fn register(conn: &mut SqliteConnection, replica: &ReplicaId, wall: Timestamp) -> Tried<Registration> {
    sqlx::query(ENTER).bind(replica.as_str()).execute(&mut *conn).await?;
    let row = sqlx::query(FLEET).bind(replica.as_str()).fetch_one(conn).await?;
    let (engine_at, database_at) = (row.maybe_int("engine_at")?, row.maybe_int("database_at")?);
    Ok(registration(wall.as_micros(), engine_at, database_at, row.flag("has_peers")?))
}

pub(super) async fn heartbeat(
    conn: &mut SqliteConnection,
    replica: &ReplicaId,
    now: Timestamp,
    wall: Timestamp,
) -> Tried<Heartbeat> {
    let beaten = sqlx::query(BEAT).bind(replica.as_str()).bind(now.as_micros()).execute(&mut *conn).await?;
    let alive = beaten.rows_affected() > 0;
    if alive {
        sqlx::query(NOTE).bind(now.as_micros()).bind(wall.as_micros()).execute(&mut *conn).await?;
    }
    let rows = sqlx::query(PEERS).bind(replica.as_str()).fetch_all(conn).await?;
    Ok(Heartbeat { alive, database_now: wall, peers: peers(&rows)? })
}

/// Removes a replica and frees its operations: without condition, or if its heartbeat count is
/// still the given one.
pub(super) async fn give_up(
    conn: &mut SqliteConnection,
    replica: &ReplicaId,
    beat: Option<u64>,
    now: Timestamp,
) -> Tried<usize> {
    let remove = sqlx::query(REMOVE).bind(replica.as_str()).bind(beat.map(signed));
    if remove.execute(&mut *conn).await?.rows_affected() == 0 && beat.is_some() {
        return Ok(0);
    }
    let freed = sqlx::query(FREE).bind(replica.as_str()).bind(now.as_micros()).execute(conn).await?;
    Ok(usize::try_from(freed.rows_affected()).unwrap_or(usize::MAX))
}

pub(super) async fn held(conn: &mut SqliteConnection, replica: &ReplicaId) -> Tried<Vec<(OperationId, u64)>> {
    let rows = sqlx::query(HELD).bind(replica.as_str()).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((OperationId::from(row.uuid("id")?), counted(row.int("fence")?)?))).collect()
}

pub(super) async fn surrender(
    conn: &mut SqliteConnection,
    replica: &ReplicaId,
    leases: &[(OperationId, u64)],
    now: Timestamp,
) -> Tried<usize> {
    let mut given_back = 0;
    for (id, fence) in leases {
        let query = sqlx::query(SURRENDER).bind(replica.as_str()).bind(id.as_uuid()).bind(signed(*fence));
        given_back += query.bind(now.as_micros()).execute(&mut *conn).await?.rows_affected();
    }
    Ok(usize::try_from(given_back).unwrap_or(usize::MAX))
}
