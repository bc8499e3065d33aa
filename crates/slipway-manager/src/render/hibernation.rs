//! Whether the cluster sleeps, where somebody said so. Schedules are not ours.

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    draft.set_some("spec.hibernation.enabled", context.shoot.extras.hibernation.map(|hibernation| hibernation.enabled));
    Ok(())
}
