//! Machines of AWS give out their metadata only to whoever asks by the second version of the
//! protocol, which a request forged through a workload cannot.

use serde_json::{Value, json};
use slipway_kube::runtime::{ProviderType, Worker};

use super::super::Context;

pub(super) fn require(context: &Context<'_>, worker: &mut Worker, _: Option<&Value>) {
    if context.shape.provider != ProviderType::Aws || !context.converter.provider.aws.enable_imdsv2 {
        return;
    }
    let config = json!({
        "apiVersion": context.shape.api_version, "kind": "WorkerConfig",
        "instanceMetadataOptions": { "httpTokens": "required", "httpPutResponseHopLimit": 2 },
    });
    worker.provider_config = config.as_object().cloned();
}
