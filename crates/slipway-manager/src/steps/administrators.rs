//! Administrators of the customer's cluster: bindings added, and those of former ones removed.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::Outcome,
    pass::Pass,
    runtime::Step,
    skr::{self, administrators},
};

/// Brings them up to date.
pub struct AdministratorsStep;

impl Step for AdministratorsStep {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let wanted = pass.seen.runtime.spec.security.administrators.clone();
            let done = skr::within(pass, async |skr, _| administrators::align(&skr, &wanted).await).await;
            match done {
                Ok(()) => Outcome::Done,
                Err(error) => skr::trouble(
                    error,
                    Type::Configured,
                    Reason::ConfigurationError,
                    Status::False,
                    "Administrators cannot be configured",
                ),
            }
        })
    }
}
