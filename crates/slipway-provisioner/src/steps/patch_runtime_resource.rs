//! Writes the changed Runtime resource, and waits until the manager has seen it.
//!
//! **Why here:** before the wait for the cluster, which compares with the generation written here; without
//! it a state from before the change would end the operation at once.
//!
//! **Why a repeat does no harm:** the resource is applied as a whole from the stored configuration; the
//! same again changes nothing, not even the generation.
//!
//! **When we give up:** at once when Kubernetes refuses it or the resource is gone, and when the manager
//! has not seen it in five minutes. A Kubernetes version below the actual one is kept as it is, and
//! said so: clients send their configured default, and maintenance may have gone beyond it.

use slipway_engine::{Op, Step, StepCtx, StepError, StepResult};
use slipway_kube::Runtime;
use slipway_model::{Component, Reason, time::secs};

use super::{Outcome, Problem, record, settle, wait};
use crate::{OperationKind, domain::Provisioner, resource};

/// See the [module](self).
pub struct PatchRuntimeResource;

impl Step<Provisioner> for PatchRuntimeResource {
    fn name(&self) -> &'static str {
        "Patch_Runtime_Resource"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    /// An upgrade of Kyma alone leaves the cluster as it is.
    fn applies(&self, op: &Op<Provisioner>) -> bool {
        op.kind != OperationKind::Upgrade.engine_type() || op.data.changes_cluster
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.shoot_refresh;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let record = record(ctx).await?;
    let present = resource::look_at(&systems, &record).await?;
    let generation = match ctx.data().generation {
        Some(generation) => generation,
        None => {
            may_sleep(ctx, &record, &present).await?;
            let (generation, kept) = resource::write(ctx, &record, Some(&present)).await?;
            ctx.update(move |data| {
                data.generation = Some(generation);
                if let Some(version) = &kept {
                    data.warnings.push(format!("the cluster has Kubernetes {version} already, and keeps it"));
                }
            })
            .await;
            generation
        }
    };
    let status = present.status.as_ref();
    match status.and_then(|status| status.observed_generation) {
        Some(seen) if seen < generation => wait(
            ctx,
            secs(5),
            systems.deadlines.shoot_refresh,
            "waiting for the infrastructure manager to see the change",
        ),
        // A manager that does not tell what it has seen is believed.
        _ => Ok(ctx.done()),
    }
}

/// A cluster that Gardener would not put to sleep is not asked to.
async fn may_sleep(
    ctx: &mut StepCtx<Provisioner>,
    record: &slipway_model::runtime_record::RuntimeRecord,
    present: &Runtime,
) -> Result<(), Problem> {
    let (spec, _) = resource::configuration(ctx, record).await?;
    let facts = present.status.as_ref().map(|status| status.facts.clone()).unwrap_or_default();
    if !spec.hibernated || facts.hibernation_possible != Some(false) {
        return Ok(());
    }
    let message = format!("the cluster cannot be put to sleep: {}", facts.hibernation_message.unwrap_or_default());
    Err(Problem::last(
        StepError::new(Reason::HibernationNotPossible, "the cluster cannot be put to sleep", message)
            .blamed_on(Component::Gardener),
    ))
}
