//! Kyma configurations: which one is in force, and the way from one to the next and back.

use slipway_model::{
    OperationId, RuntimeId, Timestamp,
    ports::{NewKyma, RolledBack, StoreError, WhyNotRolledBack},
    runtime_record::{Audit, KymaConfig, KymaUpgrade, KymaUpgradeState},
};
use sqlx::types::Uuid;

use super::{audit, columns, limits, no_runtime, records};
use crate::{
    error::Tried,
    rows::{Cells, unreadable},
    secrets::Keyring,
    sql::{Conn, args},
};

const ACTIVE: &str = "
    SELECT k.id, k.runtime_id, k.spec, k.secrets, k.is_active, r.data_key, r.data_key_id
    FROM kyma_configs k JOIN runtimes r ON r.id = k.runtime_id WHERE k.runtime_id = $1 AND k.is_active";
const ACTIVE_ID: &str = "SELECT id FROM kyma_configs WHERE runtime_id = $1 AND is_active";
/// Always before another is activated: the unique index looks at every statement.
const DEACTIVATE: &str = "UPDATE kyma_configs SET is_active = FALSE WHERE runtime_id = $1 AND is_active";
const ACTIVATE: &str = "UPDATE kyma_configs SET is_active = TRUE WHERE id = $1 AND runtime_id = $2";
const INSERT: &str =
    "INSERT INTO kyma_configs (id, runtime_id, spec, secrets, is_active) VALUES ($1, $2, $3, $4, TRUE)";

const UPGRADE: &str = "SELECT operation_id, pre_config, post_config, state FROM kyma_upgrades WHERE operation_id = $1";
const INSERT_UPGRADE: &str =
    "INSERT INTO kyma_upgrades (operation_id, pre_config, post_config, state) VALUES ($1, $2, $3, $4)";
const ENDED: &str = "UPDATE kyma_upgrades SET state = $2 WHERE operation_id = $1 AND state = 'IN_PROGRESS'";
const ROLLED_BACK: &str = "UPDATE kyma_upgrades SET state = 'ROLLED_BACK' WHERE operation_id = $1";

pub(crate) async fn active<C: Conn>(conn: &mut C, keyring: &Keyring, id: RuntimeId) -> Tried<Option<KymaConfig>> {
    let row = conn.row(ACTIVE, args![id]).await?;
    Ok(row.map(|row| columns::kyma(&row, keyring)).transpose()?)
}

pub(super) async fn active_id<C: Conn>(conn: &mut C, id: RuntimeId) -> Tried<Option<Uuid>> {
    let row = conn.row(ACTIVE_ID, args![id]).await?;
    Ok(row.map(|row| row.uuid("id")).transpose()?)
}

pub(super) async fn deactivate<C: Conn>(conn: &mut C, id: RuntimeId) -> Tried<()> {
    conn.run(DEACTIVATE, args![id]).await?;
    Ok(())
}

pub(super) async fn insert_active<C: Conn>(
    conn: &mut C,
    id: RuntimeId,
    new: &NewKyma,
    sealed: Option<Vec<u8>>,
) -> Tried<()> {
    conn.run(INSERT, args![new.id, id, new.spec.as_str(), sealed]).await?;
    Ok(())
}

pub(super) async fn insert_upgrade<C: Conn>(
    conn: &mut C,
    operation: OperationId,
    pre: Uuid,
    post: Uuid,
    state: KymaUpgradeState,
) -> Tried<()> {
    conn.run(INSERT_UPGRADE, args![operation, pre, post, state.as_str()]).await?;
    Ok(())
}

pub(crate) async fn upgrade<C: Conn>(conn: &mut C, operation: OperationId) -> Tried<Option<KymaUpgrade>> {
    let row = conn.row(UPGRADE, args![operation]).await?;
    Ok(row.as_ref().map(columns::upgrade).transpose()?)
}

/// The refusal of a state that is no end.
pub(crate) fn check_end(state: KymaUpgradeState) -> Result<(), StoreError> {
    match state {
        KymaUpgradeState::Succeeded | KymaUpgradeState::Failed => Ok(()),
        KymaUpgradeState::InProgress | KymaUpgradeState::RolledBack => {
            Err(StoreError::Refused(format!("an upgrade does not end as {state}; say SUCCEEDED or FAILED")))
        }
    }
}

/// The refusal of the end of an upgrade that is not there.
pub(crate) fn no_upgrade(operation: OperationId) -> StoreError {
    StoreError::NotFound { what: "Kyma upgrade of operation", id: operation.to_string() }
}

pub(crate) async fn upgrade_ended<C: Conn>(conn: &mut C, operation: OperationId, state: KymaUpgradeState) -> Tried<()> {
    check_end(state)?;
    if conn.run(ENDED, args![operation, state.as_str()]).await? == 0 && upgrade(conn, operation).await?.is_none() {
        return Err(no_upgrade(operation).into());
    }
    Ok(())
}

/// The instance's lock keeps the latest operation the latest until the end.
pub(crate) async fn roll_back<C: Conn>(
    conn: &mut C,
    keyring: &Keyring,
    id: RuntimeId,
    who: &Audit,
    now: Timestamp,
) -> Tried<RolledBack> {
    limits::check_audit(who)?;
    conn.lock_instance(&id.instance()).await?;
    let runtime = records::runtime(conn, id).await?.ok_or_else(|| no_runtime(id))?;
    let latest = records::operations(conn, keyring, id, None, 1).await?.into_iter().next();
    let latest = latest.ok_or_else(|| unreadable(format!("runtime {id} has no operation")))?;
    if !latest.state.is_finished() {
        return Ok(RolledBack::NotAllowed(WhyNotRolledBack::InProgress(latest.id)));
    }
    let Some(upgrade) = upgrade(conn, latest.id).await? else {
        return Ok(RolledBack::NotAllowed(WhyNotRolledBack::NotAnUpgrade(latest.id)));
    };
    if upgrade.state != KymaUpgradeState::RolledBack {
        deactivate(conn, id).await?;
        conn.run(ACTIVATE, args![upgrade.pre, id]).await?;
        conn.run(ROLLED_BACK, args![latest.id]).await?;
        audit::add(conn, who, id, &runtime.tenant, None, now).await?;
    }
    let active = active(conn, keyring, id).await?;
    Ok(RolledBack::Done(active.ok_or_else(|| unreadable(format!("runtime {id} has no Kyma configuration in force")))?))
}
