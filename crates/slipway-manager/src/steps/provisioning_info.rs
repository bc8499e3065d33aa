//! What customers are told about their cluster: one ConfigMap inside it.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::Outcome,
    pass::Pass,
    runtime::Step,
    skr::{self, provisioning_info},
};

/// Writes it.
pub struct ProvisioningInfo;

impl Step for ProvisioningInfo {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let region = provisioning_info::seed_region(&pass.shared, pass.seen.shoot.as_deref());
            let details = provisioning_info::details(&pass.seen.runtime, pass.seen.shoot.as_deref(), region, true);
            let text = serde_saphyr::to_string(&details).unwrap_or_default();
            let done = skr::within(pass, async |skr, _| provisioning_info::write(&skr, &text).await).await;
            match done {
                // The condition is said by the next step, which shares it.
                Ok(()) => Outcome::Done,
                Err(error) => skr::trouble(
                    error,
                    Type::OidcAndConfigMapConfigured,
                    Reason::ConfigMapErr,
                    Status::Unknown,
                    "ConfigMap kyma-provisioning-info cannot be written",
                ),
            }
        })
    }
}
