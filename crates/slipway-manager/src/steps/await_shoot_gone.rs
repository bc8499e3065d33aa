//! Waiting for the end of the Shoot, woken by the watch; a deletion that Gardener gave up is asked for again.

use slipway_kube::conditions::{Reason, Status, Type};
use slipway_model::time::mins;

use crate::{
    decide::{self, errors},
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
    steps::await_shoot::ask_again,
};

pub(crate) struct AwaitShootGone;

impl Step for AwaitShootGone {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        let foreign = pass.seen.shoot.as_ref().and_then(|_| pass.seen.foreign());
        let Some(shoot) = pass.seen.shoot.clone().filter(|_| foreign.is_none()) else {
            let text = foreign.unwrap_or_else(|| "Shoot is deleted".to_owned());
            pass.report.set(ConditionUpdate::new(
                Type::Deprovisioned,
                Status::True,
                Reason::GardenerShootDeleted,
                text,
            ));
            return Outcome::Done;
        };
        let operation = shoot.status.as_ref().and_then(|status| status.last_operation.as_ref());
        let failed = operation.is_some_and(|it| it.operation_type == "Delete" && it.state == "Failed");
        if !failed {
            let text = "Shoot is being deleted";
            pass.report.set(ConditionUpdate::new(
                Type::Deprovisioned,
                Status::Unknown,
                Reason::GardenerShootDeleted,
                text,
            ));
            pass.remember(|memory| memory.troubles.failed.end());
            return Outcome::wait("the end of the Shoot", mins(5));
        }
        let now = pass.seen.now;
        pass.remember(|memory| memory.troubles.failed.note(true, now));
        let text = format!("Shoot deletion failed: {}", errors::describe(&shoot));
        pass.report.set(ConditionUpdate::new(Type::Deprovisioned, Status::False, Reason::GardenerErr, text));
        let count = decide::count_attempts(&shoot, pass.seen.input_hash.as_deref());
        let left = errors::pause(count).saturating_sub(pass.seen.memory.troubles.failed.lasts(now));
        if count >= errors::ATTEMPTS {
            return Outcome::wait("a person: Gardener gave the deletion up", mins(30));
        }
        if !left.is_zero() {
            return Outcome::wait("the time for another attempt", left);
        }
        match ask_again(pass, &shoot, count).await {
            Ok(()) => Outcome::wait("Gardener's next attempt", mins(5)),
            Err(error) => Outcome::from_error(
                error,
                Type::Deprovisioned,
                Reason::GardenerErr,
                "Another attempt of Gardener cannot be asked for",
            ),
        }
    }
}
