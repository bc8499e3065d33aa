//! The Kubernetes version: never lower than the one that runs.

use serde_json::Value;

use super::{
    Context, RenderError,
    draft::{Draft, given},
};
use crate::version::is_higher;

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let asked = given(context.shoot.kubernetes.version.as_ref());
    let wanted = asked.unwrap_or(&context.converter.kubernetes.default_version);
    let running = context.existing("spec.kubernetes.version").and_then(Value::as_str);
    let version = match running {
        Some(running) if is_higher(running, wanted) => {
            // `1.34` is not a wish for 1.34.0, and a default is nobody's wish.
            if asked.is_some_and(|asked| !running.starts_with(&format!("{asked}."))) {
                let message =
                    format!("{wanted} is lower than {running}, which runs and stays; clusters cannot go back");
                draft.note("spec.shoot.kubernetes.version", message);
            }
            running
        }
        _ => wanted,
    };
    draft.set("spec.kubernetes.version", version);
    Ok(())
}
