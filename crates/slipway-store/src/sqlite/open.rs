//! Opening: refuse what cannot be right, then bring the schema up to date.

use std::{path::Path, sync::Arc};

use slipway_model::{ports::Clock, time::secs};
use sqlx::{
    Connection, Executor, Row, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::SqliteStore;
use crate::{
    error::OpenError,
    hints::Hints,
    rows::json,
    schema::{self, SQLITE},
    secrets::Keyring,
};

/// Enough for the pages of a dashboard; a laptop has no more.
const READERS: u32 = 4;

const HAS_SCHEMA: &str = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'";
const VERSION: &str = "SELECT coalesce(max(version), 0) FROM schema_migrations";
const MIGRATED: &str = "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)";
const FOREIGN_KEY_ID: &str = "
    SELECT secrets_key FROM operations
    WHERE secrets_key IS NOT NULL AND secrets_key NOT IN (SELECT value FROM json_each(?1))
    UNION ALL
    SELECT data_key_id FROM runtimes
    WHERE data_key_id IS NOT NULL AND data_key_id NOT IN (SELECT value FROM json_each(?1)) LIMIT 1";
const KEY_CHECKS: &str = "SELECT key_id, sealed FROM key_checks ORDER BY key_id";
const ADD_KEY_CHECK: &str = "INSERT INTO key_checks (key_id, sealed) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

pub(super) async fn open(path: &Path, keyring: Keyring, clock: Arc<dyn Clock>) -> Result<SqliteStore, OpenError> {
    let place = path.display().to_string();
    let explain = |error: sqlx::Error| OpenError::sqlite(&error, &place);
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(secs(5))
        // 64 MB each; the default of 2 MB makes the writer read back what it wrote a moment ago.
        .pragma("cache_size", "-65536")
        .pragma("journal_size_limit", "67108864")
        .optimize_on_close(true, None);
    let writer = pool(1).connect_with(options.clone()).await.map_err(explain)?;
    if let Err(error) = prepare(&writer, &keyring, clock.as_ref(), &place).await {
        writer.close().await;
        return Err(error);
    }
    let readers = pool(READERS).connect_lazy_with(options.read_only(true).create_if_missing(false));
    Ok(SqliteStore { writer, readers, keyring, clock, hints: Hints::new() })
}

fn pool(connections: u32) -> SqlitePoolOptions {
    // A connection to a file does not die, so it is neither tested nor renewed.
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(secs(5))
        .test_before_acquire(false)
        // A full disk makes SQLite roll back by itself, and the library then counts a transaction
        // that is not there any more: such a connection would refuse every further one.
        .before_acquire(|conn, _| {
            Box::pin(async move {
                if conn.is_in_transaction() {
                    // Behind a rollback that may still be under way.
                    conn.ping().await?;
                }
                Ok(!conn.is_in_transaction())
            })
        })
        .idle_timeout(None)
        .max_lifetime(None)
}

/// One transaction: whatever is refused leaves the file as it was.
async fn prepare(writer: &SqlitePool, keyring: &Keyring, clock: &dyn Clock, place: &str) -> Result<(), OpenError> {
    let explain = |error: sqlx::Error| OpenError::sqlite(&error, place);
    let mut tx: Transaction<'_, Sqlite> = writer.begin_with("BEGIN IMMEDIATE").await.map_err(explain)?;
    migrate(&mut tx, clock, place).await?;
    check_keys(&mut tx, keyring, place).await?;
    tx.commit().await.map_err(explain)
}

async fn migrate(conn: &mut SqliteConnection, clock: &dyn Clock, place: &str) -> Result<(), OpenError> {
    let explain = |error: sqlx::Error| OpenError::sqlite(&error, place);
    let tables: i64 = sqlx::query_scalar(HAS_SCHEMA).fetch_one(&mut *conn).await.map_err(explain)?;
    let found: i64 = if tables > 0 {
        sqlx::query_scalar(VERSION).fetch_one(&mut *conn).await.map_err(explain)?
    } else {
        conn.execute(schema::CREATE_TABLE).await.map_err(explain)?;
        0
    };
    for migration in schema::missing(SQLITE, found)? {
        sqlx::raw_sql(migration.sql).execute(&mut *conn).await.map_err(explain)?;
        let done = sqlx::query(MIGRATED).bind(migration.version).bind(migration.name);
        done.bind(clock.wall().as_micros()).execute(&mut *conn).await.map_err(explain)?;
    }
    Ok(())
}

async fn check_keys(conn: &mut SqliteConnection, keyring: &Keyring, place: &str) -> Result<(), OpenError> {
    let explain = |error: sqlx::Error| OpenError::sqlite(&error, place);
    let ids = json(&keyring.ids());
    let foreign: Option<String> =
        sqlx::query_scalar(FOREIGN_KEY_ID).bind(ids).fetch_optional(&mut *conn).await.map_err(explain)?;
    if let Some(id) = foreign {
        return Err(OpenError::UnknownKey(id));
    }
    for check in sqlx::query(KEY_CHECKS).fetch_all(&mut *conn).await.map_err(explain)? {
        let id: String = check.try_get(0).map_err(explain)?;
        let sealed: Vec<u8> = check.try_get(1).map_err(explain)?;
        if keyring.knows(&id) && !keyring.passes(&id, &sealed) {
            return Err(OpenError::WrongKey(id));
        }
    }
    let add = sqlx::query(ADD_KEY_CHECK).bind(keyring.active()).bind(keyring.check_text());
    add.execute(conn).await.map_err(explain)?;
    Ok(())
}
