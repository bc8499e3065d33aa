//! Waits until Kyma is installed.
//!
//! **Why here:** provisioning succeeds only with both, cluster and Kyma.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after an hour, and at once when the installer reports an error that will not pass;
//! the failing components are the reason then.

use slipway_engine::{Op, Step, StepCtx, StepError, StepResult};
use slipway_model::{Component, Reason, time::secs};

use super::{Outcome, installer_problem, record, settle, wait};
use crate::{OperationKind, domain::Provisioner, installer::Standing};

/// See the [module](self).
pub struct WaitForInstallation;

impl Step<Provisioner> for WaitForInstallation {
    fn name(&self) -> &'static str {
        "Wait_For_Installation"
    }

    fn component(&self) -> Component {
        Component::KymaInstaller
    }

    /// An upgrade may be of the cluster alone.
    fn applies(&self, op: &Op<Provisioner>) -> bool {
        op.kind != OperationKind::Upgrade.engine_type() || op.data.changes_kyma
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.installation;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::KymaInstaller, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let standing = systems.installer.standing(&systems, &record, ctx.data().installation).await;
    let user = "Kyma cannot be installed";
    match standing.map_err(|error| installer_problem(error, Reason::CheckKymaInstallationState))? {
        Standing::Ready => Ok(ctx.done()),
        Standing::Working(sentence) => wait(ctx, secs(30), systems.deadlines.installation, sentence),
        Standing::Failed { components, message } => {
            let reason = match components.is_empty() {
                true => Reason::CheckKymaInstallationState,
                false => Reason::foreign(components.join(", ")),
            };
            Ok(ctx.fail(StepError::new(reason, user, message)))
        }
        Standing::Unknown => {
            let message = "the installer has forgotten this cluster";
            Ok(ctx.fail(StepError::new(Reason::CheckKymaInstallationState, user, message)))
        }
    }
}
