//! What became of a Runtime.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClusterFacts, rules::without_default};

/// What became of a Runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeStatus {
    /// In one word; the only field the broker decides on.
    pub state: RuntimeState,
    /// In detail, one per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The generation of the Runtime this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Whether it was ever ready. Set once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_completed: Option<bool>,
    /// The generation of the Shoot that was last known to be as it should be: what is beyond it somebody changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligned_shoot_generation: Option<i64>,
    /// What Gardener does with the Shoot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shoot_last_operation: Option<LastOperation>,
    /// What went wrong while it did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shoot_last_errors: Vec<LastError>,
    /// Name of the customer's own audit log.
    #[serde(default, rename = "auditLogCR", skip_serializing_if = "Option::is_none")]
    pub audit_log_cr: Option<String>,
    /// What the cluster is really like.
    #[serde(flatten)]
    pub facts: ClusterFacts,
}

/// A Runtime in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum RuntimeState {
    /// Something is to be done.
    #[default]
    Pending,
    /// All is as it was asked for.
    Ready,
    /// It is being deleted.
    Terminating,
    /// Somebody must change something.
    Failed,
}

impl RuntimeState {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Ready => "Ready",
            Self::Terminating => "Terminating",
            Self::Failed => "Failed",
        }
    }
}

/// What Gardener does with a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    /// In a sentence.
    #[serde(default)]
    #[schemars(transform = without_default)]
    pub description: String,
    /// When this was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// How much of it is done, in percent.
    #[serde(default)]
    #[schemars(transform = without_default)]
    pub progress: i32,
    /// `Processing`, `Succeeded`, `Error`, `Failed`, `Pending` or `Aborted`.
    #[serde(default)]
    #[schemars(transform = without_default)]
    pub state: String,
    /// `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore` or `LiveMigrate`.
    #[serde(default, rename = "type")]
    #[schemars(transform = without_default)]
    pub operation_type: String,
}

/// What went wrong with a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// In a sentence.
    #[serde(default)]
    #[schemars(transform = without_default)]
    pub description: String,
    /// In Gardener's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// In which task.
    #[serde(default, rename = "taskID", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When this was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
}
