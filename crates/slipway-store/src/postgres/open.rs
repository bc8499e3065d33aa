//! Opening: connect, refuse what cannot be right, then bring the schema up to date.

use std::{str::FromStr, sync::Arc};

use slipway_model::{ports::Clock, time::secs};
use sqlx::{
    Connection, PgConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{PgOptions, PgStore, Postgres, listen::Channel};
use crate::{
    error::{Fault, OpenError},
    hints::Hints,
    schema::POSTGRES,
    secrets::Keyring,
    sql::{Conn, Needs, args, prepare},
};

/// "slipway" in ASCII: the lock under which the schema is looked at and changed.
const SCHEMA_LOCK: &str = "SELECT pg_advisory_xact_lock(32493305337766265)";
const NEEDS: Needs = Needs {
    migrations: POSTGRES,
    has_schema: "SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL",
    foreign_key_id: "
        (SELECT secrets_key AS id FROM operations WHERE secrets_key IS NOT NULL AND secrets_key <> ALL($1) LIMIT 1)
        UNION ALL
        (SELECT data_key_id FROM runtimes WHERE data_key_id IS NOT NULL AND data_key_id <> ALL($1) LIMIT 1) LIMIT 1",
};

pub(super) async fn open(
    url: &str,
    keyring: Keyring,
    options: PgOptions,
    clock: Arc<dyn Clock>,
) -> Result<PgStore, OpenError> {
    let connect = connect_options(url, &options)?;
    let place = place(&connect);
    let explain = |fault: Fault| OpenError::postgres(fault, &place, connect.get_username());

    // By hand, because a pool hides what its connections met.
    let connecting = async {
        let mut conn = PgConnection::connect_with(&connect).await.map_err(|error| explain(error.into()))?;
        let mut tx = conn.begin().await.map_err(|error| explain(error.into()))?;
        tx.run(SCHEMA_LOCK, args![]).await.map_err(explain)?;
        prepare(&mut *tx, &NEEDS, &keyring, clock.as_ref(), &explain).await?;
        tx.commit().await.map_err(|error| explain(error.into()))?;
        conn.close().await.map_err(|error| explain(error.into()))
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
    Ok(PgStore { database: Postgres { pool, channel, patience }, keyring, clock, hints })
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
