//! All is as it was asked for.

use slipway_kube::{
    RuntimeState,
    conditions::{Reason, Status, Type},
};

use crate::{
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
};

pub(crate) struct ReadyStep;

impl Step for ReadyStep {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        let (of, reason) = (Type::Configured, Reason::AdministratorsConfigured);
        pass.report.set(ConditionUpdate::new(of, Status::True, reason, "kubeconfig admin access updated"));
        pass.report.state = Some(RuntimeState::Ready);
        pass.report.is_completed = true;
        let now = pass.shared.clock.monotonic();
        if let Some(phases) = pass.seen.memory.alignment.finish(now) {
            pass.shared.metrics.note_alignment(&phases);
        }
        pass.remember(|memory| _ = memory.alignment.finish(now));
        Outcome::Done
    }
}
