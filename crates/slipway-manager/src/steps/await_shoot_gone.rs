//! Waiting for the end of the Shoot, woken by the watch; a deletion that Gardener gave up is asked for again.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::{ports::BoxFuture, time::mins};

use crate::{
    decide::{self, errors},
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    runtime::Step,
    steps::await_shoot::ask_again,
};

/// Waits for the end of the Shoot.
pub struct AwaitShootGone;

impl Step for AwaitShootGone {
    fn applies(&self, _: &Observation) -> bool {
        true
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let foreign = pass.seen.foreign_owner().is_some();
            let Some(shoot) = pass.seen.shoot.clone().filter(|_| !foreign) else {
                let text = "Shoot is deleted";
                pass.report.say(Said::new(Type::Deprovisioned, Status::True, Reason::GardenerShootDeleted, text));
                return Outcome::Done;
            };
            let operation = shoot.status.as_ref().and_then(|status| status.last_operation.as_ref());
            let failed = operation.is_some_and(|it| it.operation_type == "Delete" && it.state == "Failed");
            if !failed {
                let text = "Shoot is being deleted";
                pass.report.say(Said::new(Type::Deprovisioned, Status::Unknown, Reason::GardenerShootDeleted, text));
                pass.remember(|memory| memory.failed_since = None);
                return Outcome::wait("the end of the Shoot", mins(5));
            }
            let now = pass.seen.now;
            pass.remember(|memory| memory.failed_since = Some(memory.failed_since.unwrap_or(now)));
            let text = format!("Shoot deletion failed: {}", errors::told(&shoot));
            pass.report.say(Said::new(Type::Deprovisioned, Status::False, Reason::GardenerErr, text));
            let count = decide::asked(&shoot, pass.seen.input_hash.as_deref());
            let since = pass.seen.memory.failed_since.unwrap_or(now);
            let left = errors::pause(count).saturating_sub(now.saturating_sub(since));
            if count >= errors::ATTEMPTS {
                return Outcome::wait("a person: Gardener gave the deletion up", mins(30));
            }
            if !left.is_zero() {
                return Outcome::wait("the time for another attempt", left);
            }
            match ask_again(pass, &shoot, count).await {
                Ok(()) => Outcome::wait("Gardener's next attempt", mins(5)),
                Err(error) => Outcome::of_error(
                    error,
                    Type::Deprovisioned,
                    Reason::GardenerErr,
                    "Another attempt of Gardener cannot be asked for",
                ),
            }
        })
    }
}
