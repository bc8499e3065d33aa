//! Opening: connect, refuse what cannot be right, then bring the schema up to date.

use std::{str::FromStr, sync::Arc};

use slipway_model::{ports::Clock, time::secs};
use sqlx::{
    Connection, Executor, PgConnection, Row,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{PgOptions, PgStore, listen::Channel};
use crate::{
    error::OpenError,
    hints::Hints,
    schema::{self, POSTGRES},
    secrets::Keyring,
};

/// "slipway" in ASCII: the lock under which the schema is looked at and changed.
const SCHEMA_LOCK: &str = "SELECT pg_advisory_xact_lock(32493305337766265)";
const HAS_SCHEMA: &str = "SELECT to_regclass('schema_migrations') IS NOT NULL";
const VERSION: &str = "SELECT coalesce(max(version), 0) FROM schema_migrations";
const MIGRATED: &str = "INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)";
const FOREIGN_KEY_ID: &str = "
    (SELECT secrets_key FROM operations WHERE secrets_key IS NOT NULL AND secrets_key <> ALL($1) LIMIT 1)
    UNION ALL
    (SELECT data_key_id FROM runtimes WHERE data_key_id IS NOT NULL AND data_key_id <> ALL($1) LIMIT 1) LIMIT 1";
const KEY_CHECKS: &str = "SELECT key_id, sealed FROM key_checks ORDER BY key_id";
const ADD_KEY_CHECK: &str = "INSERT INTO key_checks (key_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING";

pub(super) async fn open(
    url: &str,
    keyring: Keyring,
    options: PgOptions,
    clock: Arc<dyn Clock>,
) -> Result<PgStore, OpenError> {
    let connect = connect_options(url, &options)?;
    let place = place(&connect);
    let explain = |error: &sqlx::Error| OpenError::postgres(error, &place, connect.get_username());

    // By hand, because a pool hides what its connections met.
    let connecting = async {
        let mut conn = PgConnection::connect_with(&connect).await.map_err(|error| explain(&error))?;
        prepare(&mut conn, &keyring, clock.as_ref(), &explain).await?;
        conn.close().await.map_err(|error| explain(&error))
    };
    tokio::select! {
        done = connecting => done?,
        () = clock.sleep(options.acquire_timeout + options.statement_timeout) => {
            return Err(OpenError::Unreachable { place, problem: "it does not answer".to_owned() });
        }
    }

    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        // Asking before every use costs a round trip. One that has rested may have been cut off.
        .test_before_acquire(false)
        .before_acquire(|conn, meta| {
            Box::pin(async move {
                if meta.idle_for >= secs(2) {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(connect.clone());
    let hints = Hints::new();
    let channel = Channel::open(&pool, connect, hints.clone(), Arc::clone(&clock), keyring.draw());
    let patience = options.statement_timeout + secs(10);
    Ok(PgStore { pool, keyring, clock, hints, channel, patience })
}

fn connect_options(url: &str, options: &PgOptions) -> Result<PgConnectOptions, OpenError> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(OpenError::BadUrl("it begins otherwise".to_owned()));
    }
    let connect = PgConnectOptions::from_str(url).map_err(|error| match error {
        // The parser's own words are short ("invalid port number") and do not repeat the address.
        sqlx::Error::Configuration(problem) => OpenError::BadUrl(problem.to_string()),
        _ => OpenError::BadUrl("it cannot be parsed".to_owned()),
    })?;
    let millis = |duration: std::time::Duration| duration.as_millis().to_string();
    Ok(connect.application_name("slipway").options([
        ("statement_timeout", millis(options.statement_timeout)),
        ("lock_timeout", millis(options.statement_timeout / 2)),
        ("idle_in_transaction_session_timeout", millis(options.statement_timeout * 2)),
        // What the proofs in this folder stand on, whatever the server's default is.
        ("default_transaction_isolation", "read committed".to_owned()),
        // Every statement is written for an index. The planner's figures of a queue are always
        // out of date, and one sequential scan of a grown table would cost more than all of them.
        ("plan_cache_mode", "force_generic_plan".to_owned()),
        ("enable_seqscan", "off".to_owned()),
        ("enable_hashjoin", "off".to_owned()),
        ("enable_mergejoin", "off".to_owned()),
        // Due operations come in order from their index; by a bitmap, a claim would have to sort all
        // of them for a few.
        ("enable_bitmapscan", "off".to_owned()),
        ("jit", "off".to_owned()),
    ]))
}

fn place(options: &PgConnectOptions) -> String {
    let name = options.get_database().unwrap_or_else(|| options.get_username());
    format!("{}:{}/{name}", options.get_host(), options.get_port())
}

/// One transaction: whatever is refused leaves the database as it was.
async fn prepare(
    conn: &mut PgConnection,
    keyring: &Keyring,
    clock: &dyn Clock,
    explain: &(impl Fn(&sqlx::Error) -> OpenError + Sync),
) -> Result<(), OpenError> {
    let explain = |error: sqlx::Error| explain(&error);
    let mut tx = conn.begin().await.map_err(explain)?;
    sqlx::query(SCHEMA_LOCK).execute(&mut *tx).await.map_err(explain)?;
    let found: i64 = if sqlx::query_scalar(HAS_SCHEMA).fetch_one(&mut *tx).await.map_err(explain)? {
        sqlx::query_scalar(VERSION).fetch_one(&mut *tx).await.map_err(explain)?
    } else {
        tx.execute(schema::CREATE_TABLE).await.map_err(explain)?;
        0
    };
    for migration in schema::missing(POSTGRES, found)? {
        sqlx::raw_sql(migration.sql).execute(&mut *tx).await.map_err(explain)?;
        let done = sqlx::query(MIGRATED).bind(migration.version).bind(migration.name);
        done.bind(clock.wall().as_micros()).execute(&mut *tx).await.map_err(explain)?;
    }

    let foreign: Option<String> =
        sqlx::query_scalar(FOREIGN_KEY_ID).bind(keyring.ids()).fetch_optional(&mut *tx).await.map_err(explain)?;
    if let Some(id) = foreign {
        return Err(OpenError::UnknownKey(id));
    }
    let checks = sqlx::query(KEY_CHECKS).fetch_all(&mut *tx).await.map_err(explain)?;
    for check in &checks {
        let id: String = check.try_get(0).map_err(explain)?;
        let sealed: Vec<u8> = check.try_get(1).map_err(explain)?;
        if keyring.knows(&id) && !keyring.passes(&id, &sealed) {
            return Err(OpenError::WrongKey(id));
        }
    }
    let add = sqlx::query(ADD_KEY_CHECK).bind(keyring.active()).bind(keyring.check_text());
    add.execute(&mut *tx).await.map_err(explain)?;
    tx.commit().await.map_err(explain)
}
