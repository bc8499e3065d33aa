//! Changes from outside a process: actions, updates, wake-ups, and keys.

use slipway_model::{
    Action, Operation, OperationId, StepRecord, Timestamp, WaitKey, operation::Fields, state::OperationState,
};
use sqlx::{Connection, PgConnection, types::Uuid};

use super::{enqueue::record, read};
use crate::{
    error::Tried,
    rows::{
        self, Cells, counted, has_ended, json, maybe_json, micros, no_operation, open_secret, operation_columns,
        seal_secret, signed, unreadable,
    },
    secrets::Keyring,
};

const LOCK_ONE: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = $1 FOR UPDATE");
const WRITE_CONTROL: &str = "
    UPDATE operations SET control_seq = $2, cancel_request = $3, pause_request = $4, skip_request = $5,
        budget_from = $6, due_at = $7, woken_by = coalesce($8, woken_by)
    WHERE id = $1";
const SHIFT_STEP: &str = "
    UPDATE operation_steps SET first_run_at = $4, first_failure_at = $5
    WHERE operation_id = $1 AND stage = $2 AND step = $3";

const UPDATE: &str = "
    UPDATE operations SET version = version + 1, updated_at = $3, description = $4, finished_stages = $5,
        skipped_steps = $6, last_error = $7, ending = $8, data = $9
    WHERE id = $1 AND version = $2 AND state NOT IN ('succeeded', 'failed', 'canceled') RETURNING version";
const STATE: &str = "SELECT state FROM operations WHERE id = $1";

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

const OLD_SECRETS: &str = "
    SELECT id, secrets, secrets_key FROM operations WHERE secrets_key IS NOT NULL AND secrets_key <> $1
    ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED";
const WRITE_SECRET: &str = "UPDATE operations SET secrets = $2, secrets_key = $3 WHERE id = $1";

/// An action with who, why and when.
pub(super) struct Wish<'a> {
    pub(super) action: &'a Action,
    pub(super) by: &'a str,
    pub(super) why: &'a str,
    pub(super) now: Timestamp,
}

/// The row is locked while the model's rule is applied. A park that comes first is seen here and
/// made due; one that comes second waits for the row and finds the higher control number.
pub(super) async fn act(
    conn: &mut PgConnection,
    keyring: &Keyring,
    id: OperationId,
    wish: &Wish<'_>,
) -> Tried<Operation> {
    let mut tx = conn.begin().await?;
    let row = sqlx::query(LOCK_ONE).bind(id.as_uuid()).fetch_optional(&mut *tx).await?;
    let mut op = rows::operation(&row.ok_or_else(|| no_operation(id))?, keyring)?;
    let mut steps = read::steps(&mut tx, id).await?;
    let before = steps.clone();
    let entry = wish
        .action
        .apply(&mut op, &mut steps, wish.by, wish.why, wish.now)
        .map_err(slipway_model::ports::StoreError::Refused)?;
    write_control(&mut tx, &op, Some(format!("{} by {}", wish.action.name(), wish.by))).await?;
    for (step, _) in steps.iter().zip(&before).filter(|(step, old)| step != old) {
        shift_step(&mut tx, id, step).await?;
    }
    record(&mut tx, id, wish.now, &entry).await?;
    tx.commit().await?;
    Ok(op)
}

/// Writes what an action or a preemption changes of an operation whose row is locked.
pub(super) async fn write_control(conn: &mut PgConnection, op: &Operation, woken_by: Option<String>) -> Tried<()> {
    sqlx::query(WRITE_CONTROL)
        .bind(op.id.as_uuid())
        .bind(signed(op.control.seq))
        .bind(maybe_json(op.control.cancel.as_ref()))
        .bind(maybe_json(op.control.pause.as_ref()))
        .bind(maybe_json(op.control.skip.as_ref()))
        .bind(micros(op.budget_from))
        .bind(micros(op.schedule.due_at))
        .bind(woken_by)
        .execute(conn)
        .await?;
    Ok(())
}

