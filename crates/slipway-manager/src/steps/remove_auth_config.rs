//! The operators' login goes after the Shoot: one that must still reconcile on its way out needs it.

use slipway_kube::{
    access::{self, Ask, Exactly, Priority, resource::CONFIG_MAPS},
    annotations,
    conditions::{Reason, Status, Type},
    shoot::structured_auth_config_name,
};

use crate::{
    outcome::{ConditionUpdate, Outcome},
    owner,
    pass::Pass,
    runtime::Step,
    steps::structured_auth_config::AuthConfig,
};

pub(crate) struct RemoveAuthConfig;

impl Step for RemoveAuthConfig {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        match remove(pass).await {
            Ok(()) => {
                let (of, reason) = (Type::Deprovisioned, Reason::StructuredConfigDeleted);
                pass.report.set(ConditionUpdate::new(of, Status::True, reason, "The operators' login is deleted"));
                Outcome::Done
            }
            Err(error) => Outcome::from_error(
                error,
                Type::Deprovisioned,
                Reason::GardenerErr,
                "The operators' login cannot be deleted",
            ),
        }
    }
}

async fn remove(pass: &Pass) -> Result<(), access::Error> {
    let (garden, namespace) = (&pass.shared.garden, &pass.shared.settings.garden_namespace);
    let name = structured_auth_config_name(&pass.seen.runtime.spec.shoot.name);
    let look = Ask::get(&CONFIG_MAPS, namespace, &name).priority(Priority::Deletion);
    let Some(there) = garden.find::<AuthConfig>(look).await? else { return Ok(()) };
    let is_marked =
        there.metadata.annotations.as_ref().is_some_and(|notes| notes.contains_key(annotations::RUNTIME_UID));
    // Named after the Shoot: where that is another Runtime's, so is this, unless it says otherwise.
    let is_ours =
        owner::may_be_ours(&there.metadata, &pass.seen.runtime) && (is_marked || pass.seen.foreign().is_none());
    if !is_ours {
        return Ok(());
    }
    let only = Exactly::unchanged(&there.metadata);
    garden.tell(Ask::delete(&CONFIG_MAPS, namespace, &name, &only).priority(Priority::Deletion)).await
}
