//! Waking those who wait on a key.
//!
//! The exclusive lock of a key is held from before the signal is written until it is durable; why that
//! loses no wake-up is told at `commit`.

use slipway_model::Timestamp;
use sqlx::PgConnection;

use crate::error::Tried;

/// Locks wait keys, in the order of the locks' numbers.
const LOCK_KEYS: &str = "
    WITH locks AS MATERIALIZED (
        SELECT DISTINCT hashtextextended('key/' || key, 0) AS number FROM unnest($1::text[]) AS wanted (key) ORDER BY 1
    )
    SELECT pg_advisory_xact_lock(number) FROM locks";
/// A paused operation keeps still; it looks for itself when it is resumed.
const WAKE: &str = "
    WITH signal AS (
        INSERT INTO signals (number, key, at)
        SELECT nextval('signal_numbers'), key, $3 FROM unnest($1::text[]) AS w (key)
        ON CONFLICT (key) DO UPDATE SET number = excluded.number, at = excluded.at
        RETURNING key, number
    )
    UPDATE operations o SET due_at = least(o.due_at, $3), wait_seen = signal.number, woken_by = w.cause
    FROM signal JOIN unnest($1::text[], $2::text[]) AS w (key, cause) ON w.key COLLATE \"C\" = signal.key
    WHERE o.wait_on = signal.key AND o.wait_on IS NOT NULL AND o.due_at IS NOT NULL AND o.pause_request IS NULL";

pub(super) async fn wake(conn: &mut PgConnection, keys: &[&str], cause: &str, now: Timestamp) -> Tried<u64> {
    sqlx::query(LOCK_KEYS).bind(keys).execute(&mut *conn).await?;
    let causes = vec![cause.to_owned(); keys.len()];
    wake_locked(conn, keys.iter().map(|key| (*key).to_owned()).collect(), causes, now).await
}

/// The same inside a transaction that holds the locks of the keys; each key has its cause.
pub(super) async fn wake_locked(
    conn: &mut PgConnection,
    keys: Vec<String>,
    causes: Vec<String>,
    now: Timestamp,
) -> Tried<u64> {
    let woken = sqlx::query(WAKE).bind(keys).bind(causes).bind(now.as_micros()).execute(conn).await?;
    Ok(woken.rows_affected())
}
