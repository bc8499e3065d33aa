//! Tells the Director that the runtime is connected.
//!
//! **Why here:** only once the agent has said so.
//!
//! **Why a repeat does no harm:** the same condition again is not even written.
//!
//! **When we give up:** at once when the Director refuses, and after fifteen minutes of errors. Without a
//! Director, or without agents, there is nothing to do.

use slipway_clients::director::Condition;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, record, settle};
use crate::domain::Provisioner;

/// See the [module](self).
pub struct MarkConnected;

impl Step<Provisioner> for MarkConnected {
    fn name(&self) -> &'static str {
        "Mark_Connected"
    }

    fn component(&self) -> Component {
        Component::CompassDirector
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.agent_connection;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::CompassDirector, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let (Some(director), Some(id), true) = (&systems.director, &record.director_id, systems.has_agent) else {
        return Ok(ctx.done());
    };
    director.amend(record.tenant.as_str(), id, Some(Condition::Connected), &[]).await?;
    Ok(ctx.done())
}
