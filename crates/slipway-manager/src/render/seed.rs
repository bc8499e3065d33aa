//! The Seed, where somebody chose one.
//!
//! Gardener binds a Shoot once. On a Shoot that lives the Seed it has is written back as long as one was
//! chosen: the field is ours then, and an apply without it would ask Gardener to take the Seed away.

use super::{
    Context, RenderError,
    draft::{Draft, given},
};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let Some(wanted) = given(context.shoot.extras.seed_name.as_ref()) else { return Ok(()) };
    let bound = context.existing("spec.seedName").and_then(|name| name.as_str());
    if bound.is_some_and(|bound| bound != wanted) {
        draft.note("spec.shoot.seedName", "is another Seed than the one the cluster is on; it stays where it is");
    }
    draft.set("spec.seedName", bound.unwrap_or(wanted));
    Ok(())
}
