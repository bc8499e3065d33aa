//! Changes from outside a process: actions, updates, wake-ups, and keys.

use slipway_model::{
    Action, Operation, OperationId, StepRecord, Timestamp, WaitKey, operation::Fields, ports::StoreError,
    state::OperationState,
};

use super::{Queue, count, enqueue::record, read};
use crate::{
    error::Tried,
    rows::{self, Cells, counted, has_ended, json, maybe_json, no_operation, open_secret, seal_secret, unreadable},
    secrets::Keyring,
    sql::{Conn, args},
};

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
pub(super) async fn act<C: Queue>(
    conn: &mut C,
    keyring: &Keyring,
    id: OperationId,
    wish: &Wish<'_>,
) -> Tried<Operation> {
    let row = conn.row(C::ONE_TO_CHANGE, args![id]).await?;
    let mut op = rows::operation(&row.ok_or_else(|| no_operation(id))?, keyring)?;
    let mut steps = read::steps(conn, id).await?;
    let before = steps.clone();
    let entry = wish.action.apply(&mut op, &mut steps, wish.by, wish.why, wish.now).map_err(StoreError::Refused)?;
    write_control(conn, &op, Some(format!("{} by {}", wish.action.name(), wish.by))).await?;
    for (step, _) in steps.iter().zip(&before).filter(|(step, old)| step != old) {
        shift_step(conn, id, step).await?;
    }
    record(conn, id, wish.now, &entry).await?;
    Ok(op)
}

/// Writes what an action or a preemption changes of an operation whose row is locked.
pub(super) async fn write_control<C: Conn>(conn: &mut C, op: &Operation, woken_by: Option<String>) -> Tried<()> {
    let args = args![
        op.id,
        op.control.seq,
        maybe_json(op.control.cancel.as_ref()),
        maybe_json(op.control.pause.as_ref()),
        maybe_json(op.control.skip.as_ref()),
        op.budget_from,
        op.schedule.due_at,
        woken_by,
    ];
    conn.run(WRITE_CONTROL, args).await?;
    Ok(())
}

async fn shift_step<C: Conn>(conn: &mut C, id: OperationId, step: &StepRecord) -> Tried<()> {
    conn.run(SHIFT_STEP, args![id, &step.stage, &step.step, step.first_run_at, step.first_failure_at]).await?;
    Ok(())
}

pub(super) async fn update<C: Conn>(
    conn: &mut C,
    id: OperationId,
    expected_version: u64,
    fields: &Fields,
    now: Timestamp,
) -> Tried<Option<u64>> {
    let args = args![
        id,
        expected_version,
        now,
        &fields.description,
        json(&fields.finished_stages),
        json(&fields.skipped_steps),
        maybe_json(fields.last_error.as_ref()),
        maybe_json(fields.ending.as_ref()),
        fields.data.as_str(),
    ];
    if let Some(written) = conn.row(UPDATE, args).await? {
        return Ok(Some(counted(written.int("version")?)?));
    }
    let row = conn.row(STATE, args![id]).await?.ok_or_else(|| no_operation(id))?;
    let state: OperationState = row.text("state")?.parse().map_err(unreadable)?;
    if state.is_finished() { Err(has_ended(id, state).into()) } else { Ok(None) }
}

pub(super) async fn wake<C: Queue>(conn: &mut C, keys: &[WaitKey], cause: &str, now: Timestamp) -> Tried<usize> {
    let mut keys: Vec<&str> = keys.iter().map(WaitKey::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    Ok(count(conn.wake(&keys, cause, now).await?))
}

/// One that cannot be opened is reported only when nothing else is left to do, so that it holds up
/// nobody.
pub(super) async fn reencrypt<C: Queue>(conn: &mut C, keyring: &Keyring, limit: usize) -> Tried<usize> {
    let (mut done, mut failure) = (0, None);
    for row in conn.rows(C::OLD_SECRETS, args![keyring.active(), limit]).await? {
        let id = OperationId::from(row.uuid("id")?);
        let (sealed, key) = (row.maybe_bytes("secrets")?.unwrap_or_default(), row.text("secrets_key")?);
        match open_secret(keyring, id, &key, &sealed) {
            Ok(secret) => {
                conn.run(WRITE_SECRET, args![id, seal_secret(keyring, id, &secret), keyring.active()]).await?;
                done += 1;
            }
            Err(error) => failure = Some(unreadable(format!("operation {id}: {error}"))),
        }
    }
    match failure {
        Some(error) if done == 0 => Err(error.into()),
        _ => Ok(done),
    }
}
