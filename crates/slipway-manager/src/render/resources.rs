//! Secrets that extensions of the Shoot refer to. The list is written whole.

use serde_json::{Value, json};

use super::{
    Context, RenderError,
    draft::{Draft, list, upsert},
};

/// Under which name the audit log finds its credentials.
pub(super) const AUDIT_CREDENTIALS: &str = "auditlog-credentials";

/// How the Secrets of registry caches are named; by it the ones that are no longer used are told
/// from the Secrets of others.
const REGISTRY_CACHE_PREFIX: &str = "reg-cache-";

pub(super) fn create(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    write(draft, audit(context).into_iter().collect());
    Ok(())
}

pub(super) fn patch(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let wanted: Vec<_> = context
        .input
        .registry_secrets
        .iter()
        .map(|secret| secret_ref(&secret.secret_name, &secret.secret_name))
        .collect();
    let mut resources = list(context.existing("spec.resources"));
    resources.retain(|entry| {
        let is_cache = entry["name"].as_str().is_some_and(|name| name.starts_with(REGISTRY_CACHE_PREFIX));
        !is_cache || wanted.iter().any(|one| one["name"] == entry["name"])
    });
    for entry in audit(context).into_iter().chain(wanted) {
        upsert(&mut resources, "name", entry);
    }
    write(draft, resources);
    Ok(())
}

fn audit(context: &Context<'_>) -> Option<Value> {
    context.input.audit.map(|audit| secret_ref(AUDIT_CREDENTIALS, &audit.secret_name))
}

fn secret_ref(name: &str, secret: &str) -> Value {
    json!({ "name": name, "resourceRef": { "apiVersion": "v1", "kind": "Secret", "name": secret } })
}

fn write(draft: &mut Draft, resources: Vec<Value>) {
    if !resources.is_empty() {
        draft.set("spec.resources", resources);
    }
}
