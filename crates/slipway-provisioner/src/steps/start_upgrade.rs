//! Orders the new configuration of Kyma.
//!
//! **Why here:** behind the change of the cluster, if there was one: a new Kyma may need the new Kubernetes.
//!
//! **Why a repeat does no harm:** the order is rendered from what is stored, so the same order again is the
//! same version.
//!
//! **When we give up:** at once when nothing is installed that could be upgraded or the installer refuses
//! the order, and after twenty minutes of errors.

use slipway_engine::{Op, Step, StepCtx, StepError, StepResult};
use slipway_model::{Component, Reason};

use super::{Outcome, installer_problem, record, settle, start_installation::order};
use crate::{domain::Provisioner, installer::Standing};

/// See the [module](self).
pub struct StartUpgrade;

impl Step<Provisioner> for StartUpgrade {
    fn name(&self) -> &'static str {
        "Start_Upgrade"
    }

    fn component(&self) -> Component {
        Component::KymaInstaller
    }

    fn applies(&self, op: &Op<Provisioner>) -> bool {
        op.data.changes_kyma
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.installation_trigger;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::KymaInstaller, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let standing = systems.installer.standing(&systems, &record, None).await;
    if standing.map_err(|error| installer_problem(error, Reason::TriggerKymaInstall))? == Standing::Unknown {
        let message = "the installer does not know this cluster, so there is nothing to upgrade";
        return Ok(ctx.fail(StepError::new(Reason::TriggerKymaInstall, "Kyma is not installed", message)));
    }
    let version = order(ctx, &record).await?;
    Ok(ctx.done_with(move |data| data.installation = version))
}
