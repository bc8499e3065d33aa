//! Records for services and ingresses inside the cluster.

use serde_json::{Value, json};

use super::super::{Context, dns};

pub(super) const TYPE: &str = "shoot-dns-service";

pub(super) fn wanted(context: &Context<'_>) -> Option<Value> {
    let config = &context.converter.dns;
    let mut entry = json!({
        "type": TYPE,
        "providerConfig": {
            "apiVersion": "service.dns.extensions.gardener.cloud/v1alpha1", "kind": "DNSConfig",
            "dnsProviderReplication": { "enabled": true }, "syncProvidersFromShootSpecDNS": true,
        },
    });
    if !config.is_internal() && context.shoot.extras.dns.is_none() {
        entry["providerConfig"]["providers"] = json!([{
            "domains": { "include": [dns::domain(context)] }, "type": config.provider_type,
            "credentials": format!("shoot-dns-service-{}", config.secret_name),
        }]);
    }
    Some(entry)
}

/// Old clusters with Gardener's own domain have none, and keep it so.
pub(super) fn has_providers(entry: &Value) -> bool {
    entry["providerConfig"]["providers"].as_array().is_some_and(|list| !list.is_empty())
}
