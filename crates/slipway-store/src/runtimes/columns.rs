//! Rows of the provisioner's tables and the words of the model: which column holds what.

use secrecy::SecretString;
use slipway_model::{
    JsonText, OperationId, RuntimeId, RuntimeRecord, Timestamp,
    ports::StoreResult,
    runtime_record::{AgentState, AuditEntry, ConfigRevision, DirectorIntent, KymaConfig, KymaUpgrade},
};

use crate::{
    rows::{Cells, counted, from_json, unreadable},
    secrets::{DataKey, Keyring, Wrapped},
};

/// All columns of a runtime but its key.
macro_rules! runtime_columns {
    () => {
        "id, tenant, sub_account, shoot_name, project, director_id, director_owned, created_at, deleted_at, \
         agent_state, agent_errors, agent_observed_at, version"
    };
}
pub(super) use runtime_columns;

/// Where secrets of a cluster's configuration stand, to bind them to.
pub(super) const CONFIG_SECRETS: &str = "runtime_configs.secrets";
/// Where secrets of a Kyma configuration stand.
pub(super) const KYMA_SECRETS: &str = "kyma_configs.secrets";

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> StoreResult<T> {
    text.parse().map_err(unreadable)
}

fn maybe<T: std::str::FromStr<Err: std::fmt::Display>>(text: Option<String>) -> StoreResult<Option<T>> {
    text.as_deref().map(parsed).transpose()
}

fn at(row: &impl Cells, column: &str) -> StoreResult<Timestamp> {
    Ok(Timestamp::from_micros(row.int(column)?))
}

pub(super) fn runtime_id(row: &impl Cells, column: &str) -> StoreResult<RuntimeId> {
    RuntimeId::try_from(row.uuid(column)?).map_err(unreadable)
}

pub(super) fn runtime(row: &impl Cells) -> StoreResult<RuntimeRecord> {
    Ok(RuntimeRecord {
        id: runtime_id(row, "id")?,
        tenant: parsed(&row.text("tenant")?)?,
        sub_account: maybe(row.maybe_text("sub_account")?)?,
        shoot_name: parsed(&row.text("shoot_name")?)?,
        project: parsed(&row.text("project")?)?,
        director_id: row.maybe_text("director_id")?,
        director_owned: row.flag("director_owned")?,
        created_at: at(row, "created_at")?,
        deleted_at: row.maybe_int("deleted_at")?.map(Timestamp::from_micros),
        agent: agent(row)?,
        version: counted(row.int("version")?)?,
    })
}

fn agent(row: &impl Cells) -> StoreResult<Option<AgentState>> {
    let Some(state) = row.maybe_text("agent_state")? else { return Ok(None) };
    let errors = from_json(&row.text("agent_errors")?)?;
    Ok(Some(AgentState { state: parsed(&state)?, errors, observed_at: at(row, "agent_observed_at")? }))
}

/// The sealed key of a runtime, from its row or one joined with it; none for a tombstone.
pub(super) fn wrapped_key(row: &impl Cells) -> StoreResult<Option<Wrapped>> {
    let (Some(sealed), Some(under)) = (row.maybe_bytes("data_key")?, row.maybe_text("data_key_id")?) else {
        return Ok(None);
    };
    Ok(Some(Wrapped { sealed, under }))
}

/// The secret of a row joined with its runtime's key.
fn secret(
    row: &impl Cells,
    keyring: &Keyring,
    runtime: RuntimeId,
    column: &str,
    which: &str,
) -> StoreResult<Option<SecretString>> {
    let Some(sealed) = row.maybe_bytes("secrets")? else { return Ok(None) };
    let key = wrapped_key(row)?.ok_or_else(|| unreadable(format!("runtime {runtime} has no key for its secrets")))?;
    DataKey::unwrap(keyring, runtime, &key)?.open(column, which, &sealed).map(Some)
}

/// A row joined with its runtime's key.
pub(super) fn config(row: &impl Cells, keyring: &Keyring) -> StoreResult<ConfigRevision> {
    let runtime = runtime_id(row, "runtime_id")?;
    let small = |column: &str| u32::try_from(row.int(column)?).map_err(unreadable);
    let revision = small("revision")?;
    Ok(ConfigRevision {
        runtime,
        revision,
        schema_version: small("schema_version")?,
        spec: JsonText::parse(row.text("spec")?).map_err(unreadable)?,
        secrets: secret(row, keyring, runtime, CONFIG_SECRETS, &revision.to_string())?,
        created_by: OperationId::from(row.uuid("created_by")?),
    })
}

/// A row joined with its runtime's key.
pub(super) fn kyma(row: &impl Cells, keyring: &Keyring) -> StoreResult<KymaConfig> {
    let (id, runtime) = (row.uuid("id")?, runtime_id(row, "runtime_id")?);
    Ok(KymaConfig {
        id,
        runtime,
        spec: JsonText::parse(row.text("spec")?).map_err(unreadable)?,
        secrets: secret(row, keyring, runtime, KYMA_SECRETS, &id.to_string())?,
        is_active: row.flag("is_active")?,
    })
}

pub(super) fn upgrade(row: &impl Cells) -> StoreResult<KymaUpgrade> {
    Ok(KymaUpgrade {
        operation: OperationId::from(row.uuid("operation_id")?),
        pre: row.uuid("pre_config")?,
        post: row.uuid("post_config")?,
        state: parsed(&row.text("state")?)?,
    })
}

pub(super) fn intent(row: &impl Cells) -> StoreResult<DirectorIntent> {
    Ok(DirectorIntent {
        key: row.text("key")?,
        tenant: parsed(&row.text("tenant")?)?,
        name: row.text("name")?,
        director_id: row.maybe_text("director_id")?,
        state: parsed(&row.text("state")?)?,
        created_at: at(row, "created_at")?,
    })
}

pub(super) fn audit_entry(row: &impl Cells) -> StoreResult<AuditEntry> {
    Ok(AuditEntry {
        id: counted(row.int("id")?)?,
        at: at(row, "at")?,
        who: row.text("who")?,
        tenant: parsed(&row.text("tenant")?)?,
        previous_tenant: maybe(row.maybe_text("previous_tenant")?)?,
        action: row.text("action")?,
        runtime: runtime_id(row, "runtime_id")?,
        operation: row.maybe_uuid("operation_id")?.map(OperationId::from),
        changed_paths: from_json(&row.text("changed_paths")?)?,
    })
}
