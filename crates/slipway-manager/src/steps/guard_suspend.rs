//! A person does not want the Shoot patched: said in the log at every pass, so that nobody wonders why an edit has no effect.
//!
//! The decision itself is [`crate::decide::Apply::Suspended`]; creation, waiting and deletion go on.

use slipway_kube::annotations;
use slipway_model::ports::BoxFuture;

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step};

/// Says that the Shoot is not patched.
pub struct GuardSuspend;

impl Step for GuardSuspend {
    fn applies(&self, seen: &Observation) -> bool {
        seen.is_suspended()
    }

    fn run<'a>(&'a self, _: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            tracing::info!(
                annotation = annotations::SUSPEND_PATCH,
                "the Shoot is not patched while the annotation is there"
            );
            Outcome::Done
        })
    }
}
