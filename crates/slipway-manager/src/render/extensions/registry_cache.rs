//! Caches of image registries, as the customer's cluster asked for them.

use serde_json::{Value, json};
use slipway_kube::runtime::ImageRegistryCache;

use super::super::Context;

/// The type of the extension.
pub const TYPE: &str = "registry-cache";

pub(super) fn wanted(context: &Context<'_>) -> Option<Value> {
    let caches = &context.input.runtime.spec.image_registry_cache;
    if caches.is_empty() {
        return None;
    }
    let caches: Vec<Value> = caches.iter().map(|cache| entry(context, cache)).collect();
    Some(json!({
        "type": TYPE, "disabled": false,
        "providerConfig": {
            "apiVersion": "registry.extensions.gardener.cloud/v1alpha3", "kind": "RegistryConfig", "caches": caches,
        },
    }))
}

/// As it was asked for, but the Secret is the one in the garden.
fn entry(context: &Context<'_>, cache: &ImageRegistryCache) -> Value {
    let mut entry = json!(cache.config);
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("secretReferenceName");
        let secret = context.input.registry_secrets.iter().find(|secret| secret.cache_uid == cache.uid);
        if let Some(secret) = secret {
            entry.insert("secretReferenceName".to_owned(), json!(secret.secret_name));
        }
    }
    entry
}
