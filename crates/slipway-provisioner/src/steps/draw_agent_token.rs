//! Draws a one-time token for the agent from the Director, into the memory of the stage.
//!
//! **Why here:** right before it is written into the cluster: it is good once and for five minutes.
//!
//! **Why a repeat does no harm:** a token that nobody uses ends by itself.
//!
//! **When we give up:** at once when the Director does not know the runtime, and after fifteen minutes of
//! errors. Without a Director, or without agents, there is nothing to draw.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, record, settle};
use crate::domain::{AgentToken, Provisioner};

/// See the [module](self).
pub struct DrawAgentToken;

impl Step<Provisioner> for DrawAgentToken {
    fn name(&self) -> &'static str {
        "Draw_Agent_Token"
    }

    fn component(&self) -> Component {
        Component::CompassDirector
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.agent_configuration;
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
    let drawn = director.one_time_token(record.tenant.as_str(), id).await?;
    ctx.memory().put(AgentToken { token: drawn.token, connector_url: drawn.connector_url });
    Ok(ctx.done())
}
