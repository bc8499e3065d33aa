//! The rows of a step written without engine and store: what the benchmark compares them with.
//!
//! A step writes three rows: its operation is updated under a check of version and lease, its
//! ledger row is replaced, and the flight recorder gets an entry. Before its first step an operation
//! is taken, which updates its row; with its last step the row is updated once more and the news of
//! its end is written; the flight recorder gets two more entries of each. Here these rows are written
//! by the driver alone, with hand-written statements, in the two ways one would think of first.

use std::time::Duration;

use sqlx::{PgConnection, PgPool, SqlitePool, types::Uuid};

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
    /// The entries of the flight recorder: the step's, and those of the operation's beginning or end.
    pub records: Vec<String>,
    /// Time of the write.
    pub at: i64,
    /// With this step the operation ends.
    pub is_last: bool,
}

impl BareStep {
    /// The steps of this operation, before the first.
    pub fn of(operation: Uuid) -> Self {
        Self {
            operation,
            number: 0,
            data: String::new(),
            step: String::new(),
            records: Vec::new(),
            at: 0,
            is_last: false,
        }
    }
}

const PG_UPDATE: &str = "UPDATE operations SET version = version + 1, commits = $2, data = $3, updated_at = $4
    WHERE id = $1 AND commits = $2 - 1 AND fence = 0";
const PG_LEDGER: &str =
    "INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, last_run_at)
    VALUES ($1, 1, 'bench', $2, 'done', 1, $3, $3)
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, last_run_at = excluded.last_run_at";
const PG_RECORD: &str = "INSERT INTO records (operation_id, at, kind) SELECT $1, $2, unnest($3::text[])";

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
    SELECT r.id, r.at, r.kind FROM unnest($6::uuid[], $7::bigint[], $8::text[]) AS r (id, at, kind)
)
SELECT count(*) FROM written";

const PG_TAKE: &str = "
    UPDATE operations SET due_at = NULL, owner = 'bare', state = 'in progress', started_at = $2, budget_from = $2,
        updated_at = $2 WHERE id = ANY($1) AND due_at <= $2 AND owner IS NULL";
const PG_END: &str = "
    UPDATE operations SET owner = NULL, state = 'succeeded', finished_at = $2, updated_at = $2
    WHERE id = ANY($1) AND owner = 'bare'";
const PG_NEWS: &str =
    "INSERT INTO signals (key, at) SELECT 'operation/' || id, $2 FROM unnest($1::uuid[]) AS ended (id)";

const LITE_TAKE: &str = "
    UPDATE operations SET due_at = NULL, owner = 'bare', state = 'in progress', started_at = ?2, budget_from = ?2,
        updated_at = ?2 WHERE id = ?1 AND due_at <= ?2 AND owner IS NULL";
const LITE_END: &str = "
    UPDATE operations SET owner = NULL, state = 'succeeded', finished_at = ?2, updated_at = ?2
    WHERE id = ?1 AND owner = 'bare'";
const LITE_NEWS: &str = "INSERT INTO signals (key, at) VALUES ('operation/' || lower(hex(?1)), ?2)";

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

    /// All operations.
    pub async fn operations(&self) -> Result<Vec<Uuid>, sqlx::Error> {
        const IDS: &str = "SELECT id FROM operations ORDER BY id";
        match self {
            Self::Postgres(pool) => sqlx::query_scalar(IDS).fetch_all(pool).await,
            Self::Sqlite(pool) => sqlx::query_scalar(IDS).fetch_all(pool).await,
        }
    }

    /// Takes operations that wait for their first step, in one transaction.
    pub async fn take(&self, operations: &[Uuid], at: i64) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(pool) => sqlx::query(PG_TAKE).bind(operations).bind(at).execute(pool).await.map(|_| ()),
            Self::Sqlite(pool) => {
                let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
                for operation in operations {
                    sqlx::query(LITE_TAKE).bind(operation).bind(at).execute(&mut *tx).await?;
                }
                tx.commit().await
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
                sqlx::query(PG_RECORD).bind(step.operation).bind(step.at).bind(&step.records).execute(&mut *tx).await?;
                if step.is_last {
                    end_on_postgres(&mut tx, &[step.operation], step.at).await?;
                }
                tx.commit().await
            }
            Self::Sqlite(_) => self.write_group(std::slice::from_ref(step)).await,
        }
    }

    /// One transaction for a group of steps: on PostgreSQL one statement, and two more if some end.
    pub async fn write_group(&self, steps: &[BareStep]) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(pool) => {
                let ended: Vec<Uuid> = steps.iter().filter(|step| step.is_last).map(|step| step.operation).collect();
                let at = steps.iter().map(|step| step.at).max().unwrap_or(0);
                if ended.is_empty() {
                    return group_on_postgres(&mut *pool.acquire().await?, steps).await;
                }
                let mut tx = pool.begin().await?;
                group_on_postgres(&mut tx, steps).await?;
                end_on_postgres(&mut tx, &ended, at).await?;
                tx.commit().await
            }
            Self::Sqlite(pool) => {
                let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
                for step in steps {
                    let update = sqlx::query(LITE_UPDATE).bind(step.operation).bind(step.number);
                    update.bind(&step.data).bind(step.at).execute(&mut *tx).await?;
                    let ledger = sqlx::query(LITE_LEDGER).bind(step.operation).bind(&step.step);
                    ledger.bind(step.at).execute(&mut *tx).await?;
                    for record in &step.records {
                        let insert = sqlx::query(LITE_RECORD).bind(step.operation).bind(step.at);
                        insert.bind(record).execute(&mut *tx).await?;
                    }
                    if step.is_last {
                        sqlx::query(LITE_END).bind(step.operation).bind(step.at).execute(&mut *tx).await?;
                        sqlx::query(LITE_NEWS).bind(step.operation).bind(step.at).execute(&mut *tx).await?;
                    }
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

async fn group_on_postgres(conn: &mut PgConnection, steps: &[BareStep]) -> Result<(), sqlx::Error> {
    let column = |get: fn(&BareStep) -> i64| steps.iter().map(get).collect::<Vec<_>>();
    let texts = |get: fn(&BareStep) -> &str| steps.iter().map(get).collect::<Vec<_>>();
    let ids: Vec<Uuid> = steps.iter().map(|step| step.operation).collect();
    let records = || steps.iter().flat_map(|step| step.records.iter().map(move |record| (step, record)));
    let query = sqlx::query(PG_GROUP)
        .bind(ids)
        .bind(column(|step| step.number))
        .bind(texts(|step| &step.data))
        .bind(column(|step| step.at))
        .bind(texts(|step| &step.step))
        .bind(records().map(|(step, _)| step.operation).collect::<Vec<_>>())
        .bind(records().map(|(step, _)| step.at).collect::<Vec<_>>())
        .bind(records().map(|(_, record)| record.as_str()).collect::<Vec<_>>());
    query.execute(conn).await.map(|_| ())
}

async fn end_on_postgres(conn: &mut PgConnection, ended: &[Uuid], at: i64) -> Result<(), sqlx::Error> {
    sqlx::query(PG_END).bind(ended).bind(at).execute(&mut *conn).await?;
    sqlx::query(PG_NEWS).bind(ended).bind(at).execute(conn).await.map(|_| ())
}
