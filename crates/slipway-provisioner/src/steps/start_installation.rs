//! Orders the installation of Kyma.
//!
//! **Why here:** as soon as the cluster can be entered; the installer does that by itself.
//!
//! **Why a repeat does no harm:** the order is rendered from what is stored, so the same order again is the
//! same version; an installation that runs already counts as started.
//!
//! **When we give up:** at once when the installer refuses the order, and after twenty minutes of errors.

use slipway_engine::{Step, StepCtx, StepError, StepResult};
use slipway_model::{Component, Reason, runtime_record::RuntimeRecord};

use super::{Outcome, Problem, installer_problem, record, settle};
use crate::{
    domain::{Kubeconfig, Provisioner},
    input::{KymaSecrets, KymaSpec},
    installer::Order,
    resource,
};

/// See the [module](self).
pub struct StartInstallation;

impl Step<Provisioner> for StartInstallation {
    fn name(&self) -> &'static str {
        "Start_Installation"
    }

    fn component(&self) -> Component {
        Component::KymaInstaller
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.installation_trigger;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::KymaInstaller, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let record = record(ctx).await?;
    let version = order(ctx, &record).await?;
    Ok(ctx.done_with(move |data| data.installation = version))
}

/// Orders what is stored; answers the version to wait for.
pub(super) async fn order(ctx: &mut StepCtx<Provisioner>, record: &RuntimeRecord) -> Result<Option<i64>, Problem> {
    let systems = ctx.systems();
    let stored = systems.runtimes.kyma(record.id).await?.ok_or_else(|| {
        let message = "there is no Kyma configuration of this runtime";
        Problem::last(StepError::new(Reason::TriggerKymaInstall, "Kyma cannot be installed", message))
    })?;
    let unreadable = |_| {
        let message = "the Kyma configuration of this runtime cannot be read";
        Problem::last(StepError::new(Reason::TriggerKymaInstall, "Kyma cannot be installed", message))
    };
    let kyma: KymaSpec = stored.spec.to().map_err(unreadable)?;
    let secrets = KymaSecrets::open(stored.secrets.as_ref()).map_err(unreadable)?;
    let (cluster, people) = resource::configuration(ctx, record).await?;
    let Some(kubeconfig) = ctx.memory().get::<Kubeconfig>().map(|kubeconfig| kubeconfig.secret().clone()) else {
        return Err(Problem::last(StepError::internal("no kubeconfig was fetched in this stage")));
    };
    let order =
        Order { record, cluster: &cluster, people: &people, kyma: &kyma, secrets: &secrets, kubeconfig: &kubeconfig };
    let ordered = systems.installer.order(&systems, &order).await;
    ordered.map_err(|error| installer_problem(error, Reason::TriggerKymaInstall))
}
