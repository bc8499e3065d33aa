//! A worker pool: Gardener's, passed through.
//!
//! Typed are the fields that rendering reads or changes. Everything else (volumes, labels, taints,
//! surge, and what Gardener will add next year) is in `rest` and survives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Raw, rules};

/// A worker pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rules::minimum_below_maximum()]))]
pub struct Worker {
    /// Name of the pool. Gardener makes machine names from it and takes 15 characters.
    #[schemars(length(max = 15))]
    pub name: String,
    /// The machines.
    pub machine: Machine,
    /// The least number of machines.
    pub minimum: i32,
    /// The greatest number of machines.
    pub maximum: i32,
    /// Where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 63)))]
    pub zones: Vec<String>,
    /// The cloud's own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules::any_object")]
    pub provider_config: Option<Raw>,
    /// How machines are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<String>,
    /// How patiently machines are drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_controller_manager: Option<MachineControllerManager>,
    /// Version and kubelet of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<WorkerKubernetes>,
    /// The container runtimes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cri: Option<Cri>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}

/// The machines of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The machine type, in the cloud's words.
    #[serde(rename = "type")]
    pub machine_type: String,
    /// The operating system. Empty name or version means unset: the configured default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<MachineImage>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}

/// An operating system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineImage {
    /// Its name.
    #[serde(default)]
    #[schemars(transform = rules::without_default)]
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}

/// How patiently machines are drained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineControllerManager {
    /// How often an eviction is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    /// How long draining may take, as Go writes durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_drain_timeout: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}

/// Version and kubelet of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerKubernetes {
    /// The kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules::any_object")]
    pub kubelet: Option<Raw>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}

/// The container runtimes of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cri {
    /// Which one; `containerd`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Runtimes beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub container_runtimes: Vec<ContainerRuntime>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}

/// A container runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRuntime {
    /// Its type, such as `gvisor`.
    #[serde(rename = "type")]
    pub runtime_type: String,
    /// Its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rules::any_object")]
    pub provider_config: Option<Raw>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Raw,
}
