//! A control plane in the same region, where the law or the customer wants it.

use serde_json::json;
use slipway_kube::labels;

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let shoot = context.shoot;
    if shoot.enforce_seed_location == Some(true) && !shoot.region.is_empty() {
        draft.set("spec.seedSelector", json!({ "matchLabels": { labels::SEED_REGION: shoot.region } }));
    } else {
        // Gardener refuses to unset it, and an exposure class may have added to it.
        draft.set_some("spec.seedSelector", context.existing("spec.seedSelector").cloned());
    }
    Ok(())
}
