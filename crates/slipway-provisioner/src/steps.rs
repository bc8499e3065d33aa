//! The provisioner's steps: one file each. A step runs because a table in `processes/` has a row for it.
//!
//! Each step talks to one system, so that its failure names the right one. What they share stands here:
//! how an error becomes an outcome, and how the stored runtime is read.

pub mod announce_cluster;
pub mod check_bindings;
pub mod cleanup_cluster;
pub mod close_upgrade_record;
pub mod configure_agent;
pub mod create_runtime_resource;
pub mod delete_runtime_resource;
pub mod draw_agent_token;
pub mod drop_agent_connection;
pub mod fetch_kubeconfig;
pub mod mark_connected;
pub mod patch_runtime_resource;
pub mod report_failure;
pub mod start_installation;
pub mod start_upgrade;
pub mod tombstone;
pub mod trigger_kyma_uninstall;
pub mod unregister_runtime;
pub mod wait_for_agent;
pub mod wait_for_cluster_creation;
pub mod wait_for_cluster_deletion;
pub mod wait_for_cluster_domain;
pub mod wait_for_hibernation;
pub mod wait_for_installation;
pub mod wait_for_shoot_upgrade;

pub use announce_cluster::AnnounceCluster;
pub use check_bindings::CheckBindings;
pub use cleanup_cluster::CleanupCluster;
pub use close_upgrade_record::CloseUpgradeRecord;
pub use configure_agent::ConfigureAgent;
pub use create_runtime_resource::CreateRuntimeResource;
pub use delete_runtime_resource::DeleteRuntimeResource;
pub use draw_agent_token::DrawAgentToken;
pub use drop_agent_connection::DropAgentConnection;
pub use fetch_kubeconfig::FetchKubeconfig;
pub use mark_connected::MarkConnected;
pub use patch_runtime_resource::PatchRuntimeResource;
pub use report_failure::ReportFailure;
pub use start_installation::StartInstallation;
pub use start_upgrade::StartUpgrade;
pub use tombstone::Tombstone;
pub use trigger_kyma_uninstall::TriggerKymaUninstall;
pub use unregister_runtime::UnregisterRuntime;
pub use wait_for_agent::WaitForAgent;
pub use wait_for_cluster_creation::WaitForClusterCreation;
pub use wait_for_cluster_deletion::WaitForClusterDeletion;
pub use wait_for_cluster_domain::WaitForClusterDomain;
pub use wait_for_hibernation::WaitForHibernation;
pub use wait_for_installation::WaitForInstallation;
pub use wait_for_shoot_upgrade::WaitForShootUpgrade;

use std::time::Duration;

use slipway_clients::{chain, director};
use slipway_engine::{StepCtx, StepError, StepResult};
use slipway_kube::access::{self, Class};
use slipway_model::{
    Component, Reason, WaitKey,
    ports::StoreError,
    runtime_record::{RuntimeId, RuntimeRecord},
    time::{mins, secs},
};

use crate::{
    domain::{Provisioner, Trouble, wait_key},
    installer,
    ownership::Foreign,
};

/// Errors are tried again after as long as they have lasted already, which doubles the pause each time,
/// within these bounds.
const PAUSE_MIN: Duration = secs(2);
const PAUSE_MAX: Duration = mins(1);

/// What a step may run into.
pub(crate) struct Problem {
    error: StepError,
    passes: bool,
    pause: Option<Duration>,
}

/// How a step ended, or what it ran into.
pub(crate) type Outcome = Result<StepResult, Problem>;

impl Problem {
    /// Nothing helps.
    pub(crate) fn last(error: StepError) -> Self {
        Self { error, passes: false, pause: None }
    }

    /// It may pass.
    pub(crate) fn passing(error: StepError) -> Self {
        Self { error, passes: true, pause: None }
    }

    /// How a step ends that must not hold up those after it.
    pub(crate) fn pass_over(self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        match self.passes {
            true => ctx.retry_without_fail(self.error.message, self.pause.unwrap_or(secs(10))),
            false => ctx.skip(self.error.message),
        }
    }

    /// In a sentence.
    pub(crate) fn into_message(self) -> String {
        self.error.message
    }

    fn pausing(mut self, pause: Duration) -> Self {
        self.pause = Some(pause).filter(|pause| !pause.is_zero());
        self
    }
}

impl From<director::Error> for Problem {
    fn from(error: director::Error) -> Self {
        let said = StepError::new(error.reason(), "the registry of runtimes does not work", chain(&error));
        Self { error: said, passes: error.is_temporary(), pause: None }.pausing(error.pause_or(Duration::ZERO))
    }
}

impl From<access::Error> for Problem {
    fn from(error: access::Error) -> Self {
        let reason = match (error.class, error.code) {
            (Class::Throttled, _) => "TooManyRequests".to_owned(),
            (Class::Transient, Some(409)) => "Conflict".to_owned(),
            (Class::Transient, _) => "ServiceUnavailable".to_owned(),
            (Class::Absent | Class::NoKind, _) => "NotFound".to_owned(),
            (Class::Permanent, Some(code)) if error.reason.is_empty() => format!("status {code}"),
            (Class::Permanent, _) => error.reason.clone(),
        };
        let said = StepError::new(Reason::foreign(reason), "the Kubernetes API does not work", described(&error));
        Self { error: said, passes: error.is_temporary(), pause: None }.pausing(error.pause_or(Duration::ZERO))
    }
}

impl From<Foreign> for Problem {
    fn from(foreign: Foreign) -> Self {
        let user = "the cluster of this name belongs to somebody else";
        Self::last(StepError::new(Reason::TenantMismatch, user, foreign.to_string()))
    }
}

