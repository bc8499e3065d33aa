//! Opening: refuse what cannot be right, then bring the schema up to date.

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    sync::Arc,
};

use slipway_model::{ports::Clock, time::secs};
use sqlx::{
    Connection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{BEGIN, Sqlite, SqliteStore};
use crate::{
    error::{Fault, OpenError},
    hints::Hints,
    schema::SQLITE,
    secrets::Keyring,
    sql::{Needs, prepare},
};

/// Enough for the pages of a dashboard; a laptop has no more.
const READERS: u32 = 4;

const NEEDS: Needs = Needs {
    migrations: SQLITE,
    has_schema: "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
    foreign_key_id: "
        SELECT secrets_key AS id FROM operations
        WHERE secrets_key IS NOT NULL AND secrets_key NOT IN (SELECT value FROM json_each($1))
        UNION ALL
        SELECT data_key_id FROM runtimes
        WHERE data_key_id IS NOT NULL AND data_key_id NOT IN (SELECT value FROM json_each($1)) LIMIT 1",
};

pub(super) async fn open(path: &Path, keyring: Keyring, clock: Arc<dyn Clock>) -> Result<SqliteStore, OpenError> {
    let place = path.display().to_string();
    let explain = |fault: Fault| OpenError::sqlite(fault, &place);
    take_from_others(path)?;
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
    let writer = pool(1).connect_with(options.clone()).await.map_err(|error| explain(error.into()))?;
    if let Err(error) = bring_up_to_date(&writer, &keyring, clock.as_ref(), &explain).await {
        writer.close().await;
        return Err(error);
    }
    let readers = pool(READERS).connect_lazy_with(options.read_only(true).create_if_missing(false));
    Ok(SqliteStore { database: Sqlite { writer, readers }, keyring, clock, hints: Hints::new() })
}

/// Makes the file for its owner alone, and refuses one that others can read. SQLite gives its logs the rights of the file.
fn take_from_others(path: &Path) -> Result<(), OpenError> {
    let place = || path.display().to_string();
    let refuse = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull => OpenError::DiskFull(place()),
        _ => OpenError::NotWritable { path: place(), problem: error.to_string() },
    };
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(refuse(error)),
        Ok(_) | Err(_) => {}
    }
    let mode = path.metadata().map_err(refuse)?.permissions().mode();
    if mode & 0o077 == 0 { Ok(()) } else { Err(OpenError::TooOpen(place())) }
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

async fn bring_up_to_date(
    writer: &SqlitePool,
    keyring: &Keyring,
    clock: &dyn Clock,
    explain: &(impl Fn(Fault) -> OpenError + Sync),
) -> Result<(), OpenError> {
    let mut tx = writer.begin_with(BEGIN).await.map_err(|error| explain(error.into()))?;
    prepare(&mut *tx, &NEEDS, keyring, clock, explain).await?;
    tx.commit().await.map_err(|error| explain(error.into()))
}
