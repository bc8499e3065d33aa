//! IPv6 beside IPv4, and what a cloud's network needs. On creation only: addresses do not move.

use serde_json::json;

use super::{Context, RenderError, draft::Draft};

/// Whether a new cluster has IPv6 addresses too.
pub(super) fn is_dual_stack(context: &Context<'_>) -> bool {
    context.shoot.networking.dual_stack == Some(true)
        && context.converter.networking.enable_dual_stack_ip
        && context.cloud.has_dual_stack
}

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    if is_dual_stack(context) {
        draft.set("spec.networking.ipFamilies", json!(["IPv4", "IPv6"]));
    }
    if context.cloud.needs_overlay {
        draft.set(
            "spec.networking.providerConfig",
            json!({
                "apiVersion": "calico.networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig",
                "vxlan": { "enabled": true }, "overlay": { "enabled": true },
            }),
        );
    }
    Ok(())
}
