//! Waits until the cluster sleeps, or is awake again.
//!
//! **Why here:** behind the write of the change, whose generation it waits for.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after an hour, and at once when Gardener has failed for good.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{
    domain::Provisioner,
    resource::{self, Progress},
};

/// See the [module](self).
pub struct WaitForHibernation;

impl Step<Provisioner> for WaitForHibernation {
    fn name(&self) -> &'static str {
        "Wait_For_Hibernation"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.hibernation;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let runtime = resource::look_at(&systems, &record).await?;
    let wanted = runtime.spec.shoot.extras.hibernation.is_some_and(|hibernation| hibernation.enabled);
    let sleeps = runtime.status.as_ref().and_then(|status| status.facts.hibernated);
    let sentence = if wanted { "waiting for the cluster to fall asleep" } else { "waiting for the cluster to wake up" };
    match resource::progress(&runtime, ctx.data().generation, false) {
        Progress::Failed(error) => Ok(ctx.fail(error)),
        // A manager that does not tell whether it sleeps is believed.
        Progress::Ready if sleeps.is_none_or(|sleeps| sleeps == wanted) => Ok(ctx.done()),
        Progress::Ready | Progress::Working(_) => wait(ctx, secs(30), systems.deadlines.hibernation, sentence),
    }
}
