//! What one pass knows: read from caches and memory once, at its beginning, and not again.
//!
//! Everything that [`crate::decide`] looks at is in here, so its cases are tables without clocks and clusters.

use std::{sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};
use slipway_kube::{
    GardenerCluster, Runtime, Shoot, access::cache::Projection, annotations, conditions::Type, runtime::RuntimeStatus,
};

use crate::{
    memory::Memory,
    owner::{self, Owner, Rival},
    registry_caches,
};

/// What one pass knows.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) shoot: Option<Arc<Shoot>>,
    pub(crate) cluster: Option<Arc<GardenerCluster>>,
    /// Its kubeconfig Secret.
    pub(crate) secret: Option<Arc<SecretView>>,
    pub(crate) registry_caches: registry_caches::Observed,
    /// The hash of everything that would be rendered now; none where it cannot be computed.
    pub(crate) input_hash: Option<String>,
    /// The hash of everything its cluster would be prepared with now.
    pub(crate) prepared_hash: String,
    /// Other Runtimes that name the same Shoot.
    pub(crate) rivals: Vec<Rival>,
    /// Whether its deletion is held because too many came at once.
    pub(crate) deletion_held: bool,
    /// What this process remembers of it.
    pub(crate) memory: Memory,
    /// Monotonic time.
    pub(crate) now: Duration,
}

impl Observation {
    /// The Runtime's name: its id.
    pub(crate) fn name(&self) -> &str {
        self.runtime.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn generation(&self) -> i64 {
        self.runtime.metadata.generation.unwrap_or(0)
    }

    /// Whether it is being deleted.
    pub(crate) fn is_deleting(&self) -> bool {
        self.runtime.metadata.deletion_timestamp.is_some()
    }

    /// The status last reported.
    pub(crate) fn status(&self) -> Option<&RuntimeStatus> {
        self.memory.reported.status(self.runtime.status.as_ref())
    }

    /// A condition last reported.
    pub(crate) fn condition(&self, of: Type) -> Option<&Condition> {
        self.status()?.conditions.iter().find(|condition| condition.type_ == of.as_str())
    }

    /// The generation last reported.
    pub(crate) fn observed_generation(&self) -> i64 {
        let reported = self.runtime.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(0);
        reported.max(self.memory.reported.acknowledged())
    }

    /// Whether its cluster sleeps, or is about to.
    pub(crate) fn is_asleep(&self) -> bool {
        let wanted = self.runtime.spec.shoot.extras.hibernation.is_some_and(|hibernation| hibernation.enabled);
        let status = self.shoot.as_ref().and_then(|shoot| shoot.status.as_ref());
        wanted || status.is_some_and(|status| status.is_hibernated)
    }

    /// Whether the Shoot must not be patched.
    pub(crate) fn is_suspended(&self) -> bool {
        self.runtime.annotation(annotations::SUSPEND_PATCH) == Some("true")
    }

    /// Whether the Shoot must be applied whatever the hash.
    pub(crate) fn is_forced(&self) -> bool {
        self.runtime.annotation(annotations::FORCE_PATCH) == Some("true")
    }

    /// Whose the Shoot is; none if there is none.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.shoot.as_ref().map(|shoot| owner::of_shoot(&self.runtime, shoot, &self.rivals))
    }

    /// Why the Shoot, or its name, is not ours; none if it is.
    pub(crate) fn foreign(&self) -> Option<String> {
        match self.owner() {
            Some(Owner::Other { why, .. }) => Some(why),
            Some(Owner::Us | Owner::Unmarked) => None,
            None => self.rivals.iter().find(|rival| rival.is_older).map(|rival| {
                let (of, first) = (&self.runtime.spec.shoot.name, &rival.name);
                format!("Shoot {of} belongs to Runtime {first}, which was there first. Choose another spec.shoot.name")
            }),
        }
    }
}

/// A kubeconfig Secret without its content: labels, annotations, and whether it is the one we know.
///
/// The content of thousands of Secrets is neither needed nor wanted in memory; it is read when a client is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SecretView {
    #[serde(default)]
    pub(crate) metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    /// The keys and, of each, only a hash.
    #[serde(default, rename = "data")]
    pub(crate) hashes: std::collections::BTreeMap<String, Hashed>,
}

impl Projection for SecretView {
    fn slim(&mut self) {
        self.metadata.managed_fields = None;
    }
}

impl SecretView {
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// The hash of one key's value; none if it is absent or empty.
    pub(crate) fn hash(&self, key: &str) -> Option<&str> {
        self.hashes.get(key).map(|hashed| hashed.0.as_str()).filter(|hash| !hash.is_empty())
    }
}

/// A text of which only the hash is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Hashed(pub String);

/// Before a hash that was made already. The content of a Secret is Base64, which has no colon.
const MADE: &str = "sha256:";

impl<'de> Deserialize<'de> for Hashed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self(match text.strip_prefix(MADE) {
            Some(made) => made.to_owned(),
            None if text.is_empty() => text,
            None => hash(text.as_bytes()),
        }))
    }
}

impl Serialize for Hashed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_str() {
            "" => serializer.serialize_str(""),
            made => serializer.collect_str(&format_args!("{MADE}{made}")),
        }
    }
}

/// SHA-256 as hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// W15: no content of a Secret is kept in memory.
    #[test]
    fn a_secret_in_the_cache_has_no_content() {
        let secret = json!({"metadata": {"name": "s", "managedFields": [{"manager": "x"}]}, "data": {"config": "c2VjcmV0", "empty": ""}});
        let mut view: SecretView = serde_json::from_value(secret).expect("a Secret");
        view.slim();
        assert!(!format!("{view:?}").contains("c2VjcmV0") && view.metadata.managed_fields.is_none());
        assert_eq!(view.hash("config"), Some(hash(b"c2VjcmV0").as_str()));
        assert_eq!((view.hash("empty"), view.hash("absent")), (None, None));
        let kept = serde_json::to_string(&view).expect("text");
        assert_eq!(serde_json::from_str::<SecretView>(&kept).expect("a Secret"), view, "hashed once");
    }
}
