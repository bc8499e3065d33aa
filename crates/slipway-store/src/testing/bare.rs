//! The rows of a step written without engine and store: what the benchmark compares them with.
//!
//! A step writes three rows: its operation is updated under a check of version and lease, its
//! ledger row is replaced, and the flight recorder gets an entry. Here they are written by the
//! driver alone, with hand-written statements, in the two ways one would think of first.

use std::time::Duration;

use sqlx::{PgPool, SqlitePool, types::Uuid};

/// What a bare loop writes for one step.
#[derive(Debug, Clone)]
pub struct BareStep {
    /// The operation, present in the database.
    pub operation: Uuid,
    /// Its version and its count of commits, both raised by one.
    pub number: i64,
    /// Data of the operation: JSON text of a usual length.
    pub data: String,
    /// The step.
    pub step: String,
    /// The entry of the flight recorder: JSON text of a usual length.
    pub record: String,
    /// Time of the write.
    pub at: i64,
}

impl BareStep {
    /// The steps of this operation, before the first.
    pub fn of(operation: Uuid) -> Self {
        Self { operation, number: 0, data: String::new(), step: String::new(), record: String::new(), at: 0 }
    }
}

const PG_UPDATE: &str = "UPDATE operations SET version = version + 1, commits = $2, data = $3, updated_at = $4
    WHERE id = $1 AND commits = $2 - 1 AND fence = 0";
const PG_LEDGER: &str =
    "INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, last_run_at)
    VALUES ($1, 1, 'bench', $2, 'done', 1, $3, $3)
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, last_run_at = excluded.last_run_at";
const PG_RECORD: &str = "INSERT INTO records (operation_id, at, kind) VALUES ($1, $2, $3)";

const PG_GROUP: &str = "
WITH written AS (
    UPDATE operations o SET version = o.version + 1, commits = c.number, data = c.data, updated_at = c.at
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[]) AS c (id, number, data, at)
    WHERE o.id = c.id AND o.commits = c.number - 1 AND o.fence = 0
    RETURNING o.id
), ledger AS (
    INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, last_run_at)
    SELECT l.id, 1, 'bench', l.step, 'done', 1, l.at, l.at
    FROM unnest($1::uuid[], $5::text[], $4::bigint[]) AS l (id, step, at)
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, last_run_at = excluded.last_run_at
), recorder AS (
    INSERT INTO records (operation_id, at, kind)
    SELECT r.id, r.at, r.kind FROM unnest($1::uuid[], $4::bigint[], $6::text[]) AS r (id, at, kind)
)
SELECT count(*) FROM written";

const LITE_UPDATE: &str = "UPDATE operations SET version = version + 1, commits = ?2, data = ?3, updated_at = ?4
    WHERE id = ?1 AND commits = ?2 - 1 AND fence = 0";
const LITE_LEDGER: &str =
    "INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, last_run_at)
    VALUES (?1, 1, 'bench', ?2, 'done', 1, ?3, ?3)
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, last_run_at = excluded.last_run_at";
const LITE_RECORD: &str = "INSERT INTO records (operation_id, at, kind) VALUES (?1, ?2, ?3)";

/// A database without store.
#[derive(Clone)]
pub enum Bare {
    /// A PostgreSQL server.
    Postgres(PgPool),
    /// An SQLite file with one writing connection.
    Sqlite(SqlitePool),
}

impl Bare {
    /// Connects to a server that has our schema; the same number of connections as a store.
    pub async fn postgres(url: &str) -> Result<Self, sqlx::Error> {
        let options = sqlx::postgres::PgPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(60));
        Ok(Self::Postgres(options.test_before_acquire(false).connect(url).await?))
    }

    /// Opens a file that has our schema, with the settings of the store.
    pub async fn sqlite(path: &std::path::Path) -> Result<Self, sqlx::Error> {
        let options = sqlx::sqlite::SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
            .synchronous(sqlx::sqlite::SqliteSynchronous::Full)
            .pragma("cache_size", "-65536");
        let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(60));
        Ok(Self::Sqlite(pool.test_before_acquire(false).connect_with(options).await?))
    }

    /// Frees the rows from any lease, so that bare loops may write them.
    pub async fn take(&self) -> Result<Vec<Uuid>, sqlx::Error> {
        const FREE: &str = "UPDATE operations SET owner = NULL, fence = 0, commits = 0, due_at = NULL";
        const IDS: &str = "SELECT id FROM operations ORDER BY id";
        match self {
            Self::Postgres(pool) => {
                sqlx::query(FREE).execute(pool).await?;
                sqlx::query_scalar(IDS).fetch_all(pool).await
            }
            Self::Sqlite(pool) => {
                sqlx::query(FREE).execute(pool).await?;
                sqlx::query_scalar(IDS).fetch_all(pool).await
            }
        }
    }

    /// One transaction for one step.
    pub async fn write_one(&self, step: &BareStep) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(pool) => {
                let mut tx = pool.begin().await?;
                let update = sqlx::query(PG_UPDATE).bind(step.operation).bind(step.number);
                update.bind(&step.data).bind(step.at).execute(&mut *tx).await?;
                sqlx::query(PG_LEDGER).bind(step.operation).bind(&step.step).bind(step.at).execute(&mut *tx).await?;
                sqlx::query(PG_RECORD).bind(step.operation).bind(step.at).bind(&step.record).execute(&mut *tx).await?;
                tx.commit().await
            }
            Self::Sqlite(_) => self.write_group(std::slice::from_ref(step)).await,
        }
    }

    /// One transaction for a group of steps: on PostgreSQL one statement.
    pub async fn write_group(&self, steps: &[BareStep]) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(pool) => {
                let column = |get: fn(&BareStep) -> i64| steps.iter().map(get).collect::<Vec<_>>();
                let texts = |get: fn(&BareStep) -> &str| steps.iter().map(get).collect::<Vec<_>>();
                let ids: Vec<Uuid> = steps.iter().map(|step| step.operation).collect();
                sqlx::query(PG_GROUP)
                    .bind(ids)
                    .bind(column(|step| step.number))
                    .bind(texts(|step| &step.data))
                    .bind(column(|step| step.at))
                    .bind(texts(|step| &step.step))
                    .bind(texts(|step| &step.record))
                    .execute(pool)
                    .await?;
                Ok(())
            }
            Self::Sqlite(pool) => {
                let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
                for step in steps {
                    let update = sqlx::query(LITE_UPDATE).bind(step.operation).bind(step.number);
                    update.bind(&step.data).bind(step.at).execute(&mut *tx).await?;
                    let ledger = sqlx::query(LITE_LEDGER).bind(step.operation).bind(&step.step);
                    ledger.bind(step.at).execute(&mut *tx).await?;
                    let record = sqlx::query(LITE_RECORD).bind(step.operation).bind(step.at);
                    record.bind(&step.record).execute(&mut *tx).await?;
                }
                tx.commit().await
            }
        }
    }

    /// Closes the connections.
    pub async fn close(&self) {
        match self {
            Self::Postgres(pool) => pool.close().await,
            Self::Sqlite(pool) => pool.close().await,
        }
    }
}
