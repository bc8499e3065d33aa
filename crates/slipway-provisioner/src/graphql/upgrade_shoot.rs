//! `upgradeShoot`, and what every change of a living cluster begins with.

use slipway_model::{JsonText, ports::NewConfig, runtime_record::RuntimeRecord};

use super::{
    operation_status::OperationStatus,
    request::{Change, Request},
};
use crate::{
    OperationKind,
    api::Begin,
    auth::Scope,
    errors::ApiError,
    input::{self, Changed, ClusterSecrets, ClusterSpec, Living, spec::SCHEMA_VERSION, wire::UpgradeShootInput},
};

pub(super) async fn resolve(
    request: &Request,
    id: String,
    config: UpgradeShootInput,
) -> Result<OperationStatus, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let living = living(request, &granted.record).await?;
    let changed = input::upgrade_shoot(config, &living, &request.api.settings)
        .map_err(|found| ApiError::from(found).about(granted.record.id))?;
    let change = Change {
        config: Some(new_config(&changed.spec, &changed.secrets)?),
        begin: Begin { changes_cluster: true, changes_kyma: false, warnings: changed.warnings },
        paths: changed.paths,
        kyma: None,
    };
    let kind = OperationKind::UpgradeShoot;
    let operation = request.start(&granted, kind, "upgradeShoot", change).await?;
    Ok(OperationStatus::new(operation, kind).with_director_id(granted.record.director_id))
}

/// A cluster as it was last asked for, and what is known of it. Where Kubernetes cannot be asked, what
/// is stored must do: the operation looks again before it writes.
pub(super) async fn living(request: &Request, record: &RuntimeRecord) -> Result<Living, ApiError> {
    let api = &*request.api;
    let stored = api.runtimes.config(record.id, None).await?;
    let stored = stored.ok_or_else(|| ApiError::not_found("configuration of runtime", record.id).about(record.id))?;
    let unreadable = |error: serde_json::Error| {
        tracing::error!(%error, runtime = %record.id, "a stored document cannot be read");
        ApiError::internal().about(record.id)
    };
    let spec: ClusterSpec = stored.spec.to().map_err(unreadable)?;
    let secrets = ClusterSecrets::open(stored.secrets.as_ref()).map_err(unreadable)?;
    let runtime = request.observed(record).await?;
    let facts = runtime.as_ref().and_then(|runtime| runtime.status.as_ref()).map(|status| &status.facts);
    Ok(Living {
        actual_version: facts.and_then(|facts| facts.kubernetes_version.clone()),
        actual_seed: facts.and_then(|facts| facts.seed_name.clone()),
        filter_disabled: runtime.as_ref().map(|runtime| !runtime.spec.security.networking.filter.egress.enabled),
        spec,
        secrets,
    })
}

/// A further revision of a cluster.
pub(super) fn new_config(spec: &ClusterSpec, secrets: &ClusterSecrets) -> Result<NewConfig, ApiError> {
    Ok(NewConfig {
        schema_version: SCHEMA_VERSION,
        spec: JsonText::of(spec).map_err(|_| ApiError::internal())?,
        secrets: Some(secrets.seal()),
    })
}

/// The same for a change.
pub(super) fn revision(changed: &Changed) -> Result<NewConfig, ApiError> {
    new_config(&changed.spec, &changed.secrets)
}
