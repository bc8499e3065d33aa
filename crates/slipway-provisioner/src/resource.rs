//! The Runtime resource as the steps see it: what is stored becomes one, and what its status says.

use serde_json::Value;
use slipway_engine::{StepCtx, StepError};
use slipway_kube::{
    Runtime, RuntimeState,
    access::{
        Ask, Error, Exactly,
        resource::{RUNTIMES, SECRETS},
    },
    gardener_cluster,
};
use slipway_model::{
    Component, Reason,
    runtime_record::{ConfigRevision, RuntimeRecord},
};

use crate::{
    clusters::kubeconfig_in,
    domain::{Kubeconfig, Provisioner, Systems},
    input::{ClusterSecrets, ClusterSpec, Version},
    mapping,
    ownership::{Foreign, OwnRuntime},
    steps::Problem,
};

/// An error of Gardener's that passes by itself.
const RATE_LIMITS: &str = "ERR_INFRA_RATE_LIMITS_EXCEEDED";

/// How a Runtime stands, given what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All is as asked for.
    Ready,
    /// Not yet; in a sentence.
    Working(String),
    /// It does not work and will not by itself.
    Failed(StepError),
}

/// The stored configuration of the cluster, the newest.
pub(crate) async fn configuration(
    ctx: &mut StepCtx<Provisioner>,
    record: &RuntimeRecord,
) -> Result<(ClusterSpec, ClusterSecrets), Problem> {
    let stored = ctx.systems().runtimes.config(record.id, None).await?;
    let missing = || {
        let error = StepError::new(Reason::DbNotFound, "the runtime is not known", "there is no configuration of it");
        Problem::last(error.blamed_on(Component::ProvisionerDb))
    };
    read(&stored.ok_or_else(missing)?)
}

fn read(stored: &ConfigRevision) -> Result<(ClusterSpec, ClusterSecrets), Problem> {
    let unreadable = |_| {
        let message = format!("revision {} of the configuration cannot be read", stored.revision);
        Problem::last(StepError::new(Reason::DbInternal, "the database does not work", message))
    };
    Ok((
        stored.spec.to::<ClusterSpec>().map_err(unreadable)?,
        ClusterSecrets::open(stored.secrets.as_ref()).map_err(unreadable)?,
    ))
}

/// The Runtime of a record; none if there is none. One that is not the record's is an error.
pub(crate) async fn look(systems: &Systems, record: &RuntimeRecord) -> Result<Option<OwnRuntime>, Problem> {
    Ok(sight(systems, record).await??)
}

/// The same where one that is not the record's is no error.
pub(crate) async fn sight(
    systems: &Systems,
    record: &RuntimeRecord,
) -> Result<Result<Option<OwnRuntime>, Foreign>, Problem> {
    let ask = Ask::get(&RUNTIMES, &systems.namespace, &record.id.to_string());
    let found: Option<Runtime> = systems.control_plane.find(ask).await?;
    Ok(found.map(|runtime| OwnRuntime::prove(runtime, record)).transpose())
}

/// The same where it must be there.
pub(crate) async fn look_at(systems: &Systems, record: &RuntimeRecord) -> Result<OwnRuntime, Problem> {
    look(systems, record).await?.ok_or_else(|| {
        let message = format!("the Runtime resource {} is gone", record.id);
        Problem::last(StepError::new(Reason::RuntimeGone, "the cluster was deleted", message))
    })
}

/// The kubeconfig that the manager has written for a Runtime; none if there is none yet.
pub(crate) async fn kubeconfig(systems: &Systems, runtime: &OwnRuntime) -> Result<Option<Kubeconfig>, Problem> {
    let name = gardener_cluster::secret_name(runtime.name());
    let secret: Option<Value> = systems.control_plane.find(Ask::get(&SECRETS, &systems.namespace, &name)).await?;
    Ok(secret.as_ref().and_then(kubeconfig_in).map(Kubeconfig::new))
}

/// Asks for the end of this very Runtime.
pub(crate) async fn delete(systems: &Systems, runtime: &OwnRuntime) -> Result<(), Problem> {
    let only = Exactly::this(&runtime.metadata);
    let ask = Ask::delete(&RUNTIMES, &systems.namespace, runtime.name(), &only);
    Ok(systems.control_plane.tell(ask).await?)
}

