//! One guarded run of a step.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
};

use futures::FutureExt;
use slipway_model::{
    Component, OperationType, Reason,
    time::{millis, secs, spell},
};

use crate::{
    context::{Interrupt, StepCtx},
    life::Life,
    outcome::{StepError, StepResult},
    process::Row,
    recording::CurrentRun,
    step::Domain,
};

/// How a run came to its end.
enum Ended {
    /// By itself, or by a panic.
    Returned(Result<StepResult, Box<dyn Any + Send>>),
    /// From inside: see [`StepCtx::interrupt`].
    Interrupted,
    /// It took too long.
    Overrun,
}

/// Runs a step: a panic fails it, an overrun is tried again, and none means that the lease is lost.
pub(crate) async fn attempt<D: Domain>(
    ctx: &mut StepCtx<D>,
    life: &Arc<Life<D>>,
    row: Row<D>,
    run: &Arc<CurrentRun>,
) -> Option<StepResult> {
    match guarded(ctx, life, row, run).await {
        Ended::Returned(Ok(result)) => Some(result),
        Ended::Returned(Err(panic)) => {
            let said = panic.downcast_ref::<&str>().map(ToString::to_string);
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            tracing::error!(operation = %ctx.op().id, step = row.step.name(), panic = said, "a step panicked");
            let error = StepError::new(Reason::KebInternal, "internal error", "recovered from panic");
            Some(ctx.fail(error.blamed_on(Component::Keb)))
        }
        Ended::Overrun => {
            let reason = format!("the step did not end within {}", spell(row.step.deadline()));
            // A step that hangs must not hold up a removal; elsewhere the operation's budget ends it.
            Some(match ctx.op().kind {
                OperationType::Deprovision => ctx.retry_without_fail(reason, secs(5)),
                _ => StepResult::Retry { after: secs(5), reason },
            })
        }
        Ended::Interrupted => match ctx.interrupt {
            Some(Interrupt::Conflict) => {
                let reason = "the operation is being changed by others".to_owned();
                Some(StepResult::Retry { after: secs(1), reason })
            }
            Some(Interrupt::LeaseLost) | None => None,
        },
    }
}

async fn guarded<D: Domain>(ctx: &mut StepCtx<D>, life: &Arc<Life<D>>, row: Row<D>, run: &Arc<CurrentRun>) -> Ended {
    let (interrupted, cancel, saving) = (ctx.interrupted.clone(), ctx.cancel.clone(), ctx.saving.clone());
    let clock = life.shared.clock.clone();
    let work = run.scope(AssertUnwindSafe(row.step.run(ctx)).catch_unwind());
    tokio::pin!(work);
    let mut deadline = clock.sleep(row.step.deadline());
    loop {
        tokio::select! {
            biased;
            result = &mut work => return Ended::Returned(result),
            () = interrupted.notified() => return Ended::Interrupted,
            () = &mut deadline => {
                if !saving.load(Ordering::Relaxed) {
                    cancel.cancel();
                    return Ended::Overrun;
                }
                // Its last write is under way, and nobody would know whether it took place.
                deadline = clock.sleep(millis(20));
            }
        }
    }
}
