//! The namespace in the customer's cluster that everything of ours goes into.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    runtime::Step,
    skr,
};

/// Makes it.
pub struct KymaNamespace;

impl Step for KymaNamespace {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match skr::prepare(pass).await.namespace {
                Ok(()) => {
                    let (of, reason) = (Type::KymaSystemNsCreated, Reason::KymaSystemNsReady);
                    pass.report.say(Said::new(of, Status::True, reason, "Namespace kyma-system is ready"));
                    Outcome::Done
                }
                Err(error) => skr::trouble(
                    error,
                    Type::KymaSystemNsCreated,
                    Reason::KymaSystemNsError,
                    Status::False,
                    "Namespace kyma-system cannot be made",
                ),
            }
        })
    }
}
