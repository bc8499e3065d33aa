//! Waits until the changed cluster is ready again.
//!
//! **Why here:** behind the write of the change, whose generation it waits for.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after half an hour, and at once when Gardener has failed for good: what it says
//! about the change is the reason the client reads.

use slipway_engine::{Op, Step, StepCtx, StepResult};
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{
    OperationKind,
    domain::Provisioner,
    resource::{self, Progress},
};

/// See the [module](self).
pub struct WaitForShootUpgrade;

impl Step<Provisioner> for WaitForShootUpgrade {
    fn name(&self) -> &'static str {
        "Wait_For_Shoot_Upgrade"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    /// An upgrade of Kyma alone leaves the cluster as it is.
    fn applies(&self, op: &Op<Provisioner>) -> bool {
        op.kind != OperationKind::Upgrade.engine_type() || op.data.changes_cluster
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.shoot_upgrade;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let runtime = resource::look_at(&systems, &record).await?;
    match resource::progress(&runtime, ctx.data().generation, false) {
        Progress::Ready => Ok(ctx.done()),
        Progress::Failed(error) => Ok(ctx.fail(error)),
        Progress::Working(sentence) => wait(ctx, secs(20), systems.deadlines.shoot_upgrade, sentence),
    }
}
