//! The part of a Shoot we look at, as a type.
//!
//! A watch decodes every Shoot of a project into this and so drops what nobody reads: a cache of
//! thousands stays small. Whoever writes a Shoot works on the whole document instead, since this
//! type forgets fields. Unknown words in it never fail: Gardener is newer than we are.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::{
    annotations,
    runtime::{ClusterFacts, LastError, LastOperation, Raw},
};

/// The audit policy for Runtimes that ask for it by annotation.
pub const EXPERIMENTAL_AUDIT_POLICY: &str = "experimental-audit-policy";

/// The constraint that says whether a Shoot can be put to sleep.
const HIBERNATION_POSSIBLE: &str = "HibernationPossible";

/// Name of the ConfigMap with the operators' login of a Shoot.
pub fn structured_auth_config_name(shoot: &str) -> String {
    format!("structured-auth-config-{shoot}")
}

/// Namespace of a project.
pub fn project_namespace(project: &str) -> String {
    format!("garden-{project}")
}

/// What we read of a Shoot's spec.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "core.gardener.cloud",
    version = "v1beta1",
    kind = "Shoot",
    plural = "shoots",
    namespaced,
    status = "ShootStatus",
    derive = "PartialEq",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct ShootSpec {
    /// Where its API server is found.
    #[serde(default)]
    pub dns: Option<Dns>,
    /// The Seed it is bound to.
    #[serde(default)]
    pub seed_name: Option<String>,
    /// The cloud's region.
    #[serde(default)]
    pub region: String,
    /// What it is for.
    #[serde(default)]
    pub purpose: Option<String>,
    /// Which extensions it has.
    #[serde(default)]
    pub extensions: Vec<Extension>,
    /// Its addresses.
    #[serde(default)]
    pub networking: Option<ShootNetworking>,
    /// Its cloud.
    #[serde(default)]
    pub provider: ShootProvider,
    /// Its version.
    #[serde(default)]
    pub kubernetes: ShootKubernetes,
}

/// A version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShootKubernetes {
    /// The one it has, or is on its way to.
    #[serde(default)]
    pub version: String,
}

/// Where an API server is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dns {
    /// The domain.
    #[serde(default)]
    pub domain: Option<String>,
}

/// An extension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    /// Its type.
    #[serde(rename = "type")]
    pub extension_type: String,
    /// Whether it is switched off.
    #[serde(default)]
    pub disabled: Option<bool>,
}

/// Addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootNetworking {
    /// `IPv4`, `IPv6`.
    #[serde(default)]
    pub ip_families: Vec<String>,
}

/// A cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootProvider {
    /// Which.
    #[serde(default, rename = "type")]
    pub provider_type: String,
    /// Its networks; shown to the customer.
    #[serde(default)]
    pub infrastructure_config: Option<Raw>,
}

/// What we read of a Shoot's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootStatus {
    /// The generation Gardener works on, or last worked on.
    #[serde(default)]
    pub observed_generation: i64,
    /// What it does.
    #[serde(default)]
    pub last_operation: Option<LastOperation>,
    /// What went wrong.
    #[serde(default)]
    pub last_errors: Vec<LastError>,
    /// Where its API server is.
    #[serde(default)]
    pub advertised_addresses: Vec<AdvertisedAddress>,
    /// Its certificate authorities and other credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ShootCredentials>,
    /// The Seed that hosts it.
    #[serde(default)]
    pub seed_name: Option<String>,
    /// Whether it sleeps.
    #[serde(default, rename = "hibernated")]
    pub is_hibernated: bool,
    /// What cannot be done with it, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
}

/// Credentials of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShootCredentials {
    /// Which were made anew.
    #[serde(default)]
    pub rotation: CredentialsRotation,
}

/// Which credentials were made anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsRotation {
    /// The authorities that sign for the API server and its clients.
    #[serde(default)]
    pub certificate_authorities: Option<AuthorityRotation>,
}

/// When an authority was last replaced. A new one is served beside the old one from the first time on, and alone from the second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthorityRotation {
    /// When the new one was made.
    #[serde(default)]
    pub last_initiation_time: Option<String>,
    /// When the old one was dropped.
    #[serde(default)]
    pub last_completion_time: Option<String>,
}

/// Whether something can be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// What, such as `HibernationPossible`.
    #[serde(default, rename = "type")]
    pub constraint_type: String,
    /// `True`, `False`, `Progressing` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// Why not.
    #[serde(default)]
    pub message: String,
}

