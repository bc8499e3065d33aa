//! `upgradeRuntime`: Kyma, the Kubernetes version, or both, in one operation.

use slipway_model::{JsonText, Reason, ports::NewKyma};

use super::{
    operation_status::OperationStatus,
    provision_runtime::draw_uuid,
    request::{Change, Request},
    upgrade_shoot::{living, revision},
};
use crate::{
    OperationKind,
    api::Begin,
    auth::Scope,
    errors::ApiError,
    input::{self, kyma, wire::UpgradeRuntimeInput},
};

pub(super) async fn resolve(
    request: &Request,
    id: String,
    config: UpgradeRuntimeInput,
) -> Result<OperationStatus, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let api = &*request.api;
    let runtime = granted.record.id;
    let UpgradeRuntimeInput { kyma_config, cluster_config } = config;
    if kyma_config.is_none() && cluster_config.is_none() {
        return Err(ApiError::field("config", "V5", "needs kymaConfig, clusterConfig or both").about(runtime));
    }
    let mut change = Change::default();
    if let Some(cluster) = cluster_config {
        let living = living(request, &granted.record).await?;
        let changed =
            input::upgrade_version(&cluster.version, &living).map_err(|found| ApiError::from(found).about(runtime))?;
        change.config = Some(revision(&changed)?);
        change.begin.changes_cluster = true;
        change.begin.warnings = changed.warnings;
        change.paths = changed.paths;
    }
    if let Some(kyma) = kyma_config {
        let (spec, secrets) =
            kyma::upgrade(kyma, &api.settings).map_err(|found| ApiError::from(found).about(runtime))?;
        if api.runtimes.kyma(runtime).await?.is_none() {
            let message = "Kyma was not installed in this runtime by the provisioner, so it cannot be upgraded by it";
            return Err(ApiError::bad(Reason::KymaNotManaged, message).about(runtime));
        }
        change.kyma = Some(NewKyma {
            id: draw_uuid(api),
            spec: JsonText::of(&spec).map_err(|_| ApiError::internal())?,
            secrets: secrets.seal(),
            is_upgrade: true,
        });
        change.begin = Begin { changes_kyma: true, ..change.begin };
        change.paths.push("kyma".to_owned());
    }
    let kind = OperationKind::Upgrade;
    let operation = request.start(&granted, kind, "upgradeRuntime", change).await?;
    Ok(OperationStatus::new(operation, kind).with_director_id(granted.record.director_id))
}
