//! The queue of operations as PostgreSQL keeps it.

use slipway_model::{
    OperationId, OperationState, ReplicaId, Timestamp,
    ports::{ClaimRequest, Claimed, Commit, CommitOutcome, Registration},
};
use sqlx::{PgConnection, postgres::PgRow, types::Uuid};

use super::{claim, commit, wake};
use crate::{
    error::Tried,
    hints::News,
    operations::Queue,
    rows::{Cells, operation_columns, registration, signed},
    secrets::Keyring,
    sql::{Conn, args},
};

/// Enters a replica; answers the server's clock, and what the latest heartbeat of anybody left.
const REGISTER: &str = "
    WITH entered AS (
        INSERT INTO replicas (id, beat, at, known)
        VALUES ($1, 0, coalesce((SELECT engine_at FROM fleet_time), 0), $2) ON CONFLICT (id) DO NOTHING
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

const SURRENDER: &str = "
    UPDATE operations o SET owner = NULL, fence = o.fence + 1, commits = 0, due_at = $4
    FROM unnest($2::uuid[], $3::bigint[]) AS lease (id, fence)
    WHERE o.id = lease.id AND o.fence = lease.fence AND o.owner = $1 AND o.due_at IS NULL";

/// Each state is read from its own stretch of the index, so that a rare one is found without
/// walking past all the others.
const NEWEST_IN_STATES: &str = concat!(
    "SELECT o.* FROM unnest($3::text[]) AS wanted (state) CROSS JOIN LATERAL (SELECT ",
    operation_columns!(),
    " FROM operations WHERE operations.state = wanted.state COLLATE \"C\" AND id < $1 ORDER BY id DESC LIMIT $2) o
      ORDER BY o.id DESC LIMIT $2"
);

impl Queue for PgConnection {
    const UNFINISHED: &'static str = concat!(
        "SELECT ",
        operation_columns!(),
        " FROM operations WHERE instance_id = $1 AND state IN ('pending', 'in progress', 'canceling', 'retrying')
          ORDER BY id FOR UPDATE"
    );
    const ONE_TO_CHANGE: &'static str =
        concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = $1 FOR UPDATE");
    /// Rows that are locked are left for the next call.
    const OLD_SECRETS: &'static str = "
        SELECT id, secrets, secrets_key FROM operations WHERE secrets_key IS NOT NULL AND secrets_key <> $1
        ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED";
    /// Rows are locked in the order of their ids, as everybody does who locks many.
    const FREE: &'static str = "
        UPDATE operations o SET
            owner = NULL, fence = o.fence + 1, commits = 0, due_at = coalesce(o.due_at, $2),
            taken_from = CASE WHEN o.due_at IS NULL THEN $1 END
        FROM (SELECT id FROM operations WHERE owner = $1 ORDER BY id FOR UPDATE) held
        WHERE o.id = held.id AND o.owner = $1";
    /// The first `OR` keeps the planner from walking the index of all ids.
    const NEWEST_OF_INSTANCE: &'static str = concat!(
        "SELECT ",
        operation_columns!(),
        " FROM operations WHERE instance_id = $3 AND ($1::uuid IS NULL OR id < $1)
          AND (cardinality($4::text[]) = 0 OR state = ANY($4)) ORDER BY id DESC LIMIT $2"
    );
    const PURGE_RECORDS: &'static str = "
        DELETE FROM records WHERE id IN (
            SELECT r.id FROM records r LEFT JOIN operations o ON o.id = r.operation_id
            WHERE r.at < $1 AND (o.id IS NULL OR o.state IN ('succeeded', 'failed', 'canceled'))
            ORDER BY r.id LIMIT $2)";

    async fn register(&mut self, replica: &ReplicaId, known: &str, _: Timestamp) -> Tried<Registration> {
        let row = sqlx::query(REGISTER).bind(replica.as_str()).bind(known).fetch_one(self).await?;
        let (engine_at, database_at) = (row.maybe_int("engine_at")?, row.maybe_int("database_at")?);
        Ok(registration(row.int("wall")?, engine_at, database_at, row.flag("has_peers")?))
    }

    async fn beat(&mut self, replica: &ReplicaId, now: Timestamp, _: Timestamp) -> Tried<(bool, Timestamp)> {
        let beaten = sqlx::query(BEAT).bind(replica.as_str()).bind(now.as_micros()).fetch_one(self).await?;
        Ok((beaten.flag("alive")?, Timestamp::from_micros(beaten.int("wall")?)))
    }

    async fn surrender(&mut self, replica: &ReplicaId, leases: &[(OperationId, u64)], now: Timestamp) -> Tried<u64> {
        let ids: Vec<Uuid> = leases.iter().map(|(id, _)| id.as_uuid()).collect();
        let fences: Vec<i64> = leases.iter().map(|(_, fence)| signed(*fence)).collect();
        let query = sqlx::query(SURRENDER).bind(replica.as_str()).bind(ids).bind(fences).bind(now.as_micros());
        Ok(query.execute(self).await?.rows_affected())
    }

    async fn claim(&mut self, keyring: &Keyring, request: &ClaimRequest) -> Tried<Claimed> {
        claim::claim(self, keyring, request).await
    }

    async fn commit(&mut self, keyring: &Keyring, group: &[Commit]) -> Tried<(Vec<CommitOutcome>, News)> {
        commit::commit(self, keyring, group).await
    }

    async fn wake(&mut self, keys: &[&str], cause: &str, now: Timestamp) -> Tried<u64> {
        wake::wake(self, keys, cause, now).await
    }

    async fn newest_in_states(&mut self, before: Uuid, states: &[OperationState], limit: usize) -> Tried<Vec<PgRow>> {
        let states: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
        self.rows(NEWEST_IN_STATES, args![before, limit, states]).await
    }
}
