//! How patiently machines are drained, where the pool does not say.

use serde_json::Value;
use slipway_kube::runtime::Worker;

use super::super::{Context, draft::given};
use crate::go_duration;

/// Where the configuration has empty texts.
const RETRIES: i32 = 2;
const TIMEOUT: &str = "15m0s";

pub(super) fn fill(context: &Context<'_>, worker: &mut Worker, _: Option<&Value>) {
    let defaults = &context.converter.provider.worker;
    let drain = worker.machine_controller_manager.get_or_insert_default();
    drain.max_evict_retries.get_or_insert_with(|| defaults.default_max_evict_retries.parse().unwrap_or(RETRIES));
    if given(drain.machine_drain_timeout.as_ref()).is_none() {
        let timeout = go_duration::parse(&defaults.default_machine_drain_timeout).map(go_duration::format);
        drain.machine_drain_timeout = Some(timeout.unwrap_or_else(|| TIMEOUT.to_owned()));
    }
}
