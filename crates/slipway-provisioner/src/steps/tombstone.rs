//! Marks the runtime as deleted and erases its secrets.
//!
//! **Why here:** last, when nothing of it is left outside.
//!
//! **Why a repeat does no harm:** a tombstone stays as it is.
//!
//! **When we give up:** after an hour of a database that is away; the client calls again.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, runtime_id, settle};
use crate::domain::Provisioner;

/// See the [module](self).
pub struct Tombstone;

impl Step<Provisioner> for Tombstone {
    fn name(&self) -> &'static str {
        "Tombstone"
    }

    fn component(&self) -> Component {
        Component::ProvisionerDb
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_deletion;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerDb, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let id = runtime_id(ctx)?;
    ctx.systems().runtimes.tombstone(id, ctx.now()).await?;
    Ok(ctx.done())
}
