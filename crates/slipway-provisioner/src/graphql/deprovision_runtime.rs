//! `deprovisionRuntime`. A client that lost the answer asks again and gets the same operation.

use slipway_model::{OperationState, Reason};

use super::request::{Change, Request};
use crate::{OperationKind, auth::Scope, errors::ApiError};

/// Operations of one runtime that are searched for its removal.
const OPERATIONS_MAX: usize = 100;

pub(super) async fn resolve(request: &Request, id: String) -> Result<String, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.runtime(&id, &tenant).await?;
    let api = &*request.api;
    let runtime = granted.record.id;
    if !granted.record.is_live() {
        let operations = api.runtimes.runtime_operations(runtime, None, OPERATIONS_MAX).await?;
        let done = operations.into_iter().find(|operation| {
            OperationKind::of(&operation.process).is_some_and(OperationKind::deprovisions)
                && operation.state == OperationState::Succeeded
        });
        return match done {
            Some(operation) => Ok(operation.id.to_string()),
            None => Err(ApiError::not_found("runtime", runtime).about(runtime)),
        };
    }
    request.observed(&granted.record).await?;
    let has_kyma = api.runtimes.kyma(runtime).await?.is_some();
    let kind = if has_kyma { OperationKind::Deprovision } else { OperationKind::DeprovisionNoInstall };
    match request.start(&granted, kind, "deprovisionRuntime", Change::default()).await {
        Ok(operation) => Ok(operation.id.to_string()),
        Err(error) if error.reason == Reason::OperationInProgress => {
            // A removal under way is what was asked for.
            let running = api.last_operation(runtime).await?;
            let removing = running.filter(|operation| {
                !operation.state.is_finished()
                    && OperationKind::of(&operation.process).is_some_and(OperationKind::deprovisions)
            });
            match removing {
                Some(operation) => {
                    request.settle_tenant(&granted, "deprovisionRuntime").await?;
                    Ok(operation.id.to_string())
                }
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}
