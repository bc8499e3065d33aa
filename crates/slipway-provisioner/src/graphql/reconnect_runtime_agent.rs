//! `reconnectRuntimeAgent`: makes the agent in the cluster connect anew.

use slipway_model::{Component, Reason};

use super::request::{Change, Request};
use crate::{
    OperationKind,
    auth::Scope,
    errors::{ApiError, Class},
};

pub(super) async fn resolve(request: &Request, id: String) -> Result<String, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let api = &*request.api;
    let runtime = granted.record.id;
    let refused = |reason: Reason, message: &str| ApiError::bad(reason, message).about(runtime);
    if !api.settings.agent.enabled {
        return Err(refused(Reason::Validation, "agents are switched off here, so there is none to reconnect"));
    }
    let away = |unseen: crate::clusters::Unseen| {
        let message = format!("{unseen}; try again");
        ApiError::new(Class::Overloaded, Reason::ProvisionerInternal, message)
            .blaming(Component::ProvisionerK8s)
            .about(runtime)
    };
    let observed = api.clusters.runtime(runtime).await.map_err(away)?;
    let facts = observed.as_ref().and_then(|observed| observed.status.as_ref()).map(|status| &status.facts);
    if facts.and_then(|facts| facts.hibernated) == Some(true) {
        return Err(refused(Reason::RuntimeHibernated, "the cluster sleeps; wake it up first"));
    }
    if api.clusters.kubeconfig(runtime).await.map_err(away)?.is_none() {
        return Err(refused(Reason::Validation, "the runtime is not provisioned yet: it has no kubeconfig"));
    }
    let operation =
        request.start(&granted, OperationKind::ReconnectRuntime, "reconnectRuntimeAgent", Change::default()).await?;
    Ok(operation.id.to_string())
}
