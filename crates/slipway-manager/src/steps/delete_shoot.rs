//! The Shoot is confirmed for deletion and deleted; one that is going already is left alone.
//!
//! The confirmation is a merge patch of one annotation: nothing else of the Shoot changes hands. A Shoot of
//! another Runtime is none of our business and stays. Where too many deletions came at once, a person is asked.

use serde_json::json;
use slipway_kube::{
    access::{self, Ask, Exactly, Priority, resource::SHOOTS},
    annotations,
    conditions::{Reason, Status, Type},
};
use slipway_model::time::{mins, secs};

use crate::{
    decide::brake::Brake,
    outcome::{ConditionUpdate, Outcome},
    owner::Owner,
    pass::Pass,
    runtime::Step,
    steps::find_shoot,
};

pub(crate) struct DeleteShoot;

impl Step for DeleteShoot {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        let name = pass.seen.runtime.spec.shoot.name.clone();
        // The cache may not have heard of a Shoot made a moment ago; leaving it behind would cost money for ever.
        let is_cached = pass.seen.shoot.is_some();
        if let Err(outcome) = find_shoot::find(pass, Type::Deprovisioned).await {
            return outcome;
        }
        let Some(shoot) = pass.seen.shoot.clone() else { return Outcome::Done };
        match pass.seen.owner() {
            Some(Owner::Us | Owner::Unmarked) | None => {}
            // Nobody else would look after it.
            Some(Owner::Other { why, is_namesake: true }) => {
                let (of, reason) = (Type::Deprovisioned, Reason::GardenerErr);
                return Outcome::Fail { condition: ConditionUpdate::new(of, Status::False, reason, why) };
            }
            Some(Owner::Other { why, is_namesake: false }) => {
                tracing::warn!(why, "the Shoot is not ours and stays");
                return Outcome::Done;
            }
        }
        let deleted = |status, text: String| {
            ConditionUpdate::new(Type::Deprovisioned, status, Reason::GardenerShootDeleted, text)
        };
        // No event tells of the end of what the cache has not heard of, or has heard the end of already.
        let at_latest = if is_cached { mins(5) } else { secs(10) };
        if shoot.metadata.deletion_timestamp.is_some() {
            if is_cached {
                return Outcome::Done;
            }
            pass.report.set(deleted(Status::Unknown, "Shoot is being deleted".to_owned()));
            return Outcome::wait("the end of the Shoot", at_latest);
        }
        if pass.seen.deletion_held {
            pass.report.set(deleted(Status::Unknown, Brake::message(pass.shared.settings.brake_limit)));
            return Outcome::wait("a person who confirms the deletion", mins(5));
        }
        match delete(pass, &name, &Exactly::this(&shoot.metadata)).await {
            Ok(ShootEnd::Coming) => {
                pass.report.set(deleted(Status::Unknown, "Shoot is being deleted".to_owned()));
                Outcome::wait("the end of the Shoot", at_latest)
            }
            Ok(ShootEnd::Past) => {
                pass.seen.shoot = None;
                Outcome::Done
            }
            Err(error) => {
                Outcome::from_error(error, Type::Deprovisioned, Reason::GardenerErr, "Gardener API delete error")
            }
        }
    }
}

/// The end of a Shoot.
enum ShootEnd {
    /// It is asked for.
    Coming,
    /// It is gone.
    Past,
}

async fn delete(pass: &Pass, name: &str, only: &Exactly) -> Result<ShootEnd, access::Error> {
    let (garden, namespace) = (&pass.shared.garden, &pass.shared.settings.garden_namespace);
    let confirmation = json!({"metadata": {"annotations": {annotations::CONFIRM_DELETION: "true"}}});
    let confirm = Ask::merge(&SHOOTS, namespace, name, only, confirmation).priority(Priority::Deletion);
    let confirmed = garden.tell(confirm).await;
    match confirmed {
        Err(error) if error.is_not_found() => return Ok(ShootEnd::Past),
        other => other?,
    }
    let ask = Ask::delete(&SHOOTS, namespace, name, only).priority(Priority::Deletion);
    garden.tell(ask).await.map(|()| ShootEnd::Coming)
}
