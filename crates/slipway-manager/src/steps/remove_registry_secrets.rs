//! All credentials of registry caches go after the Shoot, also where caches were switched off in the meantime.

use slipway_kube::conditions::{Reason, Type};
use slipway_model::ports::BoxFuture;

use super::registry_cache_cleanup::remove;
use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step};

/// Removes them.
pub struct RemoveRegistrySecrets;

impl Step for RemoveRegistrySecrets {
    fn applies(&self, seen: &Observation) -> bool {
        !seen.registry.known.is_empty()
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let names: Vec<String> = pass.seen.registry.known.keys().cloned().collect();
            match remove(pass, &names).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::of_error(
                    error,
                    Type::Deprovisioned,
                    Reason::GardenerErr,
                    "Credentials of registry caches cannot be removed from Gardener",
                ),
            }
        })
    }
}
