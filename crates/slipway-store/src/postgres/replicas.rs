//! Replicas and their leases.
//!
//! A dead replica never ends up owning something. A claim locks its replica's row against removal
//! (`FOR KEY SHARE`, which a heartbeat does not conflict with); giving a replica up removes that
//! row first and frees its operations in a later statement. So either the claim comes first, and the
//! freeing statement, whose view is younger than the removal, sees what was claimed; or the removal
//! comes first and the claim finds no row.

use slipway_model::{
    OperationId, ReplicaId, Timestamp,
    ports::{Heartbeat, Registration},
};
use sqlx::{Connection, PgConnection, types::Uuid};

use crate::{
    error::Tried,
    rows::{Cells, counted, peers, registration, signed},
};

/// Enters a replica; answers the server's clock, and what the latest heartbeat of anybody left.
const REGISTER: &str = "
    WITH entered AS (
        INSERT INTO replicas (id, beat, at)
        VALUES ($1, 0, coalesce((SELECT engine_at FROM fleet_time), 0)) ON CONFLICT (id) DO NOTHING
    )
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS wall,
        (SELECT engine_at FROM fleet_time) AS engine_at, (SELECT database_at FROM fleet_time) AS database_at,
        EXISTS (SELECT 1 FROM replicas WHERE id <> $1) AS has_peers";

const BEAT: &str = "
    WITH present AS (
        SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS wall
    ), beaten AS (
        UPDATE replicas SET beat = beat + 1, at = $2 WHERE id = $1 RETURNING id
    ), noted AS (
        INSERT INTO fleet_time (id, engine_at, database_at) SELECT 1, $2, wall FROM beaten, present
        ON CONFLICT (id) DO UPDATE SET engine_at = excluded.engine_at, database_at = excluded.database_at
            WHERE fleet_time.engine_at <= excluded.engine_at
    )
    SELECT wall, EXISTS (SELECT 1 FROM beaten) AS alive FROM present";
const PEERS: &str = "SELECT id, beat, at FROM replicas WHERE id <> $1 ORDER BY id";

const REMOVE: &str = "DELETE FROM replicas WHERE id = $1 AND ($2::bigint IS NULL OR beat = $2)";

/// A lease ends: the next holder gets a higher fence, and a running step runs again at once. Rows
/// are locked in the order of their ids, as everybody does who locks many.
const FREE: &str = "
    UPDATE operations o SET
        owner = NULL, fence = o.fence + 1, commits = 0, due_at = coalesce(o.due_at, $2),
        taken_from = CASE WHEN o.due_at IS NULL THEN $1 END
    FROM (SELECT id FROM operations WHERE owner = $1 ORDER BY id FOR UPDATE) held
    WHERE o.id = held.id AND o.owner = $1";

const HELD: &str = "SELECT id, fence FROM operations WHERE owner = $1 AND due_at IS NULL ORDER BY id";

const SURRENDER: &str = "
    UPDATE operations o SET owner = NULL, fence = o.fence + 1, commits = 0, due_at = $4
    FROM unnest($2::uuid[], $3::bigint[]) AS lease (id, fence)
    WHERE o.id = lease.id AND o.fence = lease.fence AND o.owner = $1 AND o.due_at IS NULL";

pub(super) async fn register(conn: &mut PgConnection, replica: &ReplicaId) -> Tried<Registration> {
    let row = sqlx::query(REGISTER).bind(replica.as_str()).fetch_one(conn).await?;
    let (engine_at, database_at) = (row.maybe_int("engine_at")?, row.maybe_int("database_at")?);
    Ok(registration(row.int("wall")?, engine_at, database_at, row.flag("has_peers")?))
}

pub(super) async fn heartbeat(conn: &mut PgConnection, replica: &ReplicaId, now: Timestamp) -> Tried<Heartbeat> {
    let beaten = sqlx::query(BEAT).bind(replica.as_str()).bind(now.as_micros()).fetch_one(&mut *conn).await?;
    let rows = sqlx::query(PEERS).bind(replica.as_str()).fetch_all(conn).await?;
    let database_now = Timestamp::from_micros(beaten.int("wall")?);
    Ok(Heartbeat { alive: beaten.flag("alive")?, database_now, peers: peers(&rows)? })
}

/// Removes a replica and frees its operations: without condition, or (`None` otherwise) if its
/// heartbeat count is still the given one.
pub(super) async fn give_up(
    conn: &mut PgConnection,
    replica: &ReplicaId,
    beat: Option<u64>,
    now: Timestamp,
) -> Tried<Option<usize>> {
    let mut tx = conn.begin().await?;
    let remove = sqlx::query(REMOVE).bind(replica.as_str()).bind(beat.map(signed));
    if remove.execute(&mut *tx).await?.rows_affected() == 0 && beat.is_some() {
        tx.rollback().await?;
        return Ok(None);
    }
    let freed = sqlx::query(FREE).bind(replica.as_str()).bind(now.as_micros()).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(Some(usize::try_from(freed.rows_affected()).unwrap_or(usize::MAX)))
}

pub(super) async fn held(conn: &mut PgConnection, replica: &ReplicaId) -> Tried<Vec<(OperationId, u64)>> {
    let rows = sqlx::query(HELD).bind(replica.as_str()).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((OperationId::from(row.uuid("id")?), counted(row.int("fence")?)?))).collect()
}

pub(super) async fn surrender(
    conn: &mut PgConnection,
    replica: &ReplicaId,
    leases: &[(OperationId, u64)],
    now: Timestamp,
) -> Tried<usize> {
    let ids: Vec<Uuid> = leases.iter().map(|(id, _)| id.as_uuid()).collect();
    let fences: Vec<i64> = leases.iter().map(|(_, fence)| signed(*fence)).collect();
    let query = sqlx::query(SURRENDER).bind(replica.as_str()).bind(ids).bind(fences).bind(now.as_micros());
    let done = query.execute(conn).await?;
    Ok(usize::try_from(done.rows_affected()).unwrap_or(usize::MAX))
}
