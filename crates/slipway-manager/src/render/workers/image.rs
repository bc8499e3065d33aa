//! The operating system: as asked, else as configured, and never a lower version than runs.

use serde_json::Value;
use slipway_kube::runtime::Worker;

use super::super::{Context, draft::given};
use crate::version::is_higher;

pub(super) fn fill(context: &Context<'_>, worker: &mut Worker, pool: Option<&Value>) {
    let defaults = &context.converter.machine_image;
    let image = worker.machine.image.get_or_insert_default();
    if image.name.is_empty() {
        image.name.clone_from(&defaults.default_name);
    }
    let version = given(image.version.as_ref()).unwrap_or(&defaults.default_version);
    let running = pool.map(|pool| &pool["machine"]["image"]).filter(|running| running["name"] == image.name.as_str());
    let running = running.and_then(|running| running["version"].as_str()).filter(|running| is_higher(running, version));
    image.version = Some(running.unwrap_or(version).to_owned());
}
