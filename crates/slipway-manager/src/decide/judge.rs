//! How far Gardener is with a Shoot.
//!
//! A Shoot is done only if Gardener has observed the generation it has, has succeeded with it, and it carries
//! the input we applied. `Succeeded` alone is the success of the operation before.

use std::time::Duration;

use slipway_kube::{annotations, shoot::Shoot};
use slipway_model::time::mins;

use super::errors;
use crate::observe::Observation;

/// How long "no Seed matches" must stand until it is believed: Seeds come back.
const NO_SEED_HOLDS: Duration = mins(5);

/// How far Gardener is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShootVerdict {
    /// Done.
    Succeeded {
        /// By its first operation.
        created: bool,
    },
    /// Not done, and nothing is wrong.
    InProgress {
        /// In its first operation.
        creating: bool,
    },
    /// Gardener has given up, and another attempt may help: ask for it now.
    AskAgain {
        /// How often it was asked for already, for this input.
        count: u32,
    },
    /// The same, but not yet.
    AskLater {
        /// How often it was asked for already.
        count: u32,
        /// How long not yet.
        left: Duration,
    },
    /// Gardener has given up for good.
    Failed {
        /// In its first operation.
        creating: bool,
        /// What Gardener says.
        message: String,
    },
}

/// How far Gardener is with the Shoot of this observation.
pub(crate) fn judge(seen: &Observation, shoot: &Shoot) -> ShootVerdict {
    let Some(status) = &shoot.status else { return ShootVerdict::InProgress { creating: true } };
    let Some(operation) = &status.last_operation else { return ShootVerdict::InProgress { creating: true } };
    let creating = operation.operation_type == "Create";
    let in_progress = ShootVerdict::InProgress { creating };
    if errors::says_no_seed(&operation.description) && operation.state != "Succeeded" {
        if seen.memory.troubles.seedless.lasts(seen.now) >= NO_SEED_HOLDS {
            return ShootVerdict::Failed { creating, message: operation.description.clone() };
        }
        return in_progress;
    }
    let generation = shoot.metadata.generation.unwrap_or(0);
    if status.observed_generation < generation || generation < seen.memory.shoot.applied_generation() {
        return in_progress;
    }
    match operation.state.as_str() {
        "Succeeded" if operation.operation_type == "Delete" => in_progress,
        "Succeeded" if carries_our_input(seen, shoot) => ShootVerdict::Succeeded { created: creating },
        "Failed" => judge_failure(seen, shoot, creating),
        // Pending, Processing, Aborted, Error: Gardener goes on by itself. Words we do not know: so we hope.
        _ => in_progress,
    }
}

fn carries_our_input(seen: &Observation, shoot: &Shoot) -> bool {
    seen.is_suspended() || seen.input_hash.is_none() || shoot.input_hash() == seen.input_hash.as_deref()
}

fn judge_failure(seen: &Observation, shoot: &Shoot, creating: bool) -> ShootVerdict {
    let errors = shoot.status.as_ref().map(|status| status.last_errors.as_slice()).unwrap_or_default();
    let count = count_attempts(shoot, seen.input_hash.as_deref());
    if !errors::is_retryable(errors) || count >= errors::ATTEMPTS {
        let told = errors::describe(shoot);
        let message = if count >= errors::ATTEMPTS { format!("after {count} more attempts: {told}") } else { told };
        return ShootVerdict::Failed { creating, message };
    }
    let left = errors::pause(count).saturating_sub(seen.memory.troubles.failed.lasts(seen.now));
    if left.is_zero() { ShootVerdict::AskAgain { count } } else { ShootVerdict::AskLater { count, left } }
}

/// How often another attempt was asked for with this input. Kept at the Shoot, so that it survives us.
pub(crate) fn count_attempts(shoot: &Shoot, hash: Option<&str>) -> u32 {
    let Some((with, count)) = shoot.annotation(annotations::RETRIES).and_then(|text| text.rsplit_once(':')) else {
        return 0;
    };
    if Some(with) == hash.map(shorten) { count.parse().unwrap_or(0) } else { 0 }
}

/// Enough of a hash to tell inputs apart.
pub(crate) fn shorten(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}
