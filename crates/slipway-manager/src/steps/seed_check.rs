//! A control plane that must be in the region of its cluster needs a Seed there: asked before anything is made.
//!
//! Read from the cache of Seeds; where that is not filled (yet), by one list. Gives up with the regions that
//! have one, because that is what the person who chose the region needs to know.

use std::collections::BTreeSet;

use slipway_kube::{
    access::{Ask, resource::SEEDS},
    conditions::{Reason, Status, Type},
};

use crate::{
    decide::{self, Apply},
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
    seeds::Seed,
};

/// Asks for a Seed in the region.
pub(crate) struct SeedCheck;

impl Step for SeedCheck {
    fn applies(&self, seen: &Observation) -> bool {
        seen.runtime.spec.shoot.enforce_seed_location == Some(true) && decide::apply(seen) == Apply::Create
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        let shoot = &pass.seen.runtime.spec.shoot;
        let (provider, region) = (shoot.provider.provider_type.as_str(), shoot.region.as_str());
        let cache = &pass.shared.caches.seeds;
        let regions: BTreeSet<String> = if cache.is_synced() {
            let usable = cache.all().into_values().filter(|seed| seed.is_usable(provider));
            usable.map(|seed| seed.spec.provider.region.clone()).collect()
        } else {
            match pass.shared.garden.list::<Seed>(Ask::list(&SEEDS, "")).await {
                Ok(seeds) => {
                    let usable = seeds.into_iter().filter(|seed| seed.is_usable(provider));
                    usable.map(|seed| seed.spec.provider.region).collect()
                }
                Err(error) => {
                    return Outcome::from_error(
                        error,
                        Type::Provisioned,
                        Reason::GardenerErr,
                        "Seeds cannot be listed",
                    );
                }
            }
        };
        if regions.contains(region) {
            return Outcome::Done;
        }
        let known = regions.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "Seed not found: spec.shoot.enforceSeedLocation is set, but no seed of {provider} is in {region}; \
             regions with one: {}",
            if known.is_empty() { "none" } else { &known }
        );
        Outcome::Fail {
            condition: ConditionUpdate::new(Type::Provisioned, Status::False, Reason::SeedNotFound, message),
        }
    }
}
