//! Credentials of registry caches that nobody uses any more go from the garden.

use slipway_kube::{
    access::{self, Ask, resource::SECRETS},
    conditions::{Reason, Status, Type},
};
use slipway_model::ports::BoxFuture;

use super::registry_caches::PAUSE;
use crate::{
    observe::Observation,
    outcome::{Outcome, Said},
    pass::Pass,
    registry_secrets::surplus,
    runtime::Step,
};

/// Removes them.
pub struct RegistryCacheCleanup;

impl Step for RegistryCacheCleanup {
    fn applies(&self, seen: &Observation) -> bool {
        seen.memory.caches_due.is_some() && !seen.registry.known.is_empty()
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let (memory, present) = (&pass.seen.memory, &pass.seen.runtime.spec.image_registry_cache);
            // Gardener is done with exactly what the Runtime says, and that is what the cluster asks for: nothing
            // else is referred to any more, and nothing else is about to be.
            if memory.caches_unsettled || memory.caches_wanted.as_ref() != Some(present) {
                return Outcome::Done;
            }
            let names = surplus(&pass.shared.registry_secrets.of(pass.seen.name()), present);
            if let Err(error) = remove(pass, &names).await {
                let message = format!("Unused credentials of registry caches cannot be removed from Gardener: {error}");
                let (of, reason) = (Type::RegistryCacheConfigured, Reason::RegistryCacheGardenClusterCleanupFailed);
                pass.report.say(Said::new(of, Status::False, reason, message));
                let due = pass.shared.clock.monotonic() + PAUSE;
                pass.remember(|memory| memory.caches_due = Some(due));
            }
            Outcome::Done
        })
    }
}

pub(super) async fn remove(pass: &Pass, names: &[String]) -> Result<(), access::Error> {
    for name in names {
        pass.shared.garden.tell(Ask::delete(&SECRETS, &pass.shared.settings.garden_namespace, name)).await?;
        pass.shared.registry_secrets.forget(pass.seen.name(), name);
    }
    Ok(())
}
