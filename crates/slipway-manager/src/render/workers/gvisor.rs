//! Workloads in gVisor may use raw sockets, as they may elsewhere, unless the pool says otherwise.

use serde_json::{Value, json};
use slipway_kube::runtime::Worker;

use super::super::Context;

const GVISOR: &str = "gvisor";
const API_VERSION: &str = "gvisor.runtime.extensions.config.gardener.cloud/v1alpha1";
const FLAG: &str = "net-raw";

pub(super) fn allow_raw_sockets(_: &Context<'_>, worker: &mut Worker, _: Option<&Value>) {
    let Some(cri) = &mut worker.cri else { return };
    for runtime in cri.container_runtimes.iter_mut().filter(|runtime| runtime.runtime_type == GVISOR) {
        let config = runtime.provider_config.get_or_insert_default();
        config.entry("apiVersion").or_insert_with(|| json!(API_VERSION));
        config.entry("kind").or_insert_with(|| json!("GVisorConfiguration"));
        let flags = config.entry("configFlags").or_insert_with(|| json!({}));
        if let Some(flags) = flags.as_object_mut() {
            flags.entry(FLAG).or_insert_with(|| json!("true"));
        }
    }
}
