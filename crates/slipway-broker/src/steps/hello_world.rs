//! Asks hello how to greet the instance.
//!
//! **Why here:** first of its stage; the steps behind it pass the greeting on.
//!
//! **Why a repeat does no harm:** the call only reads. After a restart the stage begins anew with
//! empty memory, and the greeting may have changed meanwhile: field and override are set together,
//! so they never tell two stories.
//!
//! **When we give up:** without a greeting there is nothing to pass on. A refusal fails the
//! operation at once; errors that may pass are tried again for five minutes, then it fails too.

use std::time::Duration;

use slipway_clients::hello;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::{
    Component,
    time::{mins, secs},
};

use super::hello_failed;
use crate::domain::{Broker, Overrides};

/// The override this step sets.
pub const OVERRIDE: &str = "greeting.text";

const RETRY_EVERY: Duration = secs(10);
const RETRY_FOR: Duration = mins(5);

/// See the [module](self).
pub struct HelloWorld;

impl Step<Broker> for HelloWorld {
    fn name(&self) -> &'static str {
        "Hello_World"
    }

    fn component(&self) -> Component {
        Component::Keb
    }

    async fn run(&self, ctx: &mut StepCtx<Broker>) -> StepResult {
        let hello: hello::Client = ctx.systems().outside.client();
        match hello.greeting(ctx.op().instance_id.as_str()).await {
            Ok(answer) => {
                let mut overrides = Overrides::default();
                overrides.set(OVERRIDE, answer.greeting.clone());
                ctx.memory().put(overrides);
                ctx.done_with(move |data| data.greeting = Some(answer.greeting.clone()))
            }
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
    use slipway_model::{OperationState, StepStatus};
    use slipway_sim::Fault;

    use super::*;
    use crate::trial::Trial;

    fn trial() -> Trial {
        Trial::of(&[row("greet", 1, &HelloWorld)])
    }

    #[tokio::test(start_paused = true)]
    async fn the_greeting_is_saved() {
        let end = trial().run().await;
        assert_eq!(end.state(), OperationState::Succeeded);
        assert_eq!(end.data().greeting.as_deref(), Some("Hello, shop!"));
    }

    #[tokio::test(start_paused = true)]
    async fn errors_that_pass_are_tried_again_after_the_pause_that_was_asked_for() {
        let trial = trial();
        trial.sim.hello.dial().next(Fault::Status(500));
        trial.sim.hello.dial().next(Fault::Busy { retry_after: 60 });
        let end = trial.run().await;
        assert_eq!(end.state(), OperationState::Succeeded);
        assert_eq!(end.step("Hello_World").attempts, 3);
        assert!(end.took() >= secs(60), "{:?}", end.took());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_fails_the_operation_at_once() {
        let trial = trial();
        trial.sim.hello.dial().next(Fault::Status(403));
        let end = trial.run().await;
        assert_eq!(end.state(), OperationState::Failed);
        assert_eq!(end.step("Hello_World").status, StepStatus::Failed);
        assert_eq!(end.error().message, "hello does not accept our credentials: status 403");
    }

    #[tokio::test(start_paused = true)]
    async fn after_five_minutes_of_errors_the_operation_fails_with_the_last_of_them() {
        let trial = trial();
        trial.sim.hello.dial().times(1000, Fault::Status(502));
        let end = trial.run().await;
        assert_eq!(end.state(), OperationState::Failed);
        assert_eq!(end.error().message, "hello is busy or broken: status 502");
        assert!(end.took() >= RETRY_FOR && end.took() < RETRY_FOR + 2 * RETRY_EVERY, "{:?}", end.took());
    }
}
