//! The queue of operations as SQLite keeps it. `INDEXED BY` leads the planner, which has no figures, to
//! the index that a statement is written for.

use slipway_model::{
    OperationId, OperationState, ReplicaId, Timestamp,
    ports::{ClaimRequest, Claimed, Commit, CommitOutcome, Registration},
};
use sqlx::{SqliteConnection, sqlite::SqliteRow, types::Uuid};

use super::{claim, commit};
use crate::{
    error::Tried,
    hints::News,
    operations::{BY_ID, Queue},
    rows::{Cells, operation_columns, registration},
    secrets::Keyring,
    sql::{Conn, args},
};

const ENTER: &str = "
    INSERT INTO replicas (id, beat, at, known)
    VALUES ($1, 0, coalesce((SELECT engine_at FROM fleet_time), 0), $2) ON CONFLICT (id) DO NOTHING";
const FLEET: &str = "
    SELECT (SELECT engine_at FROM fleet_time) AS engine_at, (SELECT database_at FROM fleet_time) AS database_at,
        EXISTS (SELECT 1 FROM replicas WHERE id <> $1) AS has_peers";
const NOTE: &str = "
    INSERT INTO fleet_time (id, engine_at, database_at) VALUES (1, $1, $2)
    ON CONFLICT (id) DO UPDATE SET engine_at = excluded.engine_at, database_at = excluded.database_at
        WHERE fleet_time.engine_at <= excluded.engine_at";
const BEAT: &str = "UPDATE replicas SET beat = beat + 1, at = $2 WHERE id = $1";

const SURRENDER: &str = "
    UPDATE operations SET owner = NULL, fence = fence + 1, commits = 0, due_at = $4
    WHERE id = $2 AND fence = $3 AND owner = $1 AND due_at IS NULL";

/// A new number each time, by AUTOINCREMENT.
const FORGET_SIGNAL: &str = "DELETE FROM signals WHERE key = $1";
const SIGNAL: &str = "INSERT INTO signals (key, at) VALUES ($1, $2)";
/// A paused operation keeps still; it looks for itself when it is resumed.
const WAKE: &str = "
    UPDATE operations SET due_at = min(due_at, $4), wait_seen = $2, woken_by = $3
    WHERE wait_on = $1 AND wait_on IS NOT NULL AND due_at IS NOT NULL AND pause_request IS NULL";

/// One state, from its own stretch of the index.
const NEWEST_IN_STATE: &str =
    concat!("SELECT ", operation_columns!(), " FROM operations WHERE state = $3 AND id < $1 ORDER BY id DESC LIMIT $2");

impl Queue for SqliteConnection {
    const UNFINISHED: &'static str = concat!(
        "SELECT ",
        operation_columns!(),
        " FROM operations INDEXED BY operations_instance
          WHERE instance_id = $1 AND state IN ('pending', 'in progress', 'canceling', 'retrying') ORDER BY id"
    );
    const ONE_TO_CHANGE: &'static str = BY_ID;
    const OLD_SECRETS: &'static str = "
        SELECT id, secrets, secrets_key FROM operations WHERE secrets_key IS NOT NULL AND secrets_key <> $1
        ORDER BY id LIMIT $2";
    const FREE: &'static str = "
        UPDATE operations SET owner = NULL, fence = fence + 1, commits = 0, due_at = coalesce(due_at, $2),
            taken_from = CASE WHEN due_at IS NULL THEN $1 END
        WHERE owner = $1";
    const NEWEST_OF_INSTANCE: &'static str = concat!(
        "SELECT ",
        operation_columns!(),
        " FROM operations INDEXED BY operations_instance WHERE id < $1 AND instance_id = $3
          AND ($4 = '[]' OR state IN (SELECT value FROM json_each($4))) ORDER BY id DESC LIMIT $2"
    );
    const PURGE_RECORDS: &'static str = "
        DELETE FROM records WHERE id IN (
            SELECT r.id FROM records r LEFT JOIN operations o ON o.id = r.operation_id
            WHERE r.at < $1 AND (o.id IS NULL OR o.state IN ('succeeded', 'failed', 'canceled'))
            ORDER BY r.at, r.id LIMIT $2)";

    async fn register(&mut self, replica: &ReplicaId, known: &str, wall: Timestamp) -> Tried<Registration> {
        self.run(ENTER, args![replica.as_str(), known]).await?;
        let row = sqlx::query(FLEET).bind(replica.as_str()).fetch_one(self).await?;
        let (engine_at, database_at) = (row.maybe_int("engine_at")?, row.maybe_int("database_at")?);
        Ok(registration(wall.as_micros(), engine_at, database_at, row.flag("has_peers")?))
    }

    async fn beat(&mut self, replica: &ReplicaId, now: Timestamp, wall: Timestamp) -> Tried<(bool, Timestamp)> {
        let alive = self.run(BEAT, args![replica.as_str(), now]).await? > 0;
        if alive {
            self.run(NOTE, args![now, wall]).await?;
        }
        Ok((alive, wall))
    }

    async fn surrender(&mut self, replica: &ReplicaId, leases: &[(OperationId, u64)], now: Timestamp) -> Tried<u64> {
        let mut given_back = 0;
        for (id, fence) in leases {
            given_back += self.run(SURRENDER, args![replica.as_str(), *id, *fence, now]).await?;
        }
        Ok(given_back)
    }

    async fn claim(&mut self, keyring: &Keyring, request: &ClaimRequest) -> Tried<Claimed> {
        claim::claim(self, keyring, request).await
    }

    async fn commit(&mut self, keyring: &Keyring, group: &[Commit]) -> Tried<(Vec<CommitOutcome>, News)> {
        commit::commit(self, keyring, group).await
    }

    async fn wake(&mut self, keys: &[&str], cause: &str, now: Timestamp) -> Tried<u64> {
        let mut woken = 0;
        for key in keys {
            self.run(FORGET_SIGNAL, args![*key]).await?;
            let signal = sqlx::query(SIGNAL).bind(*key).bind(now.as_micros()).execute(&mut *self).await?;
            woken += self.run(WAKE, args![*key, signal.last_insert_rowid(), cause, now]).await?;
        }
        Ok(woken)
    }

    async fn newest_in_states(
        &mut self,
        before: Uuid,
        states: &[OperationState],
        limit: usize,
    ) -> Tried<Vec<SqliteRow>> {
        let mut found = Vec::new();
        for state in states {
            found.extend(self.rows(NEWEST_IN_STATE, args![before, limit, state.as_str()]).await?);
        }
        Ok(found)
    }
}
