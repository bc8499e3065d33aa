//! Administrators of the customer's cluster: bindings added, and those of former ones removed.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step, skr};

/// Brings them up to date.
pub struct AdministratorsStep;

impl Step for AdministratorsStep {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match skr::prepare(pass).await.administrators {
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
