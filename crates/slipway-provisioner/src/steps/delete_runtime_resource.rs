//! Deletes the Runtime resource: the end of the cluster is the infrastructure manager's work from here on.
//!
//! **Why here:** when everything that needs the cluster alive is done.
//!
//! **Why a repeat does no harm:** a resource that is going or gone is not deleted again.
//!
//! **When we give up:** at once when Kubernetes refuses, and after half an hour of errors; the client calls
//! again.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, record, settle};
use crate::{domain::Provisioner, resource};

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
    let record = record(ctx).await?;
    if let Some(runtime) = resource::look(&systems, &record).await? {
        resource::delete(&systems, &runtime).await?;
    }
    Ok(ctx.done())
}
