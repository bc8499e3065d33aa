//! `rollBackUpgradeOperation`: bookkeeping, after somebody restored the cluster from a backup. The
//! cluster is not touched.

use slipway_model::{Reason, ports::RolledBack};

use super::request::Request;
use crate::{
    auth::Scope,
    errors::ApiError,
    status::{self, RuntimeStatus},
};

pub(super) async fn resolve(request: &Request, id: String) -> Result<RuntimeStatus, ApiError> {
    let tenant = request.writes(Scope::Write)?;
    let granted = request.live_runtime(&id, &tenant).await?;
    let api = &*request.api;
    let runtime = granted.record.id;
    let audit = request.audit("rollBackUpgradeOperation", vec!["kyma".to_owned()]);
    match api.runtimes.roll_back_kyma(runtime, &audit, api.now()).await? {
        RolledBack::Done(_) => {}
        RolledBack::NotAllowed(why) => {
            return Err(
                ApiError::bad(Reason::RollbackNotAllowed, format!("nothing can be rolled back: {why}")).about(runtime)
            );
        }
    }
    request.settle_tenant(&granted, "rollBackUpgradeOperation").await?;
    let record = api.runtimes.runtime(runtime).await?.unwrap_or(granted.record);
    status::assemble(request, &record).await
}
