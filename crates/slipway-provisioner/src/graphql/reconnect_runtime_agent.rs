//! `reconnectRuntimeAgent`: makes the agent in the cluster connect anew.

use slipway_model::Reason;

use super::request::{Change, Request};
use crate::{OperationKind, auth::Scope, clusters::Unseen, errors::ApiError};

pub(super) async fn resolve(request: &Request, id: String) -> Result<String, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let api = &*request.api;
    let runtime = granted.record.id;
    let refused = |reason: Reason, message: &str| ApiError::bad(reason, message).about(runtime);
    if !api.settings.agent.enabled {
        return Err(refused(Reason::Validation, "agents are switched off here, so there is none to reconnect"));
    }
    let not_yet = || refused(Reason::Validation, "the runtime is not provisioned yet: it has no kubeconfig");
    let away = |unseen: Unseen| unseen.into_error(runtime);
    let observed = api.clusters.runtime(&granted.record).await.map_err(away)?.ok_or_else(not_yet)?;
    let facts = observed.status.as_ref().map(|status| &status.facts);
    if facts.and_then(|facts| facts.hibernated) == Some(true) {
        return Err(refused(Reason::RuntimeHibernated, "the cluster sleeps; wake it up first"));
    }
    api.clusters.kubeconfig(&observed).await.map_err(away)?.ok_or_else(not_yet)?;
    let operation =
        request.start(&granted, OperationKind::ReconnectRuntime, "reconnectRuntimeAgent", Change::default()).await?;
    Ok(operation.id.to_string())
}
