//! Waiting for Gardener, woken by the watch of Shoots.
//!
//! Where Gardener has given up although another attempt may help, it is asked for one: by one annotation, ever
//! more slowly, a bounded number of times for one input. The count stands at the Shoot and survives us.

use serde_json::json;
use slipway_kube::{
    Shoot,
    access::{Ask, Exactly, resource::SHOOTS},
    annotations,
    conditions::{Reason, Status, Type},
};
use slipway_model::time::mins;

use crate::{
    decide::{self, ShootVerdict, errors},
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
    skr,
    steps::ensure_gardener_cluster,
};

pub(crate) struct AwaitShoot;

/// A back-stop; news come by watch.
const AT_LATEST: std::time::Duration = mins(5);

impl Step for AwaitShoot {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        let Some(shoot) = pass.seen.shoot.clone() else {
            return Outcome::wait("the Shoot to appear", mins(1));
        };
        note_times(pass, &shoot);
        let unknown = |reason, text: &str| ConditionUpdate::new(Type::Provisioned, Status::Unknown, reason, text);
        match decide::judge(&pass.seen, &shoot) {
            ShootVerdict::Succeeded { created } => {
                let now = pass.shared.clock.monotonic();
                let told = pass.seen.status().and_then(|status| status.aligned_shoot_generation);
                pass.remember(|memory| {
                    memory.alignment.note_settled(now);
                    memory.shoot.note_settled(shoot.metadata.generation, told);
                });
                let (reason, text) = if created {
                    (Reason::ShootCreationCompleted, "Shoot creation completed")
                } else {
                    (Reason::ConfigurationCompleted, "Shoot update completed")
                };
                let text = with_notes(pass, reason, text);
                pass.report.set(ConditionUpdate::new(Type::Provisioned, Status::True, reason, text));
                Outcome::Done
            }
            ShootVerdict::InProgress { creating: true } => {
                order_early(pass, &shoot).await;
                skr::shake_hands(pass).await;
                pass.report.set(unknown(Reason::Pending, "Shoot creation in progress"));
                Outcome::wait("Gardener creating the Shoot", AT_LATEST)
            }
            ShootVerdict::InProgress { creating: false } => {
                skr::shake_hands(pass).await;
                let mut text = "Shoot update is in progress".to_owned();
                if let Some(path) = pass.seen.memory.shoot.path_put_back() {
                    text = format!("{text}: somebody else changed {path}, it is put back as the Runtime has it");
                }
                pass.report.set(unknown(Reason::Processing, &text));
                Outcome::wait("Gardener updating the Shoot", AT_LATEST)
            }
            ShootVerdict::AskLater { count, left } => {
                let text = format!("Gardener gave up, attempt {} follows: {}", count + 1, errors::describe(&shoot));
                pass.report.set(unknown(Reason::Pending, &text));
                Outcome::wait("the time for another attempt", left)
            }
            ShootVerdict::AskAgain { count } => {
                let text =
                    format!("Gardener gave up, attempt {} was asked for: {}", count + 1, errors::describe(&shoot));
                pass.report.set(unknown(Reason::Pending, &text));
                match ask_again(pass, &shoot, count).await {
                    Ok(()) => Outcome::wait("Gardener's next attempt", AT_LATEST),
                    Err(error) => Outcome::from_error_with(
                        error,
                        Type::Provisioned,
                        Reason::Pending,
                        Status::Unknown,
                        "Another attempt of Gardener cannot be asked for",
                    ),
                }
            }
            ShootVerdict::Failed { creating, message } => {
                let (reason, what) = if creating {
                    (Reason::CreationErr, "Shoot creation failed")
                } else {
                    (Reason::ProcessingErr, "Shoot update failed")
                };
                let message = format!("{what}: {message}");
                Outcome::Fail { condition: ConditionUpdate::new(Type::Provisioned, Status::False, reason, message) }
            }
        }
    }
}

/// The API of a new cluster is there minutes before Gardener is done: its kubeconfig is ordered then, so that it
/// is not waited for at the end. If it cannot be ordered now it is in its turn.
async fn order_early(pass: &mut Pass, shoot: &Shoot) {
    let has_address = shoot.status.as_ref().is_some_and(|status| !status.advertised_addresses.is_empty());
    if has_address && pass.seen.cluster.is_none() {
        let _ = ensure_gardener_cluster::order(pass).await;
    }
}

/// What was asked for and not given is told as long as it is so. Who has not rendered it repeats what was said.
fn with_notes(pass: &Pass, reason: Reason, text: &str) -> String {
    match &pass.seen.memory.notes {
        Some(notes) if notes.is_empty() => text.to_owned(),
        Some(notes) => format!("{text}; not changed: {}", notes.join("; ")),
        None => {
            let said = pass.seen.condition(Type::Provisioned);
            let same = said.filter(|said| said.reason == reason.as_str() && said.message.starts_with(text));
            same.map_or_else(|| text.to_owned(), |said| said.message.clone())
        }
    }
}

/// Since when it is as it is.
fn note_times(pass: &mut Pass, shoot: &Shoot) {
    let now = pass.seen.now;
    let operation = shoot.status.as_ref().and_then(|status| status.last_operation.as_ref());
    let failed = operation.is_some_and(|operation| operation.state == "Failed");
    let seedless = operation.is_some_and(|operation| errors::says_no_seed(&operation.description));
    pass.remember(|memory| {
        memory.troubles.failed.note(failed, now);
        memory.troubles.seedless.note(seedless, now);
    });
}

/// Asks Gardener for another attempt, if nobody has.
pub(super) async fn ask_again(pass: &mut Pass, shoot: &Shoot, count: u32) -> Result<(), slipway_kube::access::Error> {
    let now = pass.shared.clock.monotonic();
    pass.remember(|memory| memory.troubles.failed.restart(now));
    if shoot.annotation(annotations::GARDENER_OPERATION).is_some() {
        return Ok(());
    }
    let hash = pass.seen.input_hash.as_deref().map(decide::shorten).unwrap_or_default();
    let change = json!({"metadata": {"annotations": {
        annotations::GARDENER_OPERATION: "retry",
        annotations::RETRIES: format!("{hash}:{}", count + 1),
    }}});
    let name = shoot.metadata.name.as_deref().unwrap_or_default();
    let (namespace, only) = (&pass.shared.settings.garden_namespace, Exactly::this(&shoot.metadata));
    pass.shared.garden.tell(Ask::merge(&SHOOTS, namespace, name, &only, change)).await
}
