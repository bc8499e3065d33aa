//! Tells hello under which key its greeting was passed on.
//!
//! **Why here:** behind `Hello_World` in the same stage, whose memory holds the override. Another
//! stage could not see it.
//!
//! **Why a repeat does no harm:** the note has the operation's id, and the same note again changes
//! nothing.
//!
//! **When we give up:** the note is a courtesy. Errors that may pass are tried again for two
//! minutes; then, and after a refusal, the step is skipped and the operation goes on.

use std::time::Duration;

use slipway_clients::{chain, hello};
use slipway_engine::{Step, StepCtx, StepError, StepResult};
use slipway_model::time::{mins, secs};

use crate::domain::{Broker, Overrides};

const RETRY_EVERY: Duration = secs(10);

/// See the [module](self).
pub struct HelloReport;

impl Step<Broker> for HelloReport {
    fn name(&self) -> &'static str {
        "Hello_Report"
    }

    fn gives_up_after(&self) -> Duration {
        mins(2)
    }

    async fn run(&self, ctx: &mut StepCtx<Broker>) -> StepResult {
        let Some(key) = ctx.memory().get::<Overrides>().and_then(|all| all.keys().next()).map(str::to_owned) else {
            return ctx.fail(StepError::internal("no step before this one has set an override"));
        };
        let hello: hello::Client = ctx.systems().outside.client();
        match hello.report(ctx.op().id, &key).await {
            Ok(()) => ctx.done(),
            Err(error) if error.is_temporary() => ctx.retry_without_fail(chain(&error), error.pause_or(RETRY_EVERY)),
            Err(error) => ctx.skip(chain(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_engine::row;
    use slipway_model::OperationState;
    use slipway_sim::Fault;

    use super::*;
    use crate::{steps::HelloWorld, trial::Trial};

    #[tokio::test(start_paused = true)]
    async fn the_key_is_reported_and_the_value_is_not() {
        let trial = Trial::of(&[row("greet", 1, &HelloWorld), row("greet", 1, &HelloReport)]);
        let sim = trial.sim.clone();
        assert_eq!(trial.run().await.state(), OperationState::Succeeded);
        let [report] = &sim.hello.reports()[..] else { panic!("one report") };
        assert_eq!((report.override_key.as_str(), report.writes), ("greeting.text", 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_that_cannot_be_made_is_skipped_and_on_record() {
        let trial = Trial::of(&[row("greet", 1, &HelloWorld), row("greet", 1, &HelloReport)]);
        trial.sim.hello.dial().next(Fault::Delay(secs(0)));
        trial.sim.hello.dial().times(1000, Fault::Status(503));
        let end = trial.run().await;
        assert_eq!(end.state(), OperationState::Succeeded);
        assert_eq!(end.operation.fields.skipped_steps, ["Hello_Report"]);
        assert_eq!(
            end.step("Hello_Report").reason.as_deref(),
            Some("given up after 2m: hello is busy or broken: status 503")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn memory_of_another_stage_is_not_seen() {
        let end = Trial::of(&[row("greet", 1, &HelloWorld), row("other", 1, &HelloReport)]).run().await;
        assert_eq!(end.error().message, "no step before this one has set an override");
    }
}
