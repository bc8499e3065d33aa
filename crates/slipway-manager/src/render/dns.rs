//! A domain of our own, where the landscape has one.

use serde_json::{Value, json};
use slipway_kube::runtime::{Dns, DnsProvider};

use super::{Context, RenderError, draft::Draft};

/// The domain of a cluster below our own.
pub(super) fn domain(context: &Context<'_>) -> String {
    format!("{}.{}", context.shoot.name, context.converter.dns.domain_prefix)
}

pub(super) fn create(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let config = &context.converter.dns;
    if let Some(own) = &context.shoot.extras.dns {
        draft.set("spec.dns", of_runtime(own));
    } else if !config.is_internal() {
        let domain = domain(context);
        let provider = json!({
            "primary": true, "type": config.provider_type, "domains": { "include": [domain] },
            "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": config.secret_name },
        });
        draft.set("spec.dns", json!({ "domain": domain, "providers": [provider] }));
    }
    Ok(())
}

/// What the Runtime says goes over what is configured for all.
fn of_runtime(own: &Dns) -> Value {
    let provider = |provider: &DnsProvider| {
        json!({
            "primary": provider.primary, "type": provider.provider_type,
            "domains": { "include": provider.domains_include },
            "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": provider.secret_name },
        })
    };
    let mut dns = json!({ "domain": own.domain });
    if !own.providers.is_empty() {
        dns["providers"] = own.providers.iter().map(provider).collect();
    }
    dns
}

/// A domain never changes, so a cluster with Gardener's keeps it whatever is configured now.
pub(super) fn patch(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let existing = context.existing("spec.dns");
    let has_providers = |dns: &Value| dns["providers"].as_array().is_some_and(|list| !list.is_empty());
    match existing {
        Some(dns) if context.shoot.extras.dns.is_some() => draft.set("spec.dns", dns.clone()),
        Some(dns) if !has_providers(dns) || context.converter.dns.is_internal() => draft.set("spec.dns", dns.clone()),
        _ => create(context, draft)?,
    }
    Ok(())
}
