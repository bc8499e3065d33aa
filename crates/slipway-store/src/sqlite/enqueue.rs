//! Inserting an operation, by the rules of [`slipway_model::preemption`].

use slipway_model::{
    Operation, OperationId, RecordKind, Timestamp,
    operation::NewOperation,
    ports::{Enqueued, StoreResult},
    preemption,
};
use sqlx::SqliteConnection;

use super::actions::write_control;
use crate::{
    error::Tried,
    rows::{self, json, micros, operation_columns, seal_secret, signed},
    secrets::Keyring,
};

const BY_ID: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = ?1");
const UNFINISHED: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations INDEXED BY operations_instance
      WHERE instance_id = ?1 AND state IN ('pending', 'in progress', 'canceling', 'retrying') ORDER BY id"
);
const INSERT: &str = "
    INSERT INTO operations (id, instance_id, kind, class, temporary, plan, process, state, description,
        finished_stages, skipped_steps, data, secrets, secrets_key, version, budget, budget_from, created_at,
        updated_at, due_at, turn)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18, ?19, ?20)";
const RECORD: &str = "INSERT INTO records (operation_id, at, kind) VALUES (?1, ?2, ?3)";

pub(super) async fn enqueue(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    new: NewOperation,
    now: Timestamp,
) -> Tried<Enqueued> {
    if let Some(row) = sqlx::query(BY_ID).bind(new.id.as_uuid()).fetch_optional(&mut *conn).await? {
        return Ok(Enqueued::Existing(rows::operation(&row, keyring)?));
    }
    let found = sqlx::query(UNFINISHED).bind(new.instance_id.as_str()).fetch_all(&mut *conn).await?;
    let unfinished: Vec<Operation> =
        found.iter().map(|row| rows::operation(row, keyring)).collect::<StoreResult<_>>()?;
    let (kind, temporary, by) = (new.kind, new.temporary, new.by.clone());
    if let Some(existing) = unfinished.iter().find(|op| preemption::joins(kind, temporary, op)) {
        return Ok(Enqueued::Existing(existing.clone()));
    }
    for mut victim in unfinished.into_iter().filter(|op| preemption::cancels(kind, temporary, op)) {
        let entry = preemption::cancel(&mut victim, new.id, now);
        write_control(conn, &victim, None).await?;
        record(conn, victim.id, now, &entry).await?;
    }
    let operation = new.accepted(now);
    insert(conn, keyring, &operation, None).await?;
    record(conn, operation.id, now, &RecordKind::Accepted { by }).await?;
    Ok(Enqueued::New(operation))
}

/// Writes a new operation. `turn` is its number among those of a runtime; see the module `runtimes`.
pub(super) async fn insert(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    op: &Operation,
    turn: Option<i64>,
) -> Tried<()> {
    let sealed = op.secrets.as_ref().map(|secret| seal_secret(keyring, op.id, secret));
    let key = sealed.is_some().then(|| keyring.active());
    let fields = &op.fields;
    sqlx::query(INSERT)
        .bind(op.id.as_uuid())
        .bind(op.instance_id.as_str())
        .bind(op.kind.as_str())
        .bind(op.kind.class().as_str())
        .bind(op.temporary)
        .bind(&op.plan)
        .bind(op.process.to_string())
        .bind(op.state.as_str())
        .bind(&fields.description)
        .bind(json(&fields.finished_stages))
        .bind(json(&fields.skipped_steps))
        .bind(fields.data.as_str())
        .bind(sealed)
        .bind(key)
        .bind(signed(op.version))
        .bind(i64::try_from(op.budget.as_micros()).unwrap_or(i64::MAX))
        .bind(micros(op.budget_from))
        .bind(op.created_at.as_micros())
        .bind(micros(op.schedule.due_at))
        .bind(turn)
        .execute(conn)
        .await?;
    Ok(())
}

/// Adds one entry to the flight recorder.
pub(super) async fn record(
    conn: &mut SqliteConnection,
    id: OperationId,
    at: Timestamp,
    kind: &RecordKind,
) -> Tried<()> {
    sqlx::query(RECORD).bind(id.as_uuid()).bind(at.as_micros()).bind(json(kind)).execute(conn).await?;
    Ok(())
}
