//! Seeds, as far as we look at them: where control planes can run.

use serde::{Deserialize, Serialize};
use slipway_kube::access::cache::Projection;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Seed {
    pub(crate) metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    pub(crate) spec: SeedSpec,
    pub(crate) status: SeedStatus,
}

impl Projection for Seed {
    fn slim(&mut self) {
        self.metadata.managed_fields = None;
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedSpec {
    pub(crate) provider: SeedProvider,
    /// Whether Shoots may be scheduled on it.
    pub(crate) settings: Option<SeedSettings>,
    /// Where backups go.
    pub(crate) backup: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedProvider {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) region: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedSettings {
    pub(crate) scheduling: Option<Scheduling>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Scheduling {
    /// Whether the scheduler sees it.
    pub(crate) visible: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SeedStatus {
    /// Present once it was ever set up.
    pub(crate) last_operation: Option<serde_json::Value>,
    pub(crate) conditions: Vec<SeedCondition>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SeedCondition {
    #[serde(rename = "type")]
    pub(crate) of: String,
    /// `True`, `False`, `Unknown`.
    pub(crate) status: String,
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
