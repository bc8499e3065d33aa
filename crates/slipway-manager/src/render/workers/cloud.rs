//! What the cloud's machines must be told in this landscape.

use serde_json::Value;
use slipway_kube::runtime::Worker;

use super::super::Context;

pub(super) fn require(context: &Context<'_>, worker: &mut Worker, _: Option<&Value>) {
    if let Some(config) = context.cloud.machines(&context.landscape()) {
        worker.provider_config = Some(config);
    }
}