async fn shift_step(conn: &mut PgConnection, id: OperationId, step: &StepRecord) -> Tried<()> {
    let query = sqlx::query(SHIFT_STEP).bind(id.as_uuid()).bind(&step.stage).bind(&step.step);
    query.bind(micros(step.first_run_at)).bind(micros(step.first_failure_at)).execute(conn).await?;
    Ok(())
}

pub(super) async fn update(
    conn: &mut PgConnection,
    id: OperationId,
    expected_version: u64,
    fields: &Fields,
    now: Timestamp,
) -> Tried<Option<u64>> {
    let written: Option<i64> = sqlx::query_scalar(UPDATE)
        .bind(id.as_uuid())
        .bind(signed(expected_version))
        .bind(now.as_micros())
        .bind(&fields.description)
        .bind(json(&fields.finished_stages))
        .bind(json(&fields.skipped_steps))
        .bind(maybe_json(fields.last_error.as_ref()))
        .bind(maybe_json(fields.ending.as_ref()))
        .bind(fields.data.as_str())
        .fetch_optional(&mut *conn)
        .await?;
    if let Some(version) = written {
        return Ok(Some(counted(version)?));
    }
    let state: Option<String> = sqlx::query_scalar(STATE).bind(id.as_uuid()).fetch_optional(conn).await?;
    let state: OperationState = state.ok_or_else(|| no_operation(id))?.parse().map_err(unreadable)?;
    if state.is_finished() { Err(has_ended(id, state).into()) } else { Ok(None) }
}

/// The exclusive lock of a key is held from before the signal is written until it is durable; why
/// that loses no wake-up is told at `commit`.
pub(super) async fn wake(conn: &mut PgConnection, keys: &[WaitKey], cause: &str, now: Timestamp) -> Tried<usize> {
    let mut keys: Vec<&str> = keys.iter().map(WaitKey::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut tx = conn.begin().await?;
    sqlx::query(LOCK_KEYS).bind(&keys).execute(&mut *tx).await?;
    let woken = wake_locked(&mut tx, &keys, &vec![cause; keys.len()], now).await?;
    tx.commit().await?;
    Ok(woken)
}

/// The same inside a transaction that holds the locks of the keys; each key has its cause.
pub(super) async fn wake_locked<T: AsRef<str>>(
    conn: &mut PgConnection,
    keys: &[T],
    causes: &[T],
    now: Timestamp,
) -> Tried<usize> {
    let texts = |texts: &[T]| texts.iter().map(|text| text.as_ref().to_owned()).collect::<Vec<_>>();
    let woken = sqlx::query(WAKE).bind(texts(keys)).bind(texts(causes)).bind(now.as_micros()).execute(conn).await?;
    Ok(usize::try_from(woken.rows_affected()).unwrap_or(usize::MAX))
}

/// Row locks keep a concurrent writer out; rows that are locked are left for the next call. One
/// that cannot be opened is reported only when nothing else is left to do, so that it holds up nobody.
pub(super) async fn reencrypt(conn: &mut PgConnection, keyring: &Keyring, limit: usize) -> Tried<usize> {
    let mut tx = conn.begin().await?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let old = sqlx::query(OLD_SECRETS).bind(keyring.active()).bind(limit).fetch_all(&mut *tx).await?;
    let (mut done, mut failure) = (0, None);
    for row in &old {
        let id: Uuid = row.uuid("id")?;
        let (sealed, key) = (row.maybe_bytes("secrets")?.unwrap_or_default(), row.text("secrets_key")?);
        match open_secret(keyring, id.into(), &key, &sealed) {
            Ok(secret) => {
                let anew = seal_secret(keyring, id.into(), &secret);
                sqlx::query(WRITE_SECRET).bind(id).bind(anew).bind(keyring.active()).execute(&mut *tx).await?;
                done += 1;
            }
            Err(error) => failure = Some(unreadable(format!("operation {id}: {error}"))),
        }
    }
    tx.commit().await?;
    match failure {
        Some(error) if done == 0 => Err(error.into()),
        _ => Ok(done),
    }
}
