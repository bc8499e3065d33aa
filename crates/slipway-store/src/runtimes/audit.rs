//! The audit log: who asked for what. Entries are added in the transaction of what they tell of.

use slipway_model::{
    OperationId, RuntimeId, Timestamp,
    ports::Reassignment,
    runtime_record::{Audit, AuditEntry, Tenant},
};

use super::columns;
use crate::{
    error::Tried,
    rows::json,
    sql::{Conn, args},
};

/// What the log calls a change of tenant.
pub(crate) const REASSIGNED: &str = "tenantReassigned";
/// The path that it changes.
pub(crate) const TENANT_PATH: &str = "tenant";

const INSERT: &str = "
    INSERT INTO audit_log (at, who, tenant, previous_tenant, action, runtime_id, operation_id, changed_paths)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const NEWEST: &str = "
    SELECT id, at, who, tenant, previous_tenant, action, runtime_id, operation_id, changed_paths FROM audit_log
    WHERE runtime_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";

/// Adds an entry about a runtime of this tenant.
pub(super) async fn add<C: Conn>(
    conn: &mut C,
    audit: &Audit,
    runtime: RuntimeId,
    tenant: &Tenant,
    operation: Option<OperationId>,
    now: Timestamp,
) -> Tried<()> {
    let no_tenant_before: Option<String> = None;
    let args = args![
        now,
        audit.who.as_str(),
        tenant.as_str(),
        no_tenant_before,
        audit.action.as_str(),
        runtime,
        operation.map(OperationId::as_uuid),
        json(&audit.changed_paths),
    ];
    conn.run(INSERT, args).await?;
    Ok(())
}

/// Adds the entry about a change of tenant.
pub(super) async fn add_reassignment<C: Conn>(
    conn: &mut C,
    who: &str,
    runtime: RuntimeId,
    tenant: &Reassignment,
    operation: Option<OperationId>,
    now: Timestamp,
) -> Tried<()> {
    let args = args![
        now,
        who,
        tenant.new.as_str(),
        tenant.old.as_str(),
        REASSIGNED,
        runtime,
        operation.map(OperationId::as_uuid),
        json(&[TENANT_PATH]),
    ];
    conn.run(INSERT, args).await?;
    Ok(())
}

pub(crate) async fn entries<C: Conn>(
    conn: &mut C,
    runtime: RuntimeId,
    before: Option<u64>,
    limit: usize,
) -> Tried<Vec<AuditEntry>> {
    let rows = conn.rows(NEWEST, args![runtime, before.unwrap_or(u64::MAX), limit]).await?;
    rows.iter().map(|row| Ok(columns::audit_entry(row)?)).collect()
}
