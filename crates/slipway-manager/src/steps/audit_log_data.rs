//! Where the audit log of the cluster goes: configured per provider and region, and mandatory where the landscape says so.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{
    decide::{self, Apply},
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    runtime::Step,
};

/// Refuses a Runtime that must have an audit log and cannot.
pub struct AuditLogData;

impl Step for AuditLogData {
    fn applies(&self, seen: &Observation) -> bool {
        matches!(decide::apply(seen), Apply::Create | Apply::Patch | Apply::Adopt | Apply::Compare)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
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
            Outcome::Fail { said: Said::new(Type::Provisioned, Status::False, Reason::AuditLogErr, message) }
        })
    }
}
