//! Reading, and forgetting what is old.

use slipway_model::{
    Operation, OperationId, Record, StepRecord, Timestamp,
    ports::{Filter, StoreResult},
    state::Class,
};
use sqlx::{PgConnection, types::Uuid};

use crate::{
    error::Tried,
    rows::{self, Cells, no_operation, operation_columns, signed, step_columns},
    secrets::Keyring,
};

const BY_ID: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = $1");
const BY_IDS: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = ANY($1)");

const NEWEST: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations WHERE id < coalesce($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) ORDER BY id DESC LIMIT $2"
);
const NEWEST_OF_INSTANCE: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations WHERE instance_id = $3 AND ($1::uuid IS NULL OR id < $1)
      AND (cardinality($4::text[]) = 0 OR state = ANY($4)) ORDER BY id DESC LIMIT $2"
);
/// Each state is read from its own stretch of the index, so that a rare one is found without
/// walking past all the others.
const NEWEST_IN_STATES: &str = concat!(
    "SELECT o.* FROM unnest($3::text[]) AS wanted (state) CROSS JOIN LATERAL (SELECT ",
    operation_columns!(),
    " FROM operations WHERE operations.state = wanted.state COLLATE \"C\"
      AND id < coalesce($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) ORDER BY id DESC LIMIT $2) o
      ORDER BY o.id DESC LIMIT $2"
);

const EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM operations WHERE id = $1)";
const STEPS: &str =
    concat!("SELECT ", step_columns!(), " FROM operation_steps WHERE operation_id = $1 ORDER BY seq, stage, step");
const STEPS_OF: &str = concat!(
    "SELECT ",
    step_columns!(),
    " FROM operation_steps WHERE operation_id = ANY($1) ORDER BY operation_id, seq, stage, step"
);
const RECORDS: &str =
    "SELECT id, operation_id, at, kind FROM records WHERE operation_id = $1 AND id > $2 ORDER BY id LIMIT $3";

const PURGE_RECORDS: &str = "
    DELETE FROM records WHERE id IN (
        SELECT r.id FROM records r LEFT JOIN operations o ON o.id = r.operation_id
        WHERE r.at < $1 AND (o.id IS NULL OR o.state IN ('succeeded', 'failed', 'canceled'))
        ORDER BY r.id LIMIT $2)";
/// The time is asked twice: a key that was woken meanwhile stays.
const PURGE_SIGNALS: &str = "
    DELETE FROM signals WHERE at < $1 AND key IN (SELECT key FROM signals WHERE at < $1 ORDER BY key LIMIT $2)";

const DUE: &str = "SELECT count(*) FROM operations WHERE class = $1 AND due_at IS NOT NULL AND due_at <= $2";

pub(super) async fn operation(conn: &mut PgConnection, keyring: &Keyring, id: OperationId) -> Tried<Operation> {
    let row = sqlx::query(BY_ID).bind(id.as_uuid()).fetch_optional(conn).await?;
    Ok(rows::operation(&row.ok_or_else(|| no_operation(id))?, keyring)?)
}

pub(super) async fn operations_by_id(
    conn: &mut PgConnection,
    keyring: &Keyring,
    ids: &[Uuid],
) -> Tried<Vec<Operation>> {
    let found = sqlx::query(BY_IDS).bind(ids).fetch_all(conn).await?;
    found.iter().map(|row| Ok(rows::operation(row, keyring)?)).collect()
}

pub(super) async fn operations(conn: &mut PgConnection, keyring: &Keyring, filter: &Filter) -> Tried<Vec<Operation>> {
    let before = filter.before.map(OperationId::as_uuid);
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let states: Vec<&str> = filter.states.iter().map(|state| state.as_str()).collect();
    let query = match &filter.instance {
        Some(instance) => sqlx::query(NEWEST_OF_INSTANCE).bind(before).bind(limit).bind(instance.as_str()).bind(states),
        None if states.is_empty() => sqlx::query(NEWEST).bind(before).bind(limit),
        None => sqlx::query(NEWEST_IN_STATES).bind(before).bind(limit).bind(states),
    };
    let found = query.fetch_all(conn).await?;
    found.iter().map(|row| Ok(rows::operation(row, keyring)?)).collect()
}

pub(super) async fn steps(conn: &mut PgConnection, id: OperationId) -> Tried<Vec<StepRecord>> {
    let found = sqlx::query(STEPS).bind(id.as_uuid()).fetch_all(&mut *conn).await?;
    if found.is_empty() && !sqlx::query_scalar::<_, bool>(EXISTS).bind(id.as_uuid()).fetch_one(conn).await? {
        return Err(no_operation(id).into());
    }
    found.iter().map(|row| Ok(rows::step(row)?)).collect()
}

/// The ledgers of several operations, each row with its operation and judged by itself.
pub(super) async fn steps_of(
    conn: &mut PgConnection,
    ids: &[Uuid],
) -> Tried<Vec<(OperationId, StoreResult<StepRecord>)>> {
    let found = sqlx::query(STEPS_OF).bind(ids).fetch_all(conn).await?;
    found.iter().map(|row| Ok((OperationId::from(row.uuid("operation_id")?), rows::step(row)))).collect()
}

pub(super) async fn records(conn: &mut PgConnection, id: OperationId, after: u64, limit: usize) -> Tried<Vec<Record>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let query = sqlx::query(RECORDS).bind(id.as_uuid()).bind(signed(after)).bind(limit);
    query.fetch_all(conn).await?.iter().map(|row| Ok(rows::record(row)?)).collect()
}

pub(super) async fn purge(conn: &mut PgConnection, before: Timestamp, limit: usize) -> Tried<usize> {
    let mut purged = 0;
    for sql in [PURGE_RECORDS, PURGE_SIGNALS] {
        let room = i64::try_from(limit - purged).unwrap_or(i64::MAX);
        let done = sqlx::query(sql).bind(before.as_micros()).bind(room).execute(&mut *conn).await?;
        purged += usize::try_from(done.rows_affected()).unwrap_or(usize::MAX);
    }
    Ok(purged)
}

pub(super) async fn due(conn: &mut PgConnection, now: Timestamp) -> Tried<Vec<(Class, usize)>> {
    let mut counts = Vec::new();
    for class in Class::ALL {
        let query = sqlx::query_scalar(DUE).bind(class.as_str()).bind(now.as_micros());
        let count: i64 = query.fetch_one(&mut *conn).await?;
        counts.push((*class, usize::try_from(count).unwrap_or(0)));
    }
    Ok(counts)
}
