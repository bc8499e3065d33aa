//! What the cloud offers, and how its API servers are exposed.

use serde_json::json;
use slipway_kube::runtime::ProviderType;

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let config = &context.converter.provider;
    let provider = context.shape.provider;
    let configured = match provider {
        ProviderType::Gdch => Some(&config.gdch.cloud_profile_name),
        _ => None,
    };
    let configured = config.cloud_profiles.get(&provider).or(configured).filter(|name| !name.is_empty());
    let name = configured.map_or(context.shape.cloud_profile, String::as_str);
    draft.set("spec.cloudProfile", json!({ "kind": "CloudProfile", "name": name }));
    draft.set_some("spec.exposureClassName", context.shape.exposure_class);
    Ok(())
}
