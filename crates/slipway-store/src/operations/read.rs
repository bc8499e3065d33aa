//! Reading, and forgetting what is old.

use std::cmp::Reverse;

use slipway_model::{
    Operation, OperationId, Record, StepRecord, Timestamp,
    ports::{Filter, StoreResult},
    state::Class,
};
use sqlx::types::Uuid;

use super::{BY_ID, Queue, count};
use crate::{
    error::Tried,
    rows::{self, Cells, no_operation, operation_columns, step_columns},
    secrets::Keyring,
    sql::{Conn, args},
};

const NEWEST: &str =
    concat!("SELECT ", operation_columns!(), " FROM operations WHERE id < $1 ORDER BY id DESC LIMIT $2");

const EXISTS: &str = "SELECT 1 FROM operations WHERE id = $1";
const STEPS: &str =
    concat!("SELECT ", step_columns!(), " FROM operation_steps WHERE operation_id = $1 ORDER BY seq, stage, step");
const RECORDS: &str =
    "SELECT id, operation_id, at, kind FROM records WHERE operation_id = $1 AND id > $2 ORDER BY id LIMIT $3";

/// The time is asked twice: a key that was woken meanwhile stays.
const PURGE_SIGNALS: &str = "
    DELETE FROM signals WHERE at < $1 AND key IN (SELECT key FROM signals WHERE at < $1 ORDER BY key LIMIT $2)";

const DUE: &str = "SELECT count(*) AS found FROM operations WHERE class = $1 AND due_at IS NOT NULL AND due_at <= $2";

pub(crate) async fn operation<C: Conn>(conn: &mut C, keyring: &Keyring, id: OperationId) -> Tried<Operation> {
    let row = conn.row(BY_ID, args![id]).await?;
    Ok(rows::operation(&row.ok_or_else(|| no_operation(id))?, keyring)?)
}

pub(super) async fn operations<C: Queue>(conn: &mut C, keyring: &Keyring, filter: &Filter) -> Tried<Vec<Operation>> {
    // Above every id of version 7.
    let before = filter.before.map_or(Uuid::max(), OperationId::as_uuid);
    let found = match &filter.instance {
        Some(instance) => {
            let states: Vec<&str> = filter.states.iter().map(|state| state.as_str()).collect();
            conn.rows(C::NEWEST_OF_INSTANCE, args![before, filter.limit, instance.as_str(), states]).await?
        }
        None if filter.states.is_empty() => conn.rows(NEWEST, args![before, filter.limit]).await?,
        None => {
            let mut states = filter.states.clone();
            states.sort_unstable();
            states.dedup();
            conn.newest_in_states(before, &states, filter.limit).await?
        }
    };
    let mut operations: Vec<Operation> =
        found.iter().map(|row| rows::operation(row, keyring)).collect::<StoreResult<_>>()?;
    operations.sort_by_key(|op| Reverse(op.id));
    operations.truncate(filter.limit);
    Ok(operations)
}

pub(crate) async fn steps<C: Conn>(conn: &mut C, id: OperationId) -> Tried<Vec<StepRecord>> {
    let found = conn.rows(STEPS, args![id]).await?;
    if found.is_empty() && conn.row(EXISTS, args![id]).await?.is_none() {
        return Err(no_operation(id).into());
    }
    Ok(found.iter().map(rows::step).collect::<StoreResult<_>>()?)
}

pub(super) async fn records<C: Conn>(conn: &mut C, id: OperationId, after: u64, limit: usize) -> Tried<Vec<Record>> {
    let found = conn.rows(RECORDS, args![id, after, limit]).await?;
    Ok(found.iter().map(rows::record).collect::<StoreResult<_>>()?)
}

pub(super) async fn purge<C: Queue>(conn: &mut C, before: Timestamp, limit: usize) -> Tried<usize> {
    let mut purged = 0;
    for sql in [C::PURGE_RECORDS, PURGE_SIGNALS] {
        purged += count(conn.run(sql, args![before, limit - purged]).await?);
    }
    Ok(purged)
}

pub(super) async fn due<C: Conn>(conn: &mut C, now: Timestamp) -> Tried<Vec<(Class, usize)>> {
    let mut counts = Vec::new();
    for class in Class::ALL {
        let found = conn.row(DUE, args![class.as_str(), now]).await?.map_or(Ok(0), |row| row.int("found"))?;
        counts.push((*class, usize::try_from(found).unwrap_or(0)));
    }
    Ok(counts)
}
