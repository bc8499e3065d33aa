//! Whose account in the cloud pays.

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let path = match context.converter.gardener.enable_credential_binding {
        true => "spec.credentialsBindingName",
        false => "spec.secretBindingName",
    };
    draft.set(path, context.shoot.secret_binding_name.as_str());
    Ok(())
}
