//! Reading runtimes, and the changes that are one statement.

use std::collections::BTreeMap;

use slipway_model::{
    Operation, OperationId, OperationState, ProcessKey, RuntimeId, RuntimeRecord, Timestamp,
    ports::{OperationCount, Reassignment, StoreResult},
    runtime_record::{AgentState, ConfigRevision, ProjectName, ShootName},
};
use sqlx::types::Uuid;

use super::{
    columns::{self, runtime_columns},
    limits, no_runtime,
};
use crate::{
    error::Tried,
    rows::{self, Cells, counted, json, no_operation, operation_columns, unreadable},
    secrets::Keyring,
    sql::{Conn, args},
};

const BY_ID: &str = concat!("SELECT ", runtime_columns!(), " FROM runtimes WHERE id = $1");
const BY_NAME: &str = concat!(
    "SELECT ",
    runtime_columns!(),
    " FROM runtimes WHERE project = $1 AND shoot_name = $2 AND deleted_at IS NULL"
);
const LIVE: &str =
    concat!("SELECT ", runtime_columns!(), " FROM runtimes WHERE deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2");
/// Revisions begin with 1, so 0 asks for the latest.
const CONFIG: &str = "
    SELECT c.runtime_id, c.revision, c.schema_version, c.spec, c.secrets, c.created_by, r.data_key, r.data_key_id
    FROM runtime_configs c JOIN runtimes r ON r.id = c.runtime_id
    WHERE c.runtime_id = $1 AND ($2 = 0 OR c.revision = $2) ORDER BY c.revision DESC LIMIT 1";

const TURN: &str = "SELECT turn FROM operations WHERE id = $1 AND instance_id = $2 AND turn IS NOT NULL";
const OPERATIONS: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations WHERE instance_id = $1 AND turn IS NOT NULL AND turn < $2 ORDER BY turn DESC LIMIT $3"
);
const COUNTS: &str =
    "SELECT process, state, count(*) AS found FROM operations WHERE turn IS NOT NULL GROUP BY process, state";

const CHANGE_TENANT: &str =
    "UPDATE runtimes SET tenant = $3, version = version + 1 WHERE id = $1 AND tenant = $2 AND tenant <> $3";
const SET_AGENT: &str = "
    UPDATE runtimes SET agent_state = $2, agent_errors = $3, agent_observed_at = $4, version = version + 1
    WHERE id = $1 AND (agent_observed_at IS NULL OR agent_observed_at < $4)";

const TOMBSTONE: &str = "
    UPDATE runtimes SET deleted_at = $2, data_key = NULL, data_key_id = NULL, version = version + 1
    WHERE id = $1 AND deleted_at IS NULL";
const ERASE_CONFIGS: &str = "UPDATE runtime_configs SET secrets = NULL WHERE runtime_id = $1 AND secrets IS NOT NULL";
const ERASE_KYMA: &str = "UPDATE kyma_configs SET secrets = NULL WHERE runtime_id = $1 AND secrets IS NOT NULL";
const ERASE_OPERATIONS: &str =
    "UPDATE operations SET secrets = NULL, secrets_key = NULL WHERE instance_id = $1 AND secrets_key IS NOT NULL";
const FORGET: &str = "
    DELETE FROM runtimes WHERE deleted_at IS NOT NULL AND id IN (
        SELECT id FROM runtimes WHERE deleted_at IS NOT NULL AND deleted_at < $1 ORDER BY deleted_at LIMIT $2)";

pub(crate) async fn runtime<C: Conn>(conn: &mut C, id: RuntimeId) -> Tried<Option<RuntimeRecord>> {
    let row = conn.row(BY_ID, args![id]).await?;
    Ok(row.as_ref().map(columns::runtime).transpose()?)
}

pub(crate) async fn runtime_by_name<C: Conn>(
    conn: &mut C,
    project: &ProjectName,
    shoot_name: &ShootName,
) -> Tried<Option<RuntimeRecord>> {
    let row = conn.row(BY_NAME, args![project.as_str(), shoot_name.as_str()]).await?;
    Ok(row.as_ref().map(columns::runtime).transpose()?)
}

