//! Waits until the cluster is there.
//!
//! **Why here:** everything behind it needs a cluster.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after an hour, and at once when Gardener has failed for good; its codes are the
//! reason then. The record stays; the client deprovisions.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{
    domain::Provisioner,
    resource::{self, Progress},
};

/// See the [module](self).
pub struct WaitForClusterCreation;

impl Step<Provisioner> for WaitForClusterCreation {
    fn name(&self) -> &'static str {
        "Wait_For_Cluster_Creation"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_creation;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let runtime = resource::look_at(&systems, &record).await?;
    match resource::progress(&runtime, ctx.data().generation, true) {
        Progress::Ready => {
            let seed = runtime.status.as_ref().and_then(|status| status.facts.seed_name.clone());
            Ok(ctx.done_with(move |data| data.seed.clone_from(&seed)))
        }
        Progress::Failed(error) => Ok(ctx.fail(error)),
        Progress::Working(sentence) => wait(ctx, secs(20), systems.deadlines.cluster_creation, sentence),
    }
}