/// Writes the Runtime; answers its generation. A Kubernetes version below the one the cluster has is
/// not sent: maintenance has raised it, and Gardener never lowers one. Answers that version then.
pub(crate) async fn write(
    ctx: &mut StepCtx<Provisioner>,
    record: &RuntimeRecord,
    present: Option<&OwnRuntime>,
) -> Result<(i64, Option<String>), Problem> {
    let systems = ctx.systems();
    let (mut spec, secrets) = configuration(ctx, record).await?;
    let kept = present.and_then(|present| newer(present, &spec.kubernetes_version));
    if let Some(version) = &kept {
        spec.kubernetes_version.clone_from(version);
    }
    let owner = mapping::Owner {
        id: record.id,
        tenant: &record.tenant,
        sub_account: record.sub_account.as_ref(),
        namespace: &systems.namespace,
        operation: ctx.op().id,
        created_at: record.created_at,
    };
    let runtime = mapping::runtime(&owner, &spec, &secrets);
    let object =
        serde_json::to_value(&runtime).map_err(|error| Problem::last(StepError::internal(error.to_string())))?;
    let written = put(&systems, record, present, object).await?;
    let nameless = || Error::garbage("it has no generation");
    let generation = written["metadata"]["generation"].as_i64().ok_or_else(nameless)?;
    Ok((generation, kept))
}

/// Writes over the Runtime that was seen, or makes a new one. Whatever else bears its name by now stays as it is.
async fn put(
    systems: &Systems,
    record: &RuntimeRecord,
    present: Option<&OwnRuntime>,
    object: Value,
) -> Result<Value, Error> {
    let Systems { control_plane, namespace, .. } = systems;
    let (name, manager) = (record.id.to_string(), Systems::FIELD_MANAGER);
    let ask = match present {
        Some(present) => {
            Ask::apply(&RUNTIMES, namespace, &name, manager, object).only_if(&Exactly::this(&present.metadata))
        }
        None => Ask::apply_new(&RUNTIMES, namespace, &name, manager, object),
    };
    control_plane.send(ask).await
}

/// The version the cluster has, if it is above the wanted one.
fn newer(present: &Runtime, wanted: &str) -> Option<String> {
    let facts = present.status.as_ref().and_then(|status| status.facts.kubernetes_version.clone());
    let actual = facts.or_else(|| present.spec.shoot.kubernetes.version.clone())?;
    (actual.parse::<Version>().ok()? > wanted.parse::<Version>().ok()?).then_some(actual)
}

/// The table: what a Runtime's status means. Gardener's reconciliations heal by themselves while a
/// cluster is made, and so do exceeded rate limits; every other failure is final.
pub(crate) fn progress(runtime: &Runtime, generation: Option<i64>, is_creating: bool) -> Progress {
    let Some(status) = &runtime.status else {
        return Progress::Working("waiting for the infrastructure manager".to_owned());
    };
    // A manager that does not tell what it has seen is believed.
    let stale = |seen: i64| generation.is_some_and(|wanted| seen < wanted);
    if status.observed_generation.is_some_and(stale) {
        return Progress::Working("waiting for the infrastructure manager to see the change".to_owned());
    }
    let operation = status.shoot_last_operation.as_ref();
    let working = || {
        let progress = operation.map(|operation| format!(", {} %", operation.progress)).unwrap_or_default();
        Progress::Working(format!("waiting for the cluster{progress}"))
    };
    match status.state {
        RuntimeState::Ready => Progress::Ready,
        RuntimeState::Pending | RuntimeState::Terminating => working(),
        RuntimeState::Failed => {
            let codes: Vec<&str> =
                status.shoot_last_errors.iter().flat_map(|error| &error.codes).map(String::as_str).collect();
            let heals = is_creating && operation.is_some_and(|operation| operation.operation_type == "Reconcile");
            if heals || codes.contains(&RATE_LIMITS) {
                return working();
            }
            Progress::Failed(failure(runtime, &codes))
        }
    }
}

