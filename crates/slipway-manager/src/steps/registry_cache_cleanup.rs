//! The end of a change of registry caches: Gardener is done with them, so their owner is told, and credentials that
//! nobody uses any more go from the garden.

use slipway_kube::{
    access::{self, Ask, resource::SECRETS},
    conditions::{Reason, Status, Type},
};
use slipway_model::ports::BoxFuture;

use super::registry_caches::look;
use crate::{
    decide::caches::is_unsettled,
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    registry_secrets::{chosen, surplus},
    runtime::Step,
};

/// Tells it, and removes them.
pub struct RegistryCacheCleanup;

impl Step for RegistryCacheCleanup {
    fn applies(&self, seen: &Observation) -> bool {
        let caches = &seen.runtime.spec.image_registry_cache;
        is_unsettled(seen) || (seen.memory.caches_due.is_some() && !surplus(&seen.registry.known, caches).is_empty())
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            // Nobody patches a Shoot that is suspended: it may name others than it should.
            let shoot = pass.seen.shoot.as_deref();
            if shoot.is_none_or(|shoot| shoot.input_hash() != pass.seen.input_hash.as_deref()) {
                return Outcome::Done;
            }
            let now = pass.shared.clock.monotonic();
            if is_unsettled(&pass.seen) && now >= pass.seen.memory.caches_not_before {
                look(pass, true).await;
            }
            if let Err(error) = clean_up(pass).await {
                let message = format!("Unused credentials of registry caches cannot be removed from Gardener: {error}");
                let (of, reason) = (Type::RegistryCacheConfigured, Reason::RegistryCacheGardenClusterCleanupFailed);
                pass.report.say(Said::new(of, Status::False, reason, message));
            }
            Outcome::Done
        })
    }
}

/// Only where Gardener is done with exactly what the Runtime says, and that is what the cluster asks for: nothing else is
/// named any more, and nothing else is about to be.
async fn clean_up(pass: &Pass) -> Result<(), access::Error> {
    let (memory, present) = (&pass.seen.memory, &pass.seen.runtime.spec.image_registry_cache);
    let known = pass.shared.registry_secrets.of(pass.seen.name());
    let is_settled = !memory.caches_unsettled && memory.caches_wanted.as_ref() == Some(present);
    if is_settled && chosen(&known, present) == pass.seen.registry.secrets {
        remove(pass, &surplus(&known, present)).await?;
    }
    Ok(())
}

pub(super) async fn remove(pass: &Pass, names: &[String]) -> Result<(), access::Error> {
    for name in names {
        pass.shared.garden.tell(Ask::delete(&SECRETS, &pass.shared.settings.garden_namespace, name)).await?;
        pass.shared.registry_secrets.forget(pass.seen.name(), name);
    }
    Ok(())
}