/// An address of an API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdvertisedAddress {
    /// Which.
    #[serde(default)]
    pub name: String,
    /// The address.
    #[serde(default)]
    pub url: String,
}

impl Shoot {
    /// The Runtime it belongs to, if it says so.
    pub fn runtime_id(&self) -> Option<&str> {
        self.annotation(annotations::RUNTIME_ID)
    }

    /// The hash of what it was last rendered from.
    pub fn input_hash(&self) -> Option<&str> {
        self.annotation(annotations::INPUT_HASH)
    }

    /// An annotation's value; none when it is absent or empty.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// What the cluster is really like.
    pub fn facts(&self) -> ClusterFacts {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let status = self.status.clone().unwrap_or_default();
        let can_sleep = status.constraints.iter().find(|row| row.constraint_type == HIBERNATION_POSSIBLE);
        let cannot = can_sleep.filter(|row| row.status == "False");
        ClusterFacts {
            seed_name: status.seed_name.clone().or_else(|| self.spec.seed_name.clone()),
            domain: self.spec.dns.as_ref().and_then(|dns| dns.domain.clone()),
            kubernetes_version: given(&self.spec.kubernetes.version),
            hibernated: Some(status.is_hibernated),
            hibernation_possible: can_sleep.map(|row| row.status != "False"),
            hibernation_message: cannot.and_then(|row| given(&row.message)),
        }
    }

    /// Whether an extension is there and on.
    pub fn has_extension(&self, extension_type: &str) -> bool {
        self.spec.extensions.iter().any(|row| row.extension_type == extension_type && row.disabled != Some(true))
    }

    /// Forgets who wrote which field: half of a Shoot's size, read by nobody.
    pub fn slim(&mut self) {
        self.metadata.managed_fields = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_shoot_is_read_and_only_what_is_needed_stays() {
        let mut shoot: Shoot = serde_json::from_value(json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
            "metadata": {
                "name": "first", "generation": 4, "annotations": { annotations::RUNTIME_ID: "id-1" },
                "managedFields": [{ "manager": "kim", "operation": "Apply" }],
            },
            "spec": {
                "region": "eu-central-1", "provider": { "type": "aws", "workers": [{ "name": "a" }] },
                "extensions": [{ "type": "shoot-oidc-service" }, { "type": "acl", "disabled": true }],
            },
            "status": {
                "observedGeneration": 4,
                "lastOperation": {
                    "type": "NewWord", "state": "Succeeded", "progress": 100, "description": "done",
                    "lastUpdateTime": "2026-01-01T00:00:00Z",
                },
                "lastErrors": [{ "description": "x", "codes": ["ERR_NEW"], "taskID": "t" }],
            },
        }))
        .expect("read");
        shoot.slim();
        assert_eq!((shoot.runtime_id(), shoot.metadata.managed_fields.as_ref()), (Some("id-1"), None));
        assert!(shoot.has_extension("shoot-oidc-service") && !shoot.has_extension("acl"));
        let status = shoot.status.expect("a status");
        assert_eq!(status.last_operation.expect("one").operation_type, "NewWord");
        assert_eq!(status.last_errors[0].codes, ["ERR_NEW"]);
    }

    #[test]
    fn what_the_cluster_is_really_like_is_told() {
        let shoot: Shoot = serde_json::from_value(json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": { "name": "first" },
            "spec": { "dns": { "domain": "first.example.com" }, "seedName": "bound", "kubernetes": { "version": "1.33.2" } },
            "status": { "seedName": "hosts", "hibernated": true, "constraints": [
                { "type": "HibernationPossible", "status": "False", "message": "a webhook is in the way" } ] },
        }))
        .expect("read");
        let facts = shoot.facts();
        assert_eq!((facts.seed_name.as_deref(), facts.domain.as_deref()), (Some("hosts"), Some("first.example.com")));
        assert_eq!((facts.kubernetes_version.as_deref(), facts.hibernated), (Some("1.33.2"), Some(true)));
        assert_eq!(facts.hibernation_possible, Some(false));
        assert_eq!(facts.hibernation_message.as_deref(), Some("a webhook is in the way"));
    }

    #[test]
    fn a_shoot_that_was_only_just_created_is_read_too() {
        let shoot: Shoot = serde_json::from_value(json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": { "name": "first" }, "spec": {},
        }))
        .expect("read");
        assert_eq!((shoot.runtime_id(), shoot.status.as_ref()), (None, None));
    }
}
