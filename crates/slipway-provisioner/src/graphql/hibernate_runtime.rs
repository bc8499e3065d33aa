//! `hibernateRuntime` and `wakeUpRuntime`: whether a cluster sleeps is part of what is asked of it, so
//! both are a further revision of it.

use slipway_model::Reason;

use super::{
    operation_status::OperationStatus,
    request::{Change, Request},
    upgrade_shoot::{living, new_config},
};
use crate::{OperationKind, api::Begin, auth::Scope, errors::ApiError};

pub(super) async fn hibernate(request: &Request, id: String) -> Result<OperationStatus, ApiError> {
    sleep(request, id, true).await
}

pub(super) async fn wake_up(request: &Request, id: String) -> Result<OperationStatus, ApiError> {
    sleep(request, id, false).await
}

async fn sleep(request: &Request, id: String, hibernated: bool) -> Result<OperationStatus, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let runtime = granted.record.id;
    if hibernated {
        let observed = request.observed(&granted.record).await?;
        let facts = observed.as_ref().and_then(|observed| observed.status.as_ref()).map(|status| &status.facts);
        if let Some(facts) = facts.filter(|facts| facts.hibernation_possible == Some(false)) {
            let why = facts.hibernation_message.as_deref().unwrap_or("Gardener does not say why");
            let message = format!("the cluster cannot be put to sleep: {why}");
            return Err(ApiError::bad(Reason::HibernationNotPossible, message).about(runtime));
        }
    }
    let mut living = living(request, &granted.record).await?;
    living.spec.hibernated = hibernated;
    let change = Change {
        config: Some(new_config(&living.spec, &living.secrets)?),
        begin: Begin { changes_cluster: true, ..Begin::default() },
        paths: vec!["hibernated".to_owned()],
        kyma: None,
    };
    let (kind, action) = match hibernated {
        true => (OperationKind::Hibernate, "hibernateRuntime"),
        false => (OperationKind::WakeUp, "wakeUpRuntime"),
    };
    let operation = request.start(&granted, kind, action, change).await?;
    Ok(OperationStatus::new(operation, kind).with_director_id(granted.record.director_id))
}
