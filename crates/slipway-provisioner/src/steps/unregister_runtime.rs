//! Takes the registration in the Director back, if it is ours.
//!
//! **Why here:** when the cluster is gone: a registration without a cluster is a smaller evil than a cluster
//! nobody knows of.
//!
//! **Why a repeat does no harm:** a registration that is gone, or whose whole tenant is gone, is fine.
//!
//! **When we give up:** at once when the Director refuses, and after an hour of errors; the client calls
//! again.

use slipway_clients::director::Error;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, record, settle};
use crate::domain::Provisioner;

/// See the [module](self).
pub struct UnregisterRuntime;

impl Step<Provisioner> for UnregisterRuntime {
    fn name(&self) -> &'static str {
        "Unregister_Runtime"
    }

    fn component(&self) -> Component {
        Component::CompassDirector
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_deletion;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::CompassDirector, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let (Some(director), Some(id), true) = (&systems.director, &record.director_id, record.director_owned) else {
        return Ok(ctx.done());
    };
    match director.unregister(record.tenant.as_str(), id).await {
        Ok(()) | Err(Error::NotFound | Error::Tenant(_)) => Ok(ctx.done()),
        Err(error) => Err(error.into()),
    }
}
