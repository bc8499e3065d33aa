//! What the cloud offers, and how its API servers are exposed.

use serde_json::json;
use slipway_kube::runtime::ProviderType;

use super::{
    Context, RenderError,
    draft::{Draft, given},
};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let config = &context.converter.provider;
    let provider = context.shape.provider;
    let configured = match provider {
        ProviderType::Gdch => Some(&config.gdch.cloud_profile_name),
        _ => None,
    };
    let configured = config.cloud_profiles.get(&provider).or(configured).filter(|name| !name.is_empty());
    // What the Runtime says goes over what is configured, and that over what is usual.
    let extras = &context.shoot.extras;
    let name = given(extras.cloud_profile_name.as_ref());
    let name = name.unwrap_or_else(|| configured.map_or(context.shape.cloud_profile, String::as_str));
    draft.set("spec.cloudProfile", json!({ "kind": "CloudProfile", "name": name }));
    let exposure = given(extras.exposure_class_name.as_ref()).or(context.shape.exposure_class);
    draft.set_some("spec.exposureClassName", exposure);
    Ok(())
}
