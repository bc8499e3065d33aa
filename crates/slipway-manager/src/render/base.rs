//! Name, place, networks, high availability: what comes from the Runtime as it is.

use serde_json::{Value, json};

use super::{
    Context, RenderError,
    draft::{Draft, given},
};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let shoot = context.shoot;
    draft.set("apiVersion", "core.gardener.cloud/v1beta1");
    draft.set("kind", "Shoot");
    draft.set("metadata.name", shoot.name.as_str());
    draft.set("metadata.namespace", context.input.config.namespace());
    draft.set("spec.purpose", shoot.purpose.as_str());
    draft.set("spec.region", shoot.region.as_str());
    draft.set_some("spec.networking.type", given(shoot.networking.network_type.as_ref()));
    for (path, network) in [
        ("spec.networking.nodes", &shoot.networking.nodes),
        ("spec.networking.pods", &shoot.networking.pods),
        ("spec.networking.services", &shoot.networking.services),
    ] {
        draft.set(path, network.as_str());
    }
    let wanted = shoot.control_plane.clone().map(Value::Object);
    // A control plane that survives a failure cannot become one that does not.
    let existing = context.existing("spec.controlPlane").filter(|_| wanted.is_none());
    if existing.is_some_and(|existing| existing.get("highAvailability").is_some_and(|ha| *ha != json!({}))) {
        draft.note("spec.shoot.controlPlane", "is gone, but a control plane keeps its high availability");
    }
    draft.set_some("spec.controlPlane", wanted.or_else(|| existing.cloned()));
    Ok(())
}
