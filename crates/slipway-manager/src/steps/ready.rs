//! All is as it was asked for.

use slipway_kube::{
    RuntimeState,
    conditions::{Reason, Status, Type},
};
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    runtime::Step,
};

/// Says so.
pub struct ReadyStep;

impl Step for ReadyStep {
    fn applies(&self, _: &Observation) -> bool {
        true
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let (of, reason) = (Type::Configured, Reason::AdministratorsConfigured);
            pass.report.say(Said::new(of, Status::True, reason, "kubeconfig admin access updated"));
            pass.report.state = Some(RuntimeState::Ready);
            pass.report.completed = true;
            pass.shared.metrics.aligned(&pass.seen.memory, pass.shared.clock.monotonic());
            pass.remember(|memory| memory.changed_at = None);
            Outcome::Done
        })
    }
}
