//! `reconnectRuntimeAgent`: makes the agent in the cluster connect anew.

use super::request::{Change, Request};
use crate::{
    OperationKind,
    auth::Scope,
    errors::{ApiError, Class, component, reason},
};

pub(super) async fn resolve(request: &Request, id: String) -> Result<String, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let api = &*request.api;
    let runtime = granted.record.id;
    let refused = |reason: &str, message: &str| ApiError::bad(reason, message).about(runtime);
    if !api.settings.agent.enabled {
        return Err(refused(reason::VALIDATION, "agents are switched off here, so there is none to reconnect"));
    }
    let away = |unseen: crate::clusters::Unseen| {
        let message = format!("{unseen}; try again");
        ApiError::new(Class::Overloaded, reason::INTERNAL, message).blaming(component::K8S).about(runtime)
    };
    let observed = api.clusters.runtime(runtime).await.map_err(away)?;
    let facts = observed.as_ref().and_then(|observed| observed.status.as_ref()).map(|status| &status.facts);
    if facts.and_then(|facts| facts.hibernated) == Some(true) {
        return Err(refused(reason::HIBERNATED, "the cluster sleeps; wake it up first"));
    }
    if api.clusters.kubeconfig(runtime).await.map_err(away)?.is_none() {
        return Err(refused(reason::VALIDATION, "the runtime is not provisioned yet: it has no kubeconfig"));
    }
    let operation =
        request.start(&granted, OperationKind::ReconnectRuntime, "reconnectRuntimeAgent", Change::default()).await?;
    Ok(operation.id.to_string())
}
