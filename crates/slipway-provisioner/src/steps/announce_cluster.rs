//! Tells the Director the cluster's name and domain, and that it is being made.
//!
//! **Why here:** as soon as the domain is known: who looks at the registry sees where the runtime will be.
//!
//! **Why a repeat does no harm:** the same labels and condition again are not even written.
//!
//! **When we give up:** at once when the Director refuses, and after ten minutes of errors. Without a
//! Director there is nothing to do.

use slipway_clients::director::Condition;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_model::Component;

use super::{Outcome, record, settle};
use crate::domain::Provisioner;

/// See the [module](self).
pub struct AnnounceCluster;

impl Step<Provisioner> for AnnounceCluster {
    fn name(&self) -> &'static str {
        "Announce_Cluster"
    }

    fn component(&self) -> Component {
        Component::CompassDirector
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.cluster_domain;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::CompassDirector, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let (Some(director), Some(id)) = (&systems.director, &record.director_id) else { return Ok(ctx.done()) };
    let domain = ctx.data().domain.clone().unwrap_or_default();
    let labels = [("gardenerClusterName", record.shoot_name.as_str()), ("gardenerClusterDomain", &domain)];
    director.amend(record.tenant.as_str(), id, Some(Condition::Provisioning), &labels).await?;
    Ok(ctx.done())
}
