//! Accepting a request: runtime, configurations, audit entry and operation in one transaction.
//!
//! First everything that can stand against it is looked at, in this order: it was accepted already, an
//! operation runs, the id or the name is taken, the runtime is gone. Then it is written. What turns out
//! wrong only while writing is an error, and an error rolls everything back.

use slipway_model::{
    Operation, RecordKind, RuntimeId, RuntimeRecord, Timestamp,
    ports::{Acceptance, Accepted, NewConfig, NewKyma, Reassigned, Reassignment, StoreError},
    runtime_record::{Audit, KymaUpgradeState},
};

use super::{
    audit,
    columns::{CONFIG_SECRETS, KYMA_SECRETS, wrapped_key},
    intents, kyma, limits, no_runtime, records,
};
use crate::{
    error::{Fault, Tried},
    operations,
    rows::{self, Cells, operation_columns, unreadable},
    secrets::{DataKey, Keyring},
    sql::{Conn, args},
};

const UNFINISHED: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations WHERE instance_id = $1 AND state IN ('pending', 'in progress', 'canceling', 'retrying')
      ORDER BY id LIMIT 1"
);
const NEXT_TURN: &str =
    "SELECT coalesce(max(turn), 0) + 1 AS turn FROM operations WHERE instance_id = $1 AND turn IS NOT NULL";

/// A tombstone of the same id is replaced: the id is free again, and its history stays.
const INSERT_RUNTIME: &str = "
    INSERT INTO runtimes (id, tenant, sub_account, shoot_name, project, director_id, director_owned, created_at,
        data_key, data_key_id, version)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1)
    ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, sub_account = excluded.sub_account,
        shoot_name = excluded.shoot_name, project = excluded.project, director_id = excluded.director_id,
        director_owned = excluded.director_owned, created_at = excluded.created_at, data_key = excluded.data_key,
        data_key_id = excluded.data_key_id, deleted_at = NULL, agent_state = NULL, agent_errors = NULL,
        agent_observed_at = NULL, version = runtimes.version + 1
    WHERE runtimes.deleted_at IS NOT NULL";
const DATA_KEY: &str = "SELECT data_key, data_key_id FROM runtimes WHERE id = $1";
const NEXT_REVISION: &str =
    "SELECT coalesce(max(revision), 0) + 1 AS revision FROM runtime_configs WHERE runtime_id = $1";
const INSERT_CONFIG: &str = "
    INSERT INTO runtime_configs (runtime_id, revision, schema_version, spec, secrets, created_by)
    VALUES ($1, $2, $3, $4, $5, $6)";

pub(crate) async fn accept<C: Conn>(
    conn: &mut C,
    keyring: &Keyring,
    request: &Acceptance,
    now: Timestamp,
) -> Tried<Accepted> {
    let id = limits::check(request)?;
    let instance = &request.operation.instance_id;
    conn.lock_instance(instance).await?;
    if let Some(row) = conn.row(operations::BY_ID, args![request.operation.id]).await? {
        let first = rows::operation(&row, keyring)?;
        return if first.instance_id == *instance { Ok(Accepted::New(first)) } else { Err(is_foreign(&first).into()) };
    }
    if let Some(row) = conn.row(UNFINISHED, args![instance.as_str()]).await? {
        return Ok(Accepted::Busy(rows::operation(&row, keyring)?));
    }
    let (mut tenant, new_key) = match (&request.runtime, records::runtime(conn, id).await?) {
        (Some(_), Some(old)) if old.is_live() => return Ok(Accepted::IdTaken(old)),
        (Some(new), tombstone) => {
            if let Some(other) = records::runtime_by_name(conn, &new.project, &new.shoot_name).await? {
                return Ok(Accepted::NameTaken(other));
            }
            if tombstone.is_some() {
                // What was in force before is not any more.
                kyma::deactivate(conn, id).await?;
            }
            (new.tenant.clone(), Some(insert_runtime(conn, keyring, new).await?))
        }
        (None, None) => return Err(no_runtime(id).into()),
        (None, Some(old)) if !old.is_live() => return Ok(Accepted::Gone(old)),
        (None, Some(old)) => (old.tenant, None),
    };

    let operation = request.operation.clone().accepted(now);
    if let Some(change) = &request.tenant {
        match records::change_tenant(conn, id, change).await? {
            Some(true) => {
                audit::add_reassignment(conn, &request.audit.who, id, change, Some(operation.id), now).await?;
            }
            Some(false) => {}
            None => return Err(has_another_tenant(id).into()),
        }
        tenant = change.new.clone();
    }
    if let Some(key) = &request.intent {
        intents::commit(conn, key).await?;
    }
    if request.config.is_some() || request.kyma.is_some() {
        let key = match new_key {
            Some(key) => key,
            None => data_key(conn, keyring, id).await?,
        };
        if let Some(config) = &request.config {
            append_config(conn, &key, id, config, &operation).await?;
        }
        if let Some(kyma) = &request.kyma {
            put_kyma_in_force(conn, &key, id, kyma, &operation).await?;
        }
    }
    let turn = conn.row(NEXT_TURN, args![instance.as_str()]).await?.map_or(Ok(1), |row| row.int("turn"))?;
    operations::insert(conn, keyring, &operation, Some(turn)).await?;
    operations::record(conn, operation.id, now, &RecordKind::Accepted { by: request.operation.by.clone() }).await?;
    audit::add(conn, &request.audit, id, &tenant, Some(operation.id), now).await?;
    Ok(Accepted::New(operation))
}

