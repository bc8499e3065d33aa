//! Writes down how the upgrade of Kyma ended.
//!
//! **Why here:** the last stage of an upgrade, and once more before its end, whatever that is: a failed
//! upgrade is what a roll-back needs to find.
//!
//! **Why a repeat does no harm:** a record that is closed stays as it is.
//!
//! **When we give up:** after five minutes of a database that is away. Before the end it is skipped then,
//! and the record stays open.

use slipway_engine::{Op, Step, StepCtx, StepResult};
use slipway_model::{Component, OperationState, runtime_record::KymaUpgradeState};

use super::{Outcome, settle};
use crate::domain::Provisioner;

/// See the [module](self).
pub struct CloseUpgradeRecord;

impl Step<Provisioner> for CloseUpgradeRecord {
    fn name(&self) -> &'static str {
        "Close_Upgrade_Record"
    }

    fn component(&self) -> Component {
        Component::ProvisionerDb
    }

    fn applies(&self, op: &Op<Provisioner>) -> bool {
        op.data.changes_kyma
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.upgrade_record;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerDb, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let state = match ctx.ending().map(|ending| ending.state) {
        None | Some(OperationState::Succeeded) => KymaUpgradeState::Succeeded,
        Some(_) => KymaUpgradeState::Failed,
    };
    ctx.systems().runtimes.kyma_upgrade_ended(ctx.op().id, state).await?;
    Ok(ctx.done())
}
