//! Seeds, as far as we look at them: where control planes can run.

use serde::{Deserialize, Serialize};
use slipway_kube::access::cache::Projection;

/// A Seed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Seed {
    /// Metadata.
    pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    /// What it is.
    pub spec: SeedSpec,
    /// How it is.
    pub status: SeedStatus,
}

impl Projection for Seed {
    fn slim(&mut self) {
        self.metadata.managed_fields = None;
    }
}

/// What it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedSpec {
    /// Its cloud.
    pub provider: SeedProvider,
    /// Whether Shoots may be scheduled on it.
    pub settings: Option<SeedSettings>,
    /// Where backups go.
    pub backup: Option<serde_json::Value>,
}

/// Its cloud.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedProvider {
    /// Which.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where.
    pub region: String,
}

/// Settings.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedSettings {
    /// Scheduling.
    pub scheduling: Option<Scheduling>,
}

/// Scheduling.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Scheduling {
    /// Whether the scheduler sees it.
    pub visible: bool,
}

/// How it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SeedStatus {
    /// Present once it was ever set up.
    pub last_operation: Option<serde_json::Value>,
    /// Its conditions.
    pub conditions: Vec<SeedCondition>,
}

/// One condition.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedCondition {
    /// About what.
    #[serde(rename = "type")]
    pub of: String,
    /// `True`, `False`, `Unknown`.
    pub status: String,
}

impl Seed {
    /// Whether a Shoot of this cloud can be put on it. A Seed without settings is visible: that is the default.
    pub(crate) fn is_usable(&self, provider: &str) -> bool {
        let visible = self.spec.settings.as_ref().and_then(|settings| settings.scheduling).is_none_or(|it| it.visible);
        let is =
            |of: &str| self.status.conditions.iter().any(|condition| condition.of == of && condition.status == "True");
        self.spec.provider.kind == provider
            && self.metadata.deletion_timestamp.is_none()
            && visible
            && self.status.last_operation.is_some()
            && is("GardenletReady")
            && (self.spec.backup.is_none() || is("BackupBucketsReady"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_seed_counts_only_if_everything_speaks_for_it() {
        let good = json!({"metadata": {"name": "s"}, "spec": {"provider": {"type": "aws", "region": "eu"}},
            "status": {"lastOperation": {}, "conditions": [{"type": "GardenletReady", "status": "True"}]}});
        let with = |path: &str, value: serde_json::Value| {
            let mut seed = good.clone();
            *seed.pointer_mut(path).expect("a place") = value;
            serde_json::from_value::<Seed>(seed).expect("a seed").is_usable("aws")
        };
        assert!(with("/metadata/name", json!("t")), "absent settings are no obstacle");
        assert!(!with("/spec/provider/type", json!("gcp")));
        assert!(!with("/spec", json!({"provider": {"type": "aws"}, "settings": {"scheduling": {"visible": false}}})));
        assert!(!with("/spec", json!({"provider": {"type": "aws"}, "backup": {}})), "backups are not ready");
        assert!(!with("/status/lastOperation", json!(null)));
        assert!(!with("/status/conditions", json!([{"type": "GardenletReady", "status": "Unknown"}])));
        assert!(!with("/metadata", json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})));
    }
}
