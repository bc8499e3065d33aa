//! Where the audit log of the cluster goes: configured per provider and region, and mandatory where the landscape says so.

use slipway_kube::conditions::{Reason, Status, Type};

use crate::{
    decide::{self, Apply},
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
};

/// Refuses a Runtime that must have an audit log and cannot.
pub(crate) struct AuditLogData;

impl Step for AuditLogData {
    fn applies(&self, seen: &Observation) -> bool {
        matches!(decide::apply(seen), Apply::Create | Apply::Patch | Apply::Adopt | Apply::Compare)
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        let runtime = &pass.seen.runtime;
        if !pass.shared.settings.audit_log_mandatory || pass.shared.blueprints.has_audit_tenant(runtime) {
            return Outcome::Done;
        }
        let shoot = &runtime.spec.shoot;
        let message = format!(
            "No audit log tenant is configured for provider {} in region {}; add it to the audit tenant file or \
             choose another region",
            shoot.provider.provider_type, shoot.region
        );
        Outcome::Fail {
            condition: ConditionUpdate::new(Type::Provisioned, Status::False, Reason::AuditLogErr, message),
        }
    }
}
