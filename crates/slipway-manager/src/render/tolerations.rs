//! Seeds with a taint that clusters of a region bear. On creation only: where a cluster is does not
//! change because a file does.

use serde_json::json;

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    if let Some(tolerations) = context.converter.tolerations.get(&context.shoot.region) {
        draft.set("spec.tolerations", json!(tolerations));
    }
    Ok(())
}