pub(crate) fn is_foreign(operation: &Operation) -> StoreError {
    let (id, instance) = (operation.id, &operation.instance_id);
    StoreError::Refused(format!("operation {id} exists and is about {instance}; draw another id"))
}

pub(crate) fn has_another_tenant(id: RuntimeId) -> StoreError {
    StoreError::Refused(format!("runtime {id} has changed its tenant meanwhile; read it again"))
}

/// The refusal of an upgrade without something to upgrade.
pub(crate) fn nothing_to_upgrade(id: RuntimeId) -> StoreError {
    StoreError::Refused(format!("runtime {id} has no Kyma configuration to upgrade from"))
}

async fn insert_runtime<C: Conn>(conn: &mut C, keyring: &Keyring, new: &RuntimeRecord) -> Tried<DataKey> {
    let key = DataKey::draw(keyring, new.id);
    let wrapped = key.wrap(keyring);
    let args = args![
        new.id,
        new.tenant.as_str(),
        new.sub_account.as_ref().map(|text| text.as_str().to_owned()),
        new.shoot_name.as_str(),
        new.project.as_str(),
        new.director_id.clone(),
        new.director_owned,
        new.created_at,
        wrapped.sealed,
        wrapped.under,
    ];
    match conn.run(INSERT_RUNTIME, args).await? {
        // Somebody else has stored this id since it was looked for.
        0 => Err(Fault::Race),
        _ => Ok(key),
    }
}

async fn data_key<C: Conn>(conn: &mut C, keyring: &Keyring, id: RuntimeId) -> Tried<DataKey> {
    let row = conn.row(DATA_KEY, args![id]).await?.ok_or_else(|| no_runtime(id))?;
    let stored = wrapped_key(&row)?.ok_or_else(|| unreadable(format!("runtime {id} has no key for its secrets")))?;
    Ok(DataKey::unwrap(keyring, id, &stored)?)
}

async fn append_config<C: Conn>(
    conn: &mut C,
    key: &DataKey,
    id: RuntimeId,
    config: &NewConfig,
    operation: &Operation,
) -> Tried<()> {
    let NewConfig { schema_version, spec, secrets } = config;
    let revision = conn.row(NEXT_REVISION, args![id]).await?.map_or(Ok(1), |row| row.int("revision"))?;
    let sealed = secrets.as_ref().map(|secret| key.seal(CONFIG_SECRETS, &revision.to_string(), secret));
    let args = args![id, revision, *schema_version, spec.as_str(), sealed, operation.id];
    conn.run(INSERT_CONFIG, args).await?;
    Ok(())
}

async fn put_kyma_in_force<C: Conn>(
    conn: &mut C,
    key: &DataKey,
    id: RuntimeId,
    new: &NewKyma,
    operation: &Operation,
) -> Tried<()> {
    let before = kyma::active_id(conn, id).await?;
    kyma::deactivate(conn, id).await?;
    let sealed = new.secrets.as_ref().map(|secret| key.seal(KYMA_SECRETS, &new.id.to_string(), secret));
    kyma::insert_active(conn, id, new, sealed).await?;
    if new.is_upgrade {
        let before = before.ok_or_else(|| nothing_to_upgrade(id))?;
        kyma::insert_upgrade(conn, operation.id, before, new.id, KymaUpgradeState::InProgress).await?;
    }
    Ok(())
}

/// Moves a runtime to another tenant where no operation is started.
pub(crate) async fn reassign<C: Conn>(
    conn: &mut C,
    id: RuntimeId,
    tenant: &Reassignment,
    audit: &Audit,
    now: Timestamp,
) -> Tried<Reassigned> {
    limits::check_audit(audit)?;
    match records::change_tenant(conn, id, tenant).await? {
        Some(true) => {
            audit::add_reassignment(conn, &audit.who, id, tenant, None, now).await?;
            Ok(Reassigned::Done)
        }
        Some(false) => Ok(Reassigned::Done),
        None => Ok(Reassigned::Conflict),
    }
}