/// The sentence of the Kubernetes API, and who says it.
pub(crate) fn described(error: &access::Error) -> String {
    match (error.is_temporary(), error.code) {
        (true, Some(code)) => format!("the Kubernetes API is busy or broken: status {code}, {error}"),
        (true, None) => format!("the Kubernetes API gave no answer: {error}"),
        (false, _) => format!("the Kubernetes API refused the request: {error} ({})", error.reason),
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let said = StepError::new(Reason::DbInternal, "the database does not work", error.to_string());
        let passes = error.is_temporary();
        Self { error: said.blamed_on(Component::ProvisionerDb), passes, pause: None }
    }
}

/// An error of the installer, under the reason of whoever asked it.
pub(crate) fn installer_problem(error: installer::Error, reason: Reason) -> Problem {
    let installer::Error { message, is_temporary, pause } = error;
    let said = StepError::new(reason, "Kyma cannot be installed", message);
    Problem { error: said, passes: is_temporary, pause }
}

/// Turns what a step ran into into its outcome: errors that may pass are tried again until the stage's
/// deadline, counted from when the step first ran. An outage of ours that was longer than that grants
/// one more try, because the step has just run. Every error is kept for the client.
pub(crate) fn settle(
    ctx: &mut StepCtx<Provisioner>,
    outcome: Outcome,
    component: Component,
    deadline: Duration,
) -> StepResult {
    let Problem { error, passes, pause } = match outcome {
        Ok(StepResult::Fail { error }) => Problem::last(error),
        Ok(result) => return result,
        Err(problem) => problem,
    };
    note(ctx, &error, component);
    if !passes || ctx.running_for() >= deadline {
        return ctx.fail(error);
    }
    let left = deadline.saturating_sub(ctx.running_for());
    let pause = pause.unwrap_or_else(|| ctx.failing_for().clamp(PAUSE_MIN, PAUSE_MAX));
    ctx.retry(error, pause.min(left.max(PAUSE_MIN)), Duration::MAX)
}

/// Keeps an error for the client.
pub(crate) fn note(ctx: &mut StepCtx<Provisioner>, error: &StepError, component: Component) {
    let trouble = Trouble {
        message: error.message.clone(),
        reason: error.reason.as_str().to_owned(),
        component: error.component.unwrap_or(component).as_str().to_owned(),
    };
    ctx.remember(move |data| data.add_error(trouble.clone()));
}

/// The runtime of the operation.
pub(crate) fn runtime_id(ctx: &StepCtx<Provisioner>) -> Result<RuntimeId, Problem> {
    let instance = &ctx.op().instance_id;
    RuntimeId::of_instance(instance)
        .ok_or_else(|| Problem::last(StepError::internal(format!("{instance} is not the instance of a runtime"))))
}

/// The runtime as it is stored.
pub(crate) async fn record(ctx: &mut StepCtx<Provisioner>) -> Result<RuntimeRecord, Problem> {
    let id = runtime_id(ctx)?;
    let found = ctx.systems().runtimes.runtime(id).await?;
    found.ok_or_else(|| {
        let error = StepError::new(Reason::DbNotFound, "the runtime is not known", format!("there is no runtime {id}"));
        Problem::last(error.blamed_on(Component::ProvisionerDb))
    })
}

/// Waits for something of the runtime; past the deadline the operation fails and says for what.
pub(crate) fn wait(
    ctx: &mut StepCtx<Provisioner>,
    look_every: Duration,
    deadline: Duration,
    what: impl Into<String>,
) -> Outcome {
    let what = what.into();
    ctx.describe(what.clone());
    let key: WaitKey = wait_key(runtime_id(ctx)?);
    let message = format!("the stage has reached its deadline, {what}");
    let timeout = StepError::new(Reason::ProvisionerTimeout, "the operation took too long", message);
    Ok(ctx.wait_for(Some(key), look_every, deadline, what, timeout.blamed_on(Component::Provisioner)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(code: u16, reason: &str, message: &str) -> Problem {
        let (head, ()) = http::Response::builder()
            .status(code)
            .header("retry-after", "3600")
            .body(())
            .expect("an answer")
            .into_parts();
        let body = json!({ "kind": "Status", "reason": reason, "message": message }).to_string();
        access::Error::answer(&head, body.as_bytes()).into()
    }

    #[test]
    fn errors_of_kubernetes_pass_or_end_a_step_by_their_class_and_keep_their_reasons() {
        for (code, reason, message, passes, told) in [
            (403, "Forbidden", "User x cannot patch runtimes", true, "ServiceUnavailable"),
            (403, "Forbidden", "spec.shoot.region: Unsupported value: \"x\"", false, "Forbidden"),
            (404, "NotFound", "no such kind", false, "NotFound"),
            (409, "Conflict", "somebody was faster", true, "Conflict"),
            (422, "Invalid", "spec.x: Required value", false, "Invalid"),
            (422, "", "", false, "status 422"),
            (429, "TooManyRequests", "slower", true, "TooManyRequests"),
            (503, "ServiceUnavailable", "not now", true, "ServiceUnavailable"),
        ] {
            let problem = problem(code, reason, message);
            assert_eq!((problem.passes, problem.error.reason.as_str()), (passes, told), "{code} {message}");
            assert!(problem.error.message.contains(message), "{}", problem.error.message);
            assert_eq!(problem.pause, Some(secs(375)), "five minutes and a quarter, however long was asked for");
        }
    }
}
