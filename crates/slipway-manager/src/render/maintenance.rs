//! What Gardener may update by itself, and when.

use serde_json::json;

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let kubernetes = &context.converter.kubernetes;
    draft.set(
        "spec.maintenance.autoUpdate",
        json!({
            "kubernetesVersion": kubernetes.enable_kubernetes_version_auto_update,
            "machineImageVersion": kubernetes.enable_machine_image_version_auto_update,
        }),
    );
    let window = context.input.window.filter(|_| context.shoot.purpose == "production").map(|window| json!(window));
    // A window that was given once stays: without one Gardener would draw another at random.
    let window = window.or_else(|| context.existing("spec.maintenance.timeWindow").cloned());
    draft.set_some("spec.maintenance.timeWindow", window);
    Ok(())
}
