//! All credentials of registry caches go after the Shoot, also where caches were switched off in the meantime.

use serde::Deserialize;
use slipway_kube::{
    access::{Ask, Priority, resource::SECRETS},
    conditions::{Reason, Type},
    labels,
};
use slipway_model::ports::BoxFuture;

use super::registry_cache_cleanup::remove;
use crate::{
    observe::{Observation, SecretView},
    outcome::Outcome,
    pass::Pass,
    runtime::Step,
};

/// Removes them.
pub struct RemoveRegistrySecrets;

#[derive(Deserialize)]
struct Secrets {
    #[serde(default)]
    items: Vec<SecretView>,
}

impl Step for RemoveRegistrySecrets {
    fn applies(&self, seen: &Observation) -> bool {
        let caches = &seen.runtime.spec.image_registry_cache;
        !seen.registry.known.is_empty() || caches.iter().any(|cache| cache.config.secret_reference_name.is_some())
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let ours = format!("{}={},{}", labels::RUNTIME_ID, pass.seen.name(), labels::REGISTRY_CACHE_ID);
            let ask = Ask::list(&SECRETS, &pass.shared.settings.garden_namespace).with("labelSelector", ours);
            let found = pass.shared.garden.send_as::<Secrets>(ask.priority(Priority::Deletion)).await;
            let removed = match found {
                Ok(found) => {
                    let names = found.items.into_iter().filter_map(|secret| secret.metadata.name);
                    remove(pass, &names.collect::<Vec<_>>()).await
                }
                Err(error) => Err(error),
            };
            match removed {
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
