//! A person does not want the Shoot patched: said in the log at every pass, so that nobody wonders why an edit has no effect.
//!
//! The decision itself is [`crate::decide::Apply::Suspended`]; creation, waiting and deletion go on.

use slipway_kube::annotations;

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step};

/// Says that the Shoot is not patched.
pub(crate) struct GuardSuspend;

impl Step for GuardSuspend {
    fn applies(&self, seen: &Observation) -> bool {
        seen.is_suspended()
    }

    async fn run(&self, _: &mut Pass) -> Outcome {
        tracing::info!(
            annotation = annotations::SUSPEND_PATCH,
            "the Shoot is not patched while the annotation is there"
        );
        Outcome::Done
    }
}
