//! What the cloud offers, and how its API servers are exposed.

use serde_json::{Value, json};
use slipway_kube::cloud::CLOUD_PROFILE_MEMBER;

use super::{
    Context, RenderError,
    draft::{Draft, given},
};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let (extras, data) = (&context.shoot.extras, &context.cloud.data);
    let landscape = context.landscape();
    let of_landscape = landscape.get(CLOUD_PROFILE_MEMBER).and_then(Value::as_str);
    let configured = context.converter.provider.cloud_profiles.get(&context.shoot.provider.provider_type);
    let configured = configured.map(String::as_str).or(of_landscape).filter(|name| !name.is_empty());
    // What the Runtime says goes over what is configured, and that over what is usual.
    let name = given(extras.cloud_profile_name.as_ref());
    let name = name.or(configured).unwrap_or(&data.cloud_profile);
    draft.set("spec.cloudProfile", json!({ "kind": "CloudProfile", "name": name }));
    let exposure = given(extras.exposure_class_name.as_ref()).or(data.exposure_class.as_deref());
    draft.set_some("spec.exposureClassName", exposure);
    Ok(())
}
