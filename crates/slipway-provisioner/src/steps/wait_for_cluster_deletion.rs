//! Waits until the cluster is gone.
//!
//! **Why here:** the infrastructure manager keeps the Runtime resource until its cluster is gone, so the
//! end of one is the end of the other.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after an hour, and at once when Gardener has failed for good; the client calls
//! again.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::Runtime;
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{
    domain::Provisioner,
    resource::{self, Progress},
};

/// See the [module](self).
pub struct WaitForClusterDeletion;

impl Step<Provisioner> for WaitForClusterDeletion {
    fn name(&self) -> &'static str {
        "Wait_For_Cluster_Deletion"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_deletion;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    // One that is not the record's came after it: the record's is gone.
    let Ok(Some(runtime)) = resource::sight(&systems, &record).await? else { return Ok(ctx.done()) };
    // What failed before the deletion says nothing about the deletion.
    let is_about_deletion = runtime
        .status
        .as_ref()
        .and_then(|status| status.shoot_last_operation.as_ref())
        .is_some_and(|operation| operation.operation_type == "Delete");
    match resource::progress(&runtime, None, false) {
        Progress::Failed(error) if is_about_deletion => Ok(ctx.fail(error)),
        Progress::Failed(_) | Progress::Ready | Progress::Working(_) => {
            wait(ctx, secs(20), systems.deadlines.cluster_deletion, waiting_for(&runtime))
        }
    }
}

/// What is waited for, in the manager's words where it has some: it may hold a deletion until a person confirms it.
fn waiting_for(runtime: &Runtime) -> String {
    let conditions = runtime.status.iter().flat_map(|status| &status.conditions);
    let said =
        conditions.into_iter().find(|condition| condition.type_ == "Deprovisioned" && condition.status != "True");
    match said.filter(|condition| !condition.message.is_empty()) {
        Some(condition) => format!("waiting for the cluster to go: {}", condition.message),
        None => "waiting for the cluster to go".to_owned(),
    }
}
