//! Waits until the cluster has a domain.
//!
//! **Why here:** the domain comes long before the cluster, and the Director is told it while the cluster is
//! still being made.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after ten minutes, and at once when Gardener has failed for good.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{
    domain::Provisioner,
    resource::{self, Progress},
};

/// See the [module](self).
pub struct WaitForClusterDomain;

impl Step<Provisioner> for WaitForClusterDomain {
    fn name(&self) -> &'static str {
        "Wait_For_Cluster_Domain"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_domain;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let runtime = resource::look_at(&systems, &record).await?;
    let progress = resource::progress(&runtime, ctx.data().generation, true);
    match (runtime.status.as_ref().and_then(|status| status.facts.domain.clone()), progress) {
        (Some(domain), _) => Ok(ctx.done_with(move |data| data.domain = Some(domain.clone()))),
        // A manager that tells no domains is not waited for any longer than for the cluster.
        (None, Progress::Ready) => Ok(ctx.done()),
        (None, Progress::Failed(error)) => Ok(ctx.fail(error)),
        (None, Progress::Working(_)) => {
            wait(ctx, secs(5), systems.deadlines.cluster_domain, "waiting for the domain of the cluster")
        }
    }
}
