//! What customers are told about their cluster: one ConfigMap inside it.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step, skr};

/// Writes it.
pub struct ProvisioningInfo;

impl Step for ProvisioningInfo {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match skr::prepare(pass).await.info {
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
