//! The operators' login goes after the Shoot: one that must still reconcile on its way out needs it.

use slipway_kube::{
    access::{Ask, Priority, resource::CONFIG_MAPS},
    conditions::{Reason, Status, Type},
    shoot::structured_auth_config_name,
};

use crate::{
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
};

pub(crate) struct RemoveAuthConfig;

impl Step for RemoveAuthConfig {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        // Named after the Shoot: where that is another Runtime's, so is this.
        if pass.seen.foreign_owner().is_some() || pass.seen.rival.is_some() {
            return Outcome::Done;
        }
        let name = structured_auth_config_name(&pass.seen.runtime.spec.shoot.name);
        let ask = Ask::delete(&CONFIG_MAPS, &pass.shared.settings.garden_namespace, &name);
        match pass.shared.garden.tell(ask.priority(Priority::Deletion)).await {
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
