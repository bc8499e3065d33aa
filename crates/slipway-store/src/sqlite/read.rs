//! Reading, and forgetting what is old.

use slipway_model::{Operation, OperationId, Record, StepRecord, Timestamp, ports::Filter, state::Class};
use sqlx::{SqliteConnection, types::Uuid};

use crate::{
    error::Tried,
    rows::{self, Cells, json, no_operation, operation_columns, signed, step_columns},
    secrets::Keyring,
};

const BY_ID: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = ?1");
const NEWEST: &str =
    concat!("SELECT ", operation_columns!(), " FROM operations WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
const NEWEST_OF_INSTANCE: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations INDEXED BY operations_instance WHERE id < ?1 AND instance_id = ?3
      AND (?4 = '[]' OR state IN (SELECT value FROM json_each(?4))) ORDER BY id DESC LIMIT ?2"
);
/// One state, from its own stretch of the index.
const NEWEST_IN_STATE: &str =
    concat!("SELECT ", operation_columns!(), " FROM operations WHERE state = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2");
const EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM operations WHERE id = ?1)";
const STEPS: &str =
    concat!("SELECT ", step_columns!(), " FROM operation_steps WHERE operation_id = ?1 ORDER BY seq, stage, step");
const RECORDS: &str =
    "SELECT id, operation_id, at, kind FROM records WHERE operation_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

const PURGE_RECORDS: &str = "
    DELETE FROM records WHERE id IN (
        SELECT r.id FROM records r LEFT JOIN operations o ON o.id = r.operation_id
        WHERE r.at < ?1 AND (o.id IS NULL OR o.state IN ('succeeded', 'failed', 'canceled'))
        ORDER BY r.at, r.id LIMIT ?2)";
const PURGE_SIGNALS: &str =
    "DELETE FROM signals WHERE key IN (SELECT key FROM signals WHERE at < ?1 ORDER BY key LIMIT ?2)";

const DUE: &str = "SELECT count(*) FROM operations WHERE class = ?1 AND due_at IS NOT NULL AND due_at <= ?2";

pub(super) async fn operation(conn: &mut SqliteConnection, keyring: &Keyring, id: OperationId) -> Tried<Operation> {
    let row = sqlx::query(BY_ID).bind(id.as_uuid()).fetch_optional(conn).await?;
    Ok(rows::operation(&row.ok_or_else(|| no_operation(id))?, keyring)?)
}

pub(super) async fn operations(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    filter: &Filter,
) -> Tried<Vec<Operation>> {
    // Above every id of version 7.
    let before = filter.before.map_or(Uuid::max(), OperationId::as_uuid);
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    match &filter.instance {
        Some(instance) => {
            let query = sqlx::query(NEWEST_OF_INSTANCE).bind(before).bind(limit).bind(instance.as_str());
            found = query.bind(json(&filter.states)).fetch_all(conn).await?;
        }
        None if filter.states.is_empty() => {
            found = sqlx::query(NEWEST).bind(before).bind(limit).fetch_all(conn).await?;
        }
        None => {
            let mut states = filter.states.clone();
            states.sort_unstable();
            states.dedup();
            for state in states {
                let query = sqlx::query(NEWEST_IN_STATE).bind(before).bind(limit).bind(state.as_str());
                found.extend(query.fetch_all(&mut *conn).await?);
            }
        }
    }
    let mut operations: Vec<Operation> =
        found.iter().map(|row| rows::operation(row, keyring)).collect::<Result<_, _>>()?;
    operations.sort_by_key(|op| std::cmp::Reverse(op.id));
    operations.truncate(filter.limit);
    Ok(operations)
}

pub(super) async fn steps(conn: &mut SqliteConnection, id: OperationId) -> Tried<Vec<StepRecord>> {
    let found = sqlx::query(STEPS).bind(id.as_uuid()).fetch_all(&mut *conn).await?;
    if found.is_empty() && !sqlx::query_scalar::<_, bool>(EXISTS).bind(id.as_uuid()).fetch_one(conn).await? {
        return Err(no_operation(id).into());
    }
    found.iter().map(|row| Ok(rows::step(row)?)).collect()
}

pub(super) async fn records(
    conn: &mut SqliteConnection,
    id: OperationId,
    after: u64,
    limit: usize,
) -> Tried<Vec<Record>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let query = sqlx::query(RECORDS).bind(id.as_uuid()).bind(signed(after)).bind(limit);
    query.fetch_all(conn).await?.iter().map(|row| Ok(rows::record(row)?)).collect()
}

pub(super) async fn purge(conn: &mut SqliteConnection, before: Timestamp, limit: usize) -> Tried<usize> {
    let mut purged = 0;
    for sql in [PURGE_RECORDS, PURGE_SIGNALS] {
        let room = i64::try_from(limit - purged).unwrap_or(i64::MAX);
        let done = sqlx::query(sql).bind(before.as_micros()).bind(room).execute(&mut *conn).await?;
        purged += usize::try_from(done.rows_affected()).unwrap_or(usize::MAX);
    }
    Ok(purged)
}

pub(super) async fn due(conn: &mut SqliteConnection, now: Timestamp) -> Tried<Vec<(Class, usize)>> {
    let mut counts = Vec::new();
    for class in Class::ALL {
        let query = sqlx::query(DUE).bind(class.as_str()).bind(now.as_micros());
        let count = query.fetch_one(&mut *conn).await?.int("count(*)")?;
        counts.push((*class, usize::try_from(count).unwrap_or(0)));
    }
    Ok(counts)
}
