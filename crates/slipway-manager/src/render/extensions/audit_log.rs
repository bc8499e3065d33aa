//! Audit logs go to the tenant of the region. Without one the entry stays as it is.

use serde_json::{Value, json};

use super::super::{Context, resources};

pub(super) const TYPE: &str = "shoot-auditlog-service";

pub(super) fn wanted(context: &Context<'_>) -> Option<Value> {
    let audit = context.input.audit?;
    Some(json!({
        "type": TYPE,
        "providerConfig": {
            "apiVersion": "service.auditlog.extensions.gardener.cloud/v1alpha1", "kind": "AuditlogConfig",
            "type": "standard", "tenantID": audit.tenant_id, "serviceURL": audit.service_url,
            "secretReferenceName": resources::AUDIT_CREDENTIALS,
        },
    }))
}
