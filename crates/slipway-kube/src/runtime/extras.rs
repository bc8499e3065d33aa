//! What the provisioner's clients may ask for, and want to know, beside what the reference has.
//!
//! All of it is optional, so that objects written for the reference are read unchanged and objects
//! written by us are understood by it as far as it goes. It stands in a file of its own and is
//! flattened into its parents: who reads the reference's fields does not stumble over these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be asked for beside the reference's fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShootExtras {
    /// The seed that hosts the control plane. Absent: Gardener chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// How the API server is exposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure_class_name: Option<String>,
    /// The cloud profile. Absent: the provider's usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_profile_name: Option<String>,
    /// What Gardener may do by itself. Absent: as configured for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// The domain and who serves it. Absent: as configured for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// Only people in the EU may have access. Absent: decided by the platform's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eu_access: Option<bool>,
    /// Whether it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernation: Option<Hibernation>,
}

/// What Gardener may do by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maintenance {
    /// Which versions it may raise.
    pub auto_update: AutoUpdate,
}

/// Which versions Gardener may raise by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoUpdate {
    /// That of Kubernetes.
    pub kubernetes_version: bool,
    /// That of the machine image.
    pub machine_image_version: bool,
}

/// The domain and who serves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dns {
    /// The domain.
    pub domain: String,
    /// Who serves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<DnsProvider>,
}

/// Who serves a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DnsProvider {
    /// Which domains it serves.
    pub domains_include: Vec<String>,
    /// Whether it serves the cluster's own domain.
    pub primary: bool,
    /// The Secret with its credentials.
    pub secret_name: String,
    /// Its type, in Gardener's words.
    #[serde(rename = "type")]
    pub provider_type: String,
}

/// Whether a cluster sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hibernation {
    /// It does.
    pub enabled: bool,
}

/// What the cluster is really like, as far as Gardener has told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterFacts {
    /// The seed that hosts the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// The cluster's domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The Kubernetes version it has; maintenance may have raised it beyond what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Whether it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernated: Option<bool>,
    /// Whether it could be put to sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernation_possible: Option<bool>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hibernation_message: Option<String>,
}
