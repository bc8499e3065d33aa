//! Waits until the agent is connected, with a connection younger than the operation.
//!
//! **Why here:** the last thing that must be true before a runtime is of use.
//!
//! **Why a repeat does no harm:** it reads. When the agent says that its token was of no use, it gets
//! another one; it would never ask by itself.
//!
//! **When we give up:** after fifteen minutes, with the agent's own words if it left any. What was seen
//! is stored for whoever asks about the runtime.

use serde_json::Value;
use slipway_engine::{Step, StepCtx, StepError, StepResult};
use slipway_kube::access::{Access, Ask, resource::COMPASS_CONNECTIONS};
use slipway_model::{
    Component, Reason,
    runtime_record::{AgentState, RuntimeRecord},
    time::{mins, secs},
};

use super::{Outcome, Problem, configure_agent, note, record, settle, wait};
use crate::{
    agent::{self, Seen},
    domain::{AgentToken, Provisioner},
    reach,
};

/// See the [module](self).
pub struct WaitForAgent;

impl Step<Provisioner> for WaitForAgent {
    fn name(&self) -> &'static str {
        "Wait_For_Agent"
    }

    fn component(&self) -> Component {
        Component::ClusterK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.agent_connection;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ClusterK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    if !systems.has_agent || systems.director.is_none() {
        return Ok(ctx.done());
    }
    let record = record(ctx).await?;
    let api = reach::cluster(ctx).await?;
    // Without the kind there is no agent yet; it brings its kind along.
    let connection: Option<Value> = api.find_if_served(Ask::get(&COMPASS_CONNECTIONS, "", agent::CONNECTION)).await?;
    let seen = agent::seen(connection.as_ref());
    let state = AgentState::observed(seen.state, seen.errors.iter().cloned(), ctx.now());
    systems.runtimes.set_agent(record.id, &state).await?;
    if seen.is_connected_since(ctx.op().created_at) {
        return Ok(ctx.done());
    }
    let deadline = systems.deadlines.agent_connection;
    if ctx.running_for() >= deadline {
        let error = StepError::new(Reason::AgentConnection, "the agent did not connect", complaint(&seen));
        return Ok(ctx.fail(error.blamed_on(Component::CompassConnection)));
    }
    if seen.needs_token {
        renew(ctx, &api, &record, &seen).await?;
        return wait(ctx, mins(2), deadline + mins(1), "waiting for the agent to connect with another token");
    }
    wait(ctx, secs(5), deadline + mins(1), "waiting for the agent to connect")
}

fn complaint(seen: &Seen) -> String {
    match seen.errors.as_slice() {
        [] => "the agent has not connected in time".to_owned(),
        errors => format!("the agent has not connected in time, {}", errors.join(", ")),
    }
}

/// Another token in the place of the one that was of no use.
async fn renew(
    ctx: &mut StepCtx<Provisioner>,
    api: &Access,
    record: &RuntimeRecord,
    seen: &Seen,
) -> Result<(), Problem> {
    let systems = ctx.systems();
    let (Some(director), Some(id)) = (&systems.director, &record.director_id) else { return Ok(()) };
    let failed = StepError::new(Reason::AgentConnection, "the agent did not connect", complaint(seen));
    note(ctx, &failed, Component::CompassConnection);
    let drawn = director.one_time_token(record.tenant.as_str(), id).await?;
    let token = AgentToken { token: drawn.token, connector_url: drawn.connector_url };
    configure_agent::write(api, record, &token).await
}
