//! One cluster and its runs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Pace, wire::Payload};
use crate::clock;

/// What becomes of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// So many looks find a run in trouble that will pass.
    pub stumbles: u32,
    /// A run ends with this component failing, for this reason.
    pub fails: Option<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Cluster {
    pub(super) payload: Payload,
    cluster_version: i64,
    config_version: i64,
    script: Script,
    #[serde(skip, default = "clock::steady")]
    begun: Instant,
    #[serde(with = "marked")]
    deleted: Option<Instant>,
    disabled: bool,
}

/// A moment that is kept as "it was": after a restart it is now.
mod marked {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tokio::time::Instant;

    pub(super) fn serialize<S: Serializer>(moment: &Option<Instant>, serializer: S) -> Result<S::Ok, S::Error> {
        moment.is_some().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Instant>, D::Error> {
        Ok(bool::deserialize(deserializer)?.then(crate::clock::steady))
    }
}

/// A cluster whose removal is over is still told about for a minute.
const REMEMBERED: std::time::Duration = std::time::Duration::from_secs(60);

impl Cluster {
    pub(super) fn new(payload: Payload, version: i64, script: Script) -> Self {
        let begun = clock::steady();
        Self { payload, cluster_version: 1, config_version: version, script, begun, deleted: None, disabled: false }
    }

    /// Another request for the same cluster; true if it took a new version.
    pub(super) fn take(&mut self, payload: Payload, next: i64, script: Script) -> bool {
        let changed = self.payload != payload || self.deleted.is_some();
        if changed {
            self.cluster_version += i64::from(self.payload.kubeconfig != payload.kubeconfig);
            self.config_version = next;
        }
        (self.payload, self.script, self.begun, self.deleted) = (payload, script, clock::steady(), None);
        changed
    }

    pub(super) fn delete(&mut self) {
        self.deleted.get_or_insert_with(clock::steady);
    }

    pub(super) fn disable(&mut self, disabled: bool) {
        self.disabled = disabled;
        if !disabled {
            self.begun = clock::steady();
        }
    }

    /// Its status now; none once nobody remembers it.
    pub(super) fn status(&self, pace: Pace) -> Option<&'static str> {
        let now = clock::steady();
        if let Some(since) = self.deleted {
            let passed = now.saturating_duration_since(since);
            return match passed {
                _ if passed < pace.pending => Some("delete_pending"),
                _ if passed < pace.pending + pace.reconciling => Some("deleting"),
                _ if passed < pace.pending + pace.reconciling + REMEMBERED => Some("deleted"),
                _ => None,
            };
        }
        let passed = now.saturating_duration_since(self.begun);
        Some(match passed {
            _ if self.disabled => "reconcile_disabled",
            _ if passed < pace.pending => "reconcile_pending",
            _ if self.script.stumbles > 0 => "reconcile_error_retryable",
            _ if passed < pace.pending + pace.reconciling => "reconciling",
            _ if self.script.fails.is_some() => "error",
            _ => "ready",
        })
    }

    pub(super) fn describe(&mut self, id: &str, version: Option<i64>, pace: Pace) -> Option<Value> {
        if version.is_some_and(|version| version != self.config_version) {
            return None;
        }
        let status = self.status(pace)?;
        let failures = match (status, &self.script.fails) {
            ("error", Some((component, reason))) => json!([{ "component": component, "reason": reason }]),
            ("reconcile_error_retryable", _) => {
                self.script.stumbles -= 1;
                let component = self.payload.components().next().unwrap_or_default();
                json!([{ "component": component, "reason": "not yet" }])
            }
            _ => json!([]),
        };
        Some(json!({
            "cluster": id, "clusterVersion": self.cluster_version, "configurationVersion": self.config_version,
            "status": status, "failures": failures,
            "statusURL": format!("http://mothership/v1/clusters/{id}/configs/{}/status", self.config_version),
        }))
    }
}
