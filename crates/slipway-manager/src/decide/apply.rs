//! Is the Shoot written, and how.
//!
//! The hash of everything that feeds rendering decides, not the generation: a changed label or a changed
//! configuration raises no generation, and a generation raised for something else needs no write.

use std::time::Duration;

use slipway_kube::annotations;
use slipway_model::time::{mins, secs};

use crate::{observe::Observation, outcome::Said};

/// How long a cache may be behind a write of ours before we stop believing that it is only that.
const CACHE_LAG: Duration = secs(60);
/// How long what somebody else changes again after it was put back is left: two who disagree do not race.
const PUT_BACK_AGAIN: Duration = mins(10);
/// How long a refusal is believed. Somebody may have brought back what was missing in the garden.
const REFUSAL_HOLDS: Duration = mins(25);

/// What becomes of the Shoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apply {
    /// It is not there: render and apply.
    Create,
    /// It is there and differs: read, render and apply.
    Patch,
    /// It was made by the reference and is up to date by its own account: compare, and mark it.
    Adopt,
    /// Somebody has changed it since it was as it should be: read it, and put back what is ours.
    Compare,
    /// It is as it should be.
    Nothing,
    /// It was applied, and the cache has not heard of it yet.
    Echo,
    /// Somebody does not want it patched.
    Suspended,
    /// It belongs to another Runtime.
    Foreign(String),
    /// Somebody deletes it; it cannot be written now.
    Terminating,
    /// Gardener has refused exactly this.
    Refused(Said),
}

/// What becomes of the Shoot.
pub fn apply(seen: &Observation) -> Apply {
    if let Some(owner) = seen.foreign_owner() {
        return Apply::Foreign(owner.to_owned());
    }
    let hash = seen.input_hash.as_deref();
    let (memory, now) = (&seen.memory, seen.now);
    let refused = memory.refused.as_ref().filter(|refused| {
        Some(refused.hash.as_str()) == hash && now.saturating_sub(refused.at) < REFUSAL_HOLDS && !seen.is_forced()
    });
    let echo = memory
        .applied
        .as_ref()
        .is_some_and(|applied| Some(applied.hash.as_str()) == hash && now.saturating_sub(applied.at) < CACHE_LAG);
    let Some(shoot) = &seen.shoot else {
        return match (&seen.rival, refused) {
            (Some(rival), _) => Apply::Foreign(rival.clone()),
            (None, Some(refused)) => Apply::Refused(refused.said.clone()),
            (None, None) if echo => Apply::Echo,
            (None, None) => Apply::Create,
        };
    };
    if shoot.metadata.deletion_timestamp.is_some() {
        return Apply::Terminating;
    }
    if seen.is_suspended() {
        return Apply::Suspended;
    }
    if seen.is_forced() {
        return Apply::Patch;
    }
    if shoot.input_hash().is_some() && shoot.input_hash() == hash {
        return if until_compared(seen) == Some(Duration::ZERO) { Apply::Compare } else { Apply::Nothing };
    }
    if let Some(refused) = refused {
        return Apply::Refused(refused.said.clone());
    }
    if echo {
        return Apply::Echo;
    }
    let applied = shoot.annotation(annotations::RUNTIME_GENERATION).and_then(|text| text.parse::<i64>().ok());
    match (shoot.input_hash(), applied) {
        (None, Some(generation)) if generation >= seen.generation() => Apply::Adopt,
        _ => Apply::Patch,
    }
}

/// How long until a Shoot that somebody else has changed is compared with what it should be; none if nobody has.
///
/// Only one that was as it should be is watched for this. On the way there Gardener itself writes into it, and
/// whoever starts with thousands of finished ones believes them all instead of reading them all.
pub fn until_compared(seen: &Observation) -> Option<Duration> {
    let generation = seen.shoot.as_ref()?.metadata.generation?;
    seen.memory.aligned.filter(|aligned| generation > *aligned)?;
    let quiet = seen.memory.put_back_at.map_or(PUT_BACK_AGAIN, |at| seen.now.saturating_sub(at));
    Some(PUT_BACK_AGAIN.saturating_sub(quiet))
}
