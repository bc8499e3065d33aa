//! Which requests are logged for the auditors.

use slipway_kube::{annotations, shoot::EXPERIMENTAL_AUDIT_POLICY};

use super::{Context, RenderError, draft::Draft};

const PATH: &str = "spec.kubernetes.kubeAPIServer.auditConfig";

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    if context.input.audit.is_none() {
        draft.set_some(PATH, context.existing(PATH).cloned());
        return Ok(());
    }
    let wish = context.input.runtime.annotation(annotations::EXPERIMENTAL_AUDIT_POLICY);
    let policy = match wish {
        Some(wish) if wish.eq_ignore_ascii_case("true") => EXPERIMENTAL_AUDIT_POLICY,
        _ => &context.converter.audit_logging.policy_config_map_name,
    };
    draft.set("spec.kubernetes.kubeAPIServer.auditConfig.auditPolicy.configMapRef.name", policy);
    Ok(())
}
