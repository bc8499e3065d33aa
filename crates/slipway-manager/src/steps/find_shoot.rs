//! Before a Shoot is made the garden is asked whether there is one: the cache may be behind, and what is applied under the
//! name of another's Shoot would change it.

use slipway_kube::{
    Shoot,
    access::{Ask, Priority, resource::SHOOTS},
    conditions::{Reason, Type},
};

use crate::{
    decide::{self, Apply},
    observe::Observation,
    outcome::Outcome,
    pass::Pass,
    runtime::Step,
};

pub(crate) struct FindShoot;

impl Step for FindShoot {
    fn applies(&self, seen: &Observation) -> bool {
        decide::apply(seen) == Apply::Create
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        if let Err(outcome) = find(pass, Type::Provisioned).await {
            return outcome;
        }
        pass.apply = decide::apply(&pass.seen);
        Outcome::Done
    }
}

/// Asks for the Shoot, unless it is known.
pub(super) async fn find(pass: &mut Pass, of: Type) -> Result<(), Outcome> {
    if pass.seen.shoot.is_some() {
        return Ok(());
    }
    let priority = if pass.seen.is_deleting() { Priority::Deletion } else { Priority::Change };
    let (namespace, name) = (&pass.shared.settings.garden_namespace, &pass.seen.runtime.spec.shoot.name);
    let found: Result<Option<Shoot>, _> =
        pass.shared.garden.find(Ask::get(&SHOOTS, namespace, name).priority(priority)).await;
    match found {
        Ok(found) => {
            pass.seen.shoot = found.map(super::slim);
            Ok(())
        }
        Err(error) => Err(Outcome::from_error(error, of, Reason::GardenerErr, "Gardener API read error")),
    }
}
