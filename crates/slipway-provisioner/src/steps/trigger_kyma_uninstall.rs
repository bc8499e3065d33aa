//! Has Kyma removed by who installed it; nobody waits for it.
//!
//! **Why here:** before the cluster goes, so that the installer does not go on with a cluster that is gone.
//!
//! **Why a repeat does no harm:** removing twice is one removal.
//!
//! **When we give up:** after five minutes of errors, or at once when the installer refuses: the cluster
//! goes anyway, and the step is on record as not completed.

use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{Component, time::secs};

use super::record;
use crate::{domain::Provisioner, resource};

/// See the [module](self).
pub struct TriggerKymaUninstall;

impl Step<Provisioner> for TriggerKymaUninstall {
    fn name(&self) -> &'static str {
        "Trigger_Kyma_Uninstall"
    }

    fn component(&self) -> Component {
        Component::KymaInstaller
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let systems = ctx.systems();
        let Ok(record) = record(ctx).await else {
            return ctx.retry_without_fail("the runtime cannot be read", secs(10));
        };
        // The installer goes by the id as well.
        if let Err(problem) = resource::look(&systems, &record).await {
            return problem.pass_over(ctx);
        }
        match systems.installer.remove(&systems, &record).await {
            Ok(()) => ctx.done(),
            Err(error) if error.is_temporary => ctx.retry_without_fail(error.message, error.pause.unwrap_or(secs(10))),
            Err(error) => ctx.skip(error.message),
        }
    }
}
