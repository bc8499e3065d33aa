//! Deletes the Runtime resource: the end of the cluster is the infrastructure manager's work from here on.
//!
//! **Why here:** when everything that needs the cluster alive is done.
//!
//! **Why a repeat does no harm:** a resource that is going or gone is not deleted again.
//!
//! **When we give up:** at once when Kubernetes refuses, and after half an hour of errors; the client calls
//! again.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::access::{Ask, resource::RUNTIMES};
use slipway_model::Component;

use super::{Outcome, runtime_id, settle};
use crate::domain::Provisioner;

/// See the [module](self).
pub struct DeleteRuntimeResource;

impl Step<Provisioner> for DeleteRuntimeResource {
    fn name(&self) -> &'static str {
        "Delete_Runtime_Resource"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_deletion_trigger;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let id = runtime_id(ctx)?.to_string();
    systems.control_plane.tell(Ask::delete(&RUNTIMES, &systems.namespace, &id)).await?;
    Ok(ctx.done())
}