fn failure(runtime: &Runtime, codes: &[&str]) -> StepError {
    let status = runtime.status.clone().unwrap_or_default();
    let said: Vec<&str> = status.shoot_last_errors.iter().map(|error| error.description.as_str()).collect();
    let user = "the cluster cannot be made as asked for";
    if !said.is_empty() || !codes.is_empty() {
        let reason = if codes.is_empty() { Reason::Gardener } else { Reason::foreign(codes.join(", ")) };
        let message = format!("Gardener reports: {}", said.join(", "));
        return StepError::new(reason, user, message).blamed_on(Component::Gardener);
    }
    // The manager itself says no, before Gardener was asked.
    let condition = status.conditions.iter().find(|condition| condition.status == "False");
    let (reason, message) = condition.map_or_else(
        || (Reason::RuntimeFailed, "the Runtime resource is in state Failed".to_owned()),
        |condition| (Reason::foreign(condition.reason.as_str()), condition.message.clone()),
    );
    StepError::new(reason, user, message).blamed_on(Component::Infrastructure)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runtime(status: Value) -> Runtime {
        let spec = json!({
            "shoot": { "name": "c", "purpose": "evaluation", "platformRegion": "", "region": "eu", "secretBindingName": "s",
                "kubernetes": { "version": "1.32.0" },
                "provider": { "type": "gcp", "workers": [] }, "networking": { "nodes": "10.250.0.0/16", "pods": "", "services": "" } },
            "security": { "administrators": [], "networking": { "filter": { "egress": { "enabled": false } } } },
        });
        let object = json!({
            "apiVersion": "infrastructuremanager.kyma-project.io/v1", "kind": "Runtime", "metadata": { "name": "r" },
            "spec": spec, "status": status,
        });
        serde_json::from_value(object).expect("a Runtime")
    }

    fn errors(codes: &[&str]) -> Value {
        json!({ "state": "Failed", "shootLastErrors": [{ "description": "no room", "codes": codes }] })
    }

    #[test]
    fn a_state_from_before_the_change_is_not_believed() {
        let stale = runtime(json!({ "state": "Ready", "observedGeneration": 1 }));
        assert!(matches!(progress(&stale, Some(2), false), Progress::Working(_)));
        assert_eq!(progress(&stale, Some(1), false), Progress::Ready);
        let silent = runtime(json!({ "state": "Ready" }));
        assert_eq!(progress(&silent, Some(2), false), Progress::Ready, "a stock manager does not tell");
    }

    #[test]
    fn failures_of_gardener_are_final_with_their_codes_unless_they_pass() {
        let Progress::Failed(error) = progress(&runtime(errors(&["ERR_INFRA_QUOTA_EXCEEDED", "ERR_X"])), None, true)
        else {
            panic!("final")
        };
        assert_eq!(error.reason.as_str(), "ERR_INFRA_QUOTA_EXCEEDED, ERR_X");
        assert_eq!((error.component, error.message.as_str()), (Some(Component::Gardener), "Gardener reports: no room"));
        assert!(matches!(progress(&runtime(errors(&[RATE_LIMITS])), None, false), Progress::Working(_)));
        let mut healing = errors(&["ERR_X"]);
        healing["shootLastOperation"] = json!({ "type": "Reconcile" });
        assert!(matches!(progress(&runtime(healing.clone()), None, true), Progress::Working(_)));
        assert!(matches!(progress(&runtime(healing), None, false), Progress::Failed(_)), "only while it is made");
    }

    #[test]
    fn a_failure_of_the_manager_is_told_by_its_condition() {
        let condition = json!({
            "type": "Provisioned", "status": "False", "reason": "SomethingWrong", "message": "label missing",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let failed = runtime(json!({ "state": "Failed", "conditions": [condition] }));
        let Progress::Failed(error) = progress(&failed, None, true) else { panic!("final") };
        assert_eq!((error.component, error.reason.as_str()), (Some(Component::Infrastructure), "SomethingWrong"));
        assert_eq!(error.message, "label missing");
    }

    #[test]
    fn a_version_that_maintenance_has_raised_is_kept() {
        let present = runtime(json!({ "state": "Ready", "kubernetesVersion": "1.33.2" }));
        assert_eq!(newer(&present, "1.32.9").as_deref(), Some("1.33.2"));
        assert_eq!(newer(&present, "1.33.2"), None);
        assert_eq!(newer(&present, "1.34.0"), None);
        assert_eq!(newer(&runtime(json!({ "state": "Ready" })), "1.31.0").as_deref(), Some("1.32.0"));
    }
}
