//! What Gardener may update by itself, and when.

use serde_json::json;

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let kubernetes = &context.converter.kubernetes;
    // What the Runtime says goes over what holds for all.
    let own = context.shoot.extras.maintenance.as_ref().map(|maintenance| &maintenance.auto_update);
    let of_kubernetes =
        own.map_or(kubernetes.enable_kubernetes_version_auto_update, |update| update.kubernetes_version);
    let of_images =
        own.map_or(kubernetes.enable_machine_image_version_auto_update, |update| update.machine_image_version);
    draft.set(
        "spec.maintenance.autoUpdate",
        json!({ "kubernetesVersion": of_kubernetes, "machineImageVersion": of_images }),
    );
    let window = context.input.window.filter(|_| context.shoot.purpose == "production").map(|window| json!(window));
    // A window that was given once stays: without one Gardener would draw another at random.
    let window = window.or_else(|| context.existing("spec.maintenance.timeWindow").cloned());
    draft.set_some("spec.maintenance.timeWindow", window);
    Ok(())
}
