//! Tells the Director that an operation failed.
//!
//! **Why here:** before the end, whatever it is; an operation that succeeded has nothing to report.
//!
//! **Why a repeat does no harm:** the same condition again is not even written.
//!
//! **When we give up:** after half a minute: the operation ends then all the same, and the ledger says that
//! the Director was not told.

use std::time::Duration;

use slipway_clients::{
    chain,
    director::{Condition, Error},
};
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{Component, OperationState, time::secs};

use super::record;
use crate::domain::Provisioner;

/// See the [module](self).
pub struct ReportFailure;

impl Step<Provisioner> for ReportFailure {
    fn name(&self) -> &'static str {
        "Report_Failure"
    }

    fn component(&self) -> Component {
        Component::CompassDirector
    }

    fn gives_up_after(&self) -> Duration {
        secs(30)
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        if ctx.ending().is_none_or(|ending| ending.state != OperationState::Failed) {
            return ctx.done();
        }
        let systems = ctx.systems();
        let Ok(record) = record(ctx).await else { return ctx.skip("the runtime cannot be read") };
        let (Some(director), Some(id)) = (&systems.director, &record.director_id) else { return ctx.done() };
        match director.amend(record.tenant.as_str(), id, Some(Condition::Failed), &[]).await {
            Ok(()) | Err(Error::NotFound | Error::Tenant(_)) => ctx.done(),
            Err(error) if error.is_temporary() => {
                let pause = ctx.failing_for().clamp(secs(1), secs(8));
                ctx.retry_without_fail(chain(&error), error.pause_or(pause))
            }
            Err(error) => ctx.skip(chain(&error)),
        }
    }
}
