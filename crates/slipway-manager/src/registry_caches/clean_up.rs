//! The end of a change of registry caches: Gardener is done with them, so their owner is told, and credentials that
//! nobody uses any more go from the garden. And the end of a Runtime: all its credentials go after the Shoot, also
//! where caches were switched off in the meantime.

use slipway_kube::{
    access,
    conditions::{Reason, Status, Type},
};

use super::{
    align::look,
    credentials::remove,
    memory::is_unsettled,
    secrets::{choose, find_surplus},
};
use crate::{
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
};

/// Tells the owner, and removes what nobody uses.
pub(crate) struct CleanUpCaches;

impl Step for CleanUpCaches {
    fn applies(&self, seen: &Observation) -> bool {
        let surplus = find_surplus(&seen.registry_caches.known, &seen.runtime.spec.image_registry_cache);
        is_unsettled(seen) || (seen.memory.registry_caches.is_on() && !surplus.is_empty())
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        // Nobody patches a Shoot that is suspended: it may name others than it should.
        let shoot = pass.seen.shoot.as_deref();
        if shoot.is_none_or(|shoot| shoot.input_hash() != pass.seen.input_hash.as_deref()) {
            return Outcome::Done;
        }
        let now = pass.shared.clock.monotonic();
        if is_unsettled(&pass.seen) && pass.seen.memory.registry_caches.may_look(now) {
            look(pass, true).await;
        }
        if let Err(error) = remove_unused(pass).await {
            let message = format!("Unused credentials of registry caches cannot be removed from Gardener: {error}");
            let (of, reason) = (Type::RegistryCacheConfigured, Reason::RegistryCacheGardenClusterCleanupFailed);
            pass.report.set(ConditionUpdate::new(of, Status::False, reason, message));
        }
        Outcome::Done
    }
}

/// Only where Gardener is done with exactly what the Runtime says, and that is what the cluster asks for: nothing else is
/// named any more, and nothing else is about to be.
async fn remove_unused(pass: &Pass) -> Result<(), access::Error> {
    let (memory, present) = (&pass.seen.memory.registry_caches, &pass.seen.runtime.spec.image_registry_cache);
    let known = pass.shared.registry_caches.secrets.of_runtime(pass.seen.name());
    let is_settled = memory.is_settled() && memory.wanted() == Some(present);
    if is_settled && choose(&known, present) == pass.seen.registry_caches.secrets {
        remove(pass, &find_surplus(&known, present)).await?;
    }
    Ok(())
}

/// Removes all credentials of a Runtime that goes.
pub(crate) struct RemoveCredentials;

impl Step for RemoveCredentials {
    fn applies(&self, seen: &Observation) -> bool {
        !seen.registry_caches.known.is_empty()
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        let names: Vec<String> = pass.seen.registry_caches.known.keys().cloned().collect();
        match remove(pass, &names).await {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::from_error(
                error,
                Type::Deprovisioned,
                Reason::GardenerErr,
                "Credentials of registry caches cannot be removed from Gardener",
            ),
        }
    }
}
