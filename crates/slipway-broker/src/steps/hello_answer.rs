//! Waits until somebody has read the greeting.
//!
//! **Why here:** a stage of its own behind the report it asks about, so that a restart during the
//! wait does not greet again.
//!
//! **Why a repeat does no harm:** the call only reads.
//!
//! **When we give up:** after an hour of waiting, counted from the first look, the operation fails;
//! so it does after five minutes of errors, and at once when hello refuses to tell. If the report
//! was given up before, there is nothing to wait for.

use std::time::Duration;

use slipway_clients::hello;
use slipway_engine::{Step, StepCtx, StepError, StepResult};
use slipway_model::{
    OperationId, Reason, WaitKey,
    time::{hours, mins, secs},
};

use super::hello_failed;
use crate::domain::Broker;

/// The safety net; whoever sees the greeting being read wakes [`wait_key`] and ends the wait early.
const LOOK_EVERY: Duration = secs(30);
const WAIT_FOR: Duration = hours(1);
const RETRY_EVERY: Duration = secs(10);
const RETRY_FOR: Duration = mins(5);

/// See the [module](self).
pub struct HelloAnswer;

/// What an operation in this step waits on.
pub fn wait_key(id: OperationId) -> WaitKey {
    format!("hello/{id}").parse().expect("a UUID fits a wait key")
}

impl Step<Broker> for HelloAnswer {
    fn name(&self) -> &'static str {
        "Hello_Answer"
    }

    async fn run(&self, ctx: &mut StepCtx<Broker>) -> StepResult {
        let (hello, id) = (ctx.systems().outside.client::<hello::Client>(), ctx.op().id);
        match hello.find_report(id).await {
            Ok(report) if report.read => ctx.done(),
            Ok(_) => {
                let (message, details) = ("nobody has read the greeting", "the greeting was not read within an hour");
                let timeout = StepError::new(Reason::KebTimeout, message, details);
                ctx.wait_for(
                    Some(wait_key(id)),
                    LOOK_EVERY,
                    WAIT_FOR,
                    "waiting for somebody to read the greeting",
                    timeout,
                )
            }
            Err(error) if error.is_not_found() => ctx.skip("there is no report to wait for"),
            Err(error) if error.is_temporary() => {
                ctx.retry(hello_failed(&error), error.pause_or(RETRY_EVERY), RETRY_FOR)
            }
            Err(error) => ctx.fail(hello_failed(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_engine::row;
    use slipway_model::OperationState;
    use slipway_sim::systems::hello::Reader;

    use super::*;
    use crate::{
        steps::{HelloReport, HelloWorld},
        trial::Trial,
    };

    fn trial() -> Trial {
        Trial::of(&[row("greet", 1, &HelloWorld), row("greet", 1, &HelloReport), row("answer", 1, &HelloAnswer)])
    }

    #[tokio::test(start_paused = true)]
    async fn a_greeting_that_is_read_ends_the_wait_at_once() {
        let trial = trial();
        trial.sim.hello.read_by(Reader::Person);
        let (sim, mut end) = (trial.sim.clone(), trial.start().await);
        end.until_step("Hello_Answer").await;
        assert!(sim.hello.read(&end.id().to_string()));
        end.wake(wait_key(end.id()), "the greeting was read").await;
        let end = end.end().await;
        assert_eq!(end.state(), OperationState::Succeeded);
        assert!(end.took() < LOOK_EVERY, "{:?}", end.took());
    }

    #[tokio::test(start_paused = true)]
    async fn without_news_the_timer_looks_again() {
        let end = trial().run().await;
        assert_eq!(end.state(), OperationState::Succeeded);
        assert_eq!(end.step("Hello_Answer").attempts, 2);
        assert!(end.took() >= LOOK_EVERY, "{:?}", end.took());
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_hour_without_a_reader_the_operation_fails_and_says_so() {
        let trial = trial();
        trial.sim.hello.read_by(Reader::Person);
        let end = trial.run().await;
        assert_eq!(end.state(), OperationState::Failed);
        assert_eq!(end.error().message, "the greeting was not read within an hour");
        assert_eq!(end.error().reason, Reason::KebTimeout);
        assert!(end.took() >= WAIT_FOR && end.took() < WAIT_FOR + LOOK_EVERY, "{:?}", end.took());
    }
}
