//! Deletes the agent's connection, so that it connects anew.
//!
//! **Why here:** behind the new configuration: the agent reads that only while it has no connection.
//!
//! **Why a repeat does no harm:** a new connection that a repeat deletes is made once more. The token it
//! used is spent then; the wait that follows draws another.
//!
//! **When we give up:** at once when the cluster has no agent, and after fifteen minutes of errors.

use serde_json::Value;
use slipway_engine::{Step, StepCtx, StepError, StepResult};
use slipway_kube::access::{Ask, Class, Exactly, resource::COMPASS_CONNECTIONS};
use slipway_model::{Component, Reason};

use super::{Outcome, settle};
use crate::{agent, domain::Provisioner, reach};

/// See the [module](self).
pub struct DropAgentConnection;

impl Step<Provisioner> for DropAgentConnection {
    fn name(&self) -> &'static str {
        "Drop_Agent_Connection"
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
    let api = reach::cluster(ctx).await?;
    let dropped = match api.find::<Value>(Ask::get(&COMPASS_CONNECTIONS, "", agent::CONNECTION)).await {
        Ok(None) => Ok(()),
        Ok(Some(connection)) => {
            let only = Exactly::of(&connection);
            api.tell(Ask::delete(&COMPASS_CONNECTIONS, "", agent::CONNECTION, &only)).await
        }
        Err(error) => Err(error),
    };
    match dropped {
        Ok(()) => Ok(ctx.done()),
        Err(error) if error.class == Class::NoKind => {
            let message = "the cluster does not know connections: no agent is installed there";
            let error = StepError::new(Reason::AgentConnection, "there is no agent in the cluster", message);
            Ok(ctx.fail(error.blamed_on(Component::CompassConnection)))
        }
        Err(error) => Err(error.into()),
    }
}
