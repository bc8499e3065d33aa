//! Writes the agent's configuration, with its one-time token, into the cluster.
//!
//! **Why here:** the token lives in the memory of this stage and nowhere else.
//!
//! **Why a repeat does no harm:** Secrets are applied as a whole; a stage that begins anew brings a new
//! token, and the agent takes the one it finds.
//!
//! **When we give up:** at once when the cluster refuses, and after fifteen minutes of errors.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::access::{
    Access, Ask,
    resource::{NAMESPACES, SECRETS},
};
use slipway_model::{Component, runtime_record::RuntimeRecord};

use super::{Outcome, Problem, record, settle};
use crate::{
    agent,
    domain::{AgentToken, Provisioner, Systems},
    reach,
};

/// See the [module](self).
pub struct ConfigureAgent;

impl Step<Provisioner> for ConfigureAgent {
    fn name(&self) -> &'static str {
        "Configure_Agent"
    }

    fn component(&self) -> Component {
        Component::ClusterK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.agent_configuration;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ClusterK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let record = record(ctx).await?;
    let token = ctx.memory().get::<AgentToken>();
    let Some(token) = token.map(|it| AgentToken { token: it.token.clone(), connector_url: it.connector_url.clone() })
    else {
        return Ok(ctx.done());
    };
    let api = reach::cluster(ctx).await?;
    write(&api, &record, &token).await?;
    Ok(ctx.done())
}

/// Writes namespaces and Secrets, both of each.
pub(super) async fn write(api: &Access, record: &RuntimeRecord, token: &AgentToken) -> Result<(), Problem> {
    for name in agent::NAMESPACES {
        api.tell(Ask::apply(&NAMESPACES, "", name, Systems::FIELD_MANAGER, agent::namespace(name))).await?;
        let secret = agent::configuration(name, record, token);
        api.tell(Ask::apply(&SECRETS, name, agent::CONFIGURATION, Systems::FIELD_MANAGER, secret)).await?;
    }
    Ok(())
}
