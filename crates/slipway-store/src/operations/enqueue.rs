//! Inserting an operation, by the rules of [`slipway_model::preemption`].
//!
//! The lock of the instance makes "what is unfinished?" and the insert one act: two requests for
//! the same instance come one after the other. The rows of the unfinished ones are locked too, so
//! that a cancel meets the newest version of its victim.

use slipway_model::{
    Operation, OperationId, RecordKind, Timestamp,
    operation::NewOperation,
    ports::{Enqueued, StoreResult},
    preemption,
};

use super::{Queue, actions::write_control};
use crate::{
    error::Tried,
    rows::{self, json, operation_columns, seal_secret},
    secrets::Keyring,
    sql::{Conn, args},
};

pub(crate) const BY_ID: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = $1");
const INSERT: &str = "
    INSERT INTO operations (id, instance_id, kind, class, temporary, plan, process, state, description,
        finished_stages, skipped_steps, data, secrets, secrets_key, version, budget, budget_from, created_at,
        updated_at, due_at, turn)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $19, $20)";
const RECORD: &str = "INSERT INTO records (operation_id, at, kind) VALUES ($1, $2, $3)";

pub(super) async fn enqueue<C: Queue>(
    conn: &mut C,
    keyring: &Keyring,
    new: &NewOperation,
    now: Timestamp,
) -> Tried<Enqueued> {
    conn.lock_instance(&new.instance_id).await?;
    if let Some(row) = conn.row(BY_ID, args![new.id]).await? {
        return Ok(Enqueued::Existing(rows::operation(&row, keyring)?));
    }
    let found = conn.rows(C::UNFINISHED, args![new.instance_id.as_str()]).await?;
    let unfinished: Vec<Operation> =
        found.iter().map(|row| rows::operation(row, keyring)).collect::<StoreResult<_>>()?;
    let (kind, temporary) = (new.kind, new.temporary);
    if let Some(existing) = unfinished.iter().find(|op| preemption::joins(kind, temporary, op)) {
        return Ok(Enqueued::Existing(existing.clone()));
    }
    for mut victim in unfinished.into_iter().filter(|op| preemption::cancels(kind, temporary, op)) {
        let entry = preemption::cancel(&mut victim, new.id, now);
        write_control(conn, &victim, None).await?;
        record(conn, victim.id, now, &entry).await?;
    }
    let operation = new.clone().accepted(now);
    insert(conn, keyring, &operation, None).await?;
    record(conn, operation.id, now, &RecordKind::Accepted { by: new.by.clone() }).await?;
    Ok(Enqueued::New(operation))
}

/// Writes a new operation. `turn` is its number among those of a runtime; see the module `runtimes`.
pub(crate) async fn insert<C: Conn>(conn: &mut C, keyring: &Keyring, op: &Operation, turn: Option<i64>) -> Tried<()> {
    let sealed = op.secrets.as_ref().map(|secret| seal_secret(keyring, op.id, secret));
    let key = sealed.is_some().then(|| keyring.active());
    let fields = &op.fields;
    let args = args![
        op.id,
        op.instance_id.as_str(),
        op.kind.as_str(),
        op.kind.class().as_str(),
        op.temporary,
        &op.plan,
        op.process.to_string(),
        op.state.as_str(),
        &fields.description,
        json(&fields.finished_stages),
        json(&fields.skipped_steps),
        fields.data.as_str(),
        sealed,
        key,
        op.version,
        i64::try_from(op.budget.as_micros()).unwrap_or(i64::MAX),
        op.budget_from,
        op.created_at,
        op.schedule.due_at,
        turn,
    ];
    conn.run(INSERT, args).await?;
    Ok(())
}

/// Adds one entry to the flight recorder.
pub(crate) async fn record<C: Conn>(conn: &mut C, id: OperationId, at: Timestamp, kind: &RecordKind) -> Tried<()> {
    conn.run(RECORD, args![id, at, json(kind)]).await?;
    Ok(())
}