pub(crate) async fn live_runtimes<C: Conn>(
    conn: &mut C,
    after: Option<RuntimeId>,
    limit: usize,
) -> Tried<Vec<RuntimeRecord>> {
    // Below every id of a runtime.
    let after = after.map_or(Uuid::nil(), RuntimeId::as_uuid);
    let rows = conn.rows(LIVE, args![after, limit]).await?;
    Ok(rows.iter().map(columns::runtime).collect::<StoreResult<_>>()?)
}

pub(crate) async fn config<C: Conn>(
    conn: &mut C,
    keyring: &Keyring,
    id: RuntimeId,
    revision: Option<u32>,
) -> Tried<Option<ConfigRevision>> {
    if revision == Some(0) {
        return Ok(None);
    }
    let row = conn.row(CONFIG, args![id, revision.unwrap_or(0)]).await?;
    Ok(row.map(|row| columns::config(&row, keyring)).transpose()?)
}

pub(crate) async fn operations<C: Conn>(
    conn: &mut C,
    keyring: &Keyring,
    id: RuntimeId,
    before: Option<OperationId>,
    limit: usize,
) -> Tried<Vec<Operation>> {
    let instance = id.instance();
    let turn = match before {
        None => i64::MAX,
        Some(before) => {
            let row = conn.row(TURN, args![before, instance.as_str()]).await?;
            row.ok_or_else(|| no_operation(before))?.int("turn")?
        }
    };
    let rows = conn.rows(OPERATIONS, args![instance.as_str(), turn, limit]).await?;
    Ok(rows.iter().map(|row| rows::operation(row, keyring)).collect::<StoreResult<_>>()?)
}

pub(crate) async fn counts<C: Conn>(conn: &mut C) -> Tried<Vec<OperationCount>> {
    let mut counts = Vec::new();
    for row in conn.rows(COUNTS, args![]).await? {
        let process: ProcessKey = row.text("process")?.parse().map_err(unreadable)?;
        let state: OperationState = row.text("state")?.parse().map_err(unreadable)?;
        counts.push((process, state, counted(row.int("found")?)?));
    }
    Ok(summed(counts))
}

/// The counts of all versions of a process together, in order.
pub(crate) fn summed(counts: impl IntoIterator<Item = (ProcessKey, OperationState, u64)>) -> Vec<OperationCount> {
    let mut sums: BTreeMap<(String, OperationState), u64> = BTreeMap::new();
    for (process, state, count) in counts {
        *sums.entry((process.name, state)).or_default() += count;
    }
    sums.into_iter().map(|((process, state), count)| OperationCount { process, state, count }).collect()
}

/// Whether the tenant was changed; none if it is neither the old nor the new one.
pub(super) async fn change_tenant<C: Conn>(conn: &mut C, id: RuntimeId, tenant: &Reassignment) -> Tried<Option<bool>> {
    if conn.run(CHANGE_TENANT, args![id, tenant.old.as_str(), tenant.new.as_str()]).await? > 0 {
        return Ok(Some(true));
    }
    let present = runtime(conn, id).await?.ok_or_else(|| no_runtime(id))?;
    Ok((present.tenant == tenant.new).then_some(false))
}

pub(crate) async fn set_agent<C: Conn>(conn: &mut C, id: RuntimeId, agent: &AgentState) -> Tried<()> {
    limits::check_agent(agent)?;
    let args = args![id, agent.state.as_str(), json(&agent.errors), agent.observed_at];
    if conn.run(SET_AGENT, args).await? == 0 && runtime(conn, id).await?.is_none() {
        return Err(no_runtime(id).into());
    }
    Ok(())
}

/// The instance's lock keeps an acceptance from sealing a secret under a key that is being erased.
pub(crate) async fn tombstone<C: Conn>(conn: &mut C, id: RuntimeId, now: Timestamp) -> Tried<()> {
    let instance = id.instance();
    conn.lock_instance(&instance).await?;
    if conn.run(TOMBSTONE, args![id, now]).await? == 0 {
        return match runtime(conn, id).await? {
            Some(_) => Ok(()),
            None => Err(no_runtime(id).into()),
        };
    }
    conn.run(ERASE_CONFIGS, args![id]).await?;
    conn.run(ERASE_KYMA, args![id]).await?;
    conn.run(ERASE_OPERATIONS, args![instance.as_str()]).await?;
    Ok(())
}

pub(crate) async fn forget_tombstones<C: Conn>(conn: &mut C, before: Timestamp, limit: usize) -> Tried<usize> {
    let forgotten = conn.run(FORGET, args![before, limit]).await?;
    Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
}
