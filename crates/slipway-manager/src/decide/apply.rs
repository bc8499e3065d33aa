//! Is the Shoot written, and how.
//!
//! The hash of everything that feeds rendering decides, not the generation: a changed label or a changed
//! configuration raises no generation, and a generation raised for something else needs no write.

use std::time::Duration;

use slipway_kube::annotations;

use crate::{observe::Observation, outcome::ConditionUpdate, owner::Owner};

/// What becomes of the Shoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Apply {
    /// It is not there: render and apply.
    Create,
    /// It is there and differs: read, render and apply.
    Patch,
    /// It does not carry our marks yet, and is up to date by its own account: compare, and mark it.
    Adopt,
    /// Somebody has changed it since it was as it should be: read it, and put back what is ours.
    Compare,
    /// It is as it should be.
    Nothing,
    /// It was applied, and the cache has not heard of it yet.
    Echo,
    /// Somebody does not want it patched.
    Suspended,
    /// It is not ours; the sentence says whose.
    Foreign(String),
    /// Somebody deletes it; it cannot be written now.
    Terminating,
    /// Gardener has refused exactly this.
    Refused(ConditionUpdate),
}

/// What becomes of the Shoot.
pub(crate) fn apply(seen: &Observation) -> Apply {
    if let Some(why) = seen.foreign() {
        return Apply::Foreign(why);
    }
    let hash = seen.input_hash.as_deref();
    let refused = seen.memory.shoot.refusal(hash, seen.now).filter(|_| !seen.is_forced());
    let is_echo = seen.memory.shoot.is_echo(hash, seen.now);
    let Some(shoot) = &seen.shoot else {
        return match refused {
            Some(refused) => Apply::Refused(refused.clone()),
            None if is_echo => Apply::Echo,
            None => Apply::Create,
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
        if seen.owner() == Some(Owner::Unmarked) && !is_echo {
            return Apply::Adopt;
        }
        return if until_compared(seen) == Some(Duration::ZERO) { Apply::Compare } else { Apply::Nothing };
    }
    if let Some(refused) = refused {
        return Apply::Refused(refused.clone());
    }
    if is_echo {
        return Apply::Echo;
    }
    let applied = shoot.annotation(annotations::RUNTIME_GENERATION).and_then(|text| text.parse::<i64>().ok());
    match (shoot.input_hash(), applied) {
        (None, Some(generation)) if generation >= seen.generation() => Apply::Adopt,
        _ => Apply::Patch,
    }
}

/// How long until a Shoot that somebody else has changed is compared with what it should be; none if nobody has.
pub(crate) fn until_compared(seen: &Observation) -> Option<Duration> {
    let generation = seen.shoot.as_ref()?.metadata.generation?;
    let told = seen.status().and_then(|status| status.aligned_shoot_generation);
    seen.memory.shoot.until_compared(generation, told, seen.now)
}
