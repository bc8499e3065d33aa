//! Fetches the kubeconfig of the cluster into the memory of the stage.
//!
//! **Why here:** first in every stage that enters the cluster. The infrastructure manager rotates it, so it
//! is read at use and kept no longer than a stage; it is never stored.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** when the manager has written none in the time of the stage it is in; the shortest
//! of those is five minutes.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{domain::Provisioner, resource};

/// See the [module](self).
pub struct FetchKubeconfig;

impl Step<Provisioner> for FetchKubeconfig {
    fn name(&self) -> &'static str {
        "Fetch_Kubeconfig"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.bindings;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let runtime = resource::look_at(&systems, &record).await?;
    match resource::kubeconfig(&systems, &runtime).await? {
        Some(kubeconfig) => {
            ctx.memory().put(kubeconfig);
            Ok(ctx.done())
        }
        None => wait(ctx, secs(20), systems.deadlines.bindings, "waiting for the kubeconfig of the cluster"),
    }
}
