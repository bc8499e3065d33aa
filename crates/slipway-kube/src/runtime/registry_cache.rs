//! Caches of image registries.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// One cache: where it was asked for, and what it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageRegistryCache {
    /// Name of the resource that asked for it.
    pub name: String,
    /// Namespace of that resource.
    pub namespace: String,
    /// Its identity.
    pub uid: String,
    /// The cache.
    pub config: RegistryCacheConfig,
}

/// A cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryCacheConfig {
    /// The registry it stands before.
    pub upstream: String,
    /// Where that registry really is.
    #[serde(default, rename = "remoteURL", skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<String>,
    /// Secret with the credentials for the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_reference_name: Option<String>,
    /// How the registry is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<RegistryCacheProxy>,
    /// How the cache is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<RegistryCacheHttp>,
    /// Where it keeps images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<RegistryCacheVolume>,
    /// When it forgets images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub garbage_collection: Option<GarbageCollection>,
}

/// How a registry is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryCacheProxy {
    /// For plain requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// For encrypted requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
}

/// How a cache is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryCacheHttp {
    /// Whether encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
}

/// Where a cache keeps images.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryCacheVolume {
    /// How much room.
    #[serde(default = "ten_gib")]
    pub size: Option<String>,
    /// On what storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
}

/// When a cache forgets images.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["ttl"]))]
pub struct GarbageCollection {
    /// After which time, as Go writes durations.
    #[serde(default = "one_week")]
    #[schemars(extend("default" = "168h"))]
    pub ttl: String,
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional field")]
fn ten_gib() -> Option<String> {
    Some("10Gi".to_owned())
}

fn one_week() -> String {
    "168h".to_owned()
}

/// The list; or what stood in its place before: a switch, which asks for no cache by name.
pub(super) fn list_or_switch<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ImageRegistryCache>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<ImageRegistryCache>),
        Switch {},
    }
    Ok(match Option::<Either>::deserialize(from)? {
        Some(Either::List(list)) => list,
        Some(Either::Switch {}) | None => Vec::new(),
    })
}
