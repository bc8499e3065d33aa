//! `cleanupRuntimeData`: forgets a runtime without touching what it was made of. For administrators,
//! after the infrastructure went away by other means.

use slipway_model::Reason;

use super::{
    outputs::CleanUpRuntimeDataResult,
    request::{Request, runtime_id},
};
use crate::{auth::Scope, clusters::Unseen, errors::ApiError};

pub(super) async fn resolve(request: &Request, id: String) -> Result<CleanUpRuntimeDataResult, ApiError> {
    let tenant = request.writes(Scope::Admin)?;
    let api = &*request.api;
    let runtime = runtime_id(&id, "id")?;
    let said = |message: String| Ok(CleanUpRuntimeDataResult { id: runtime.to_string(), message: Some(message) });
    let Some(record) = api.runtimes.runtime(runtime).await? else {
        return said(format!("there is no runtime {runtime}, so nothing was removed"));
    };
    let granted = request.grant(record, &tenant)?;
    if !granted.record.is_live() {
        return said(format!("the data of runtime {runtime} are removed already"));
    }
    if let Some(running) = api.last_operation(runtime).await?.filter(|operation| !operation.state.is_finished()) {
        return Err(ApiError::busy(&running).about(runtime));
    }
    match api.clusters.runtime(&granted.record).await {
        // One that is somebody else's stays, and the record that has no other can only be forgotten.
        Ok(None) | Err(Unseen::Foreign(_)) => {}
        Ok(Some(_)) => {
            let message = "there is a Runtime resource; use deprovisionRuntime";
            return Err(ApiError::bad(Reason::Validation, message).about(runtime));
        }
        Err(away @ Unseen::Away(_)) => return Err(away.into_error(runtime)),
    }
    api.runtimes.tombstone(runtime, api.now()).await?;
    tracing::info!(%runtime, by = request.caller.identity, "stored data of a runtime were removed on request");
    said(format!("the data of runtime {runtime} were removed"))
}
