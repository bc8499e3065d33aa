//! Writes the Runtime resource: the order for a cluster.
//!
//! **Why here:** first, and not in the request: a request whose transaction fails must not leave a
//! cluster behind.
//!
//! **Why a repeat does no harm:** the resource has the runtime's id as its name and is applied as a whole;
//! the same again changes nothing.
//!
//! **When we give up:** at once when Kubernetes refuses it, and after ten minutes of errors. The record
//! stays; the client deprovisions.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, record, settle};
use crate::{domain::Provisioner, resource};

/// See the [module](self).
pub struct CreateRuntimeResource;

impl Step<Provisioner> for CreateRuntimeResource {
    fn name(&self) -> &'static str {
        "Create_Runtime_Resource"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.runtime_resource;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let record = record(ctx).await?;
    let present = resource::look(&ctx.systems(), &record).await?;
    let (generation, _) = resource::write(ctx, &record, present.as_ref()).await?;
    Ok(ctx.done_with(move |data| data.generation = Some(generation)))
}
