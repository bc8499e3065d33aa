//! Access for people in the EU only: where the Runtime says so, or else in the regions that promise it.

use serde_json::json;

use super::{
    Context, RenderError,
    draft::{Draft, list, upsert},
};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let existing = context.existing("spec.accessRestrictions");
    let by_region = || context.converter.eu_access.platform_regions.contains(&context.shoot.platform_region);
    let is_restricted = context.shoot.extras.eu_access.unwrap_or_else(by_region);
    if is_restricted {
        // The list is written whole, so what others put there goes with it.
        let mut restrictions = list(existing);
        let restriction = json!({
            "name": "eu-access-only",
            "options": {
                "support.gardener.cloud/eu-access-for-cluster-addons": "true",
                "support.gardener.cloud/eu-access-for-cluster-nodes": "true",
            },
        });
        upsert(&mut restrictions, "name", restriction);
        draft.set("spec.accessRestrictions", restrictions);
    } else {
        draft.set_some("spec.accessRestrictions", existing.cloned());
    }
    Ok(())
}
