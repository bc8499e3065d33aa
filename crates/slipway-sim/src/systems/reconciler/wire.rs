//! What the Reconciler is sent, every field required, and what is wrong with it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `POST /v1/clusters`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Payload {
    #[serde(rename = "runtimeID")]
    pub(super) runtime_id: String,
    pub(super) runtime_input: RuntimeInput,
    pub(super) kyma_config: KymaConfig,
    pub(super) metadata: Metadata,
    pub(super) kubeconfig: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuntimeInput {
    pub(super) name: String,
    pub(super) description: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KymaConfig {
    pub(super) version: String,
    pub(super) profile: String,
    pub(super) administrators: Vec<String>,
    pub(super) components: Vec<Component>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Component {
    pub(super) component: String,
    pub(super) namespace: String,
    #[serde(rename = "URL")]
    pub(super) url: String,
    pub(super) version: String,
    pub(super) configuration: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) secret: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    #[serde(rename = "globalAccountID")]
    pub(super) global_account: String,
    #[serde(rename = "subAccountID")]
    pub(super) sub_account: String,
    #[serde(rename = "serviceID")]
    pub(super) service: String,
    #[serde(rename = "servicePlanID")]
    pub(super) plan: String,
    #[serde(rename = "servicePlanName")]
    pub(super) plan_name: String,
    #[serde(rename = "shootName")]
    pub(super) shoot: String,
    #[serde(rename = "instanceID")]
    pub(super) instance: String,
    pub(super) region: String,
}

/// `PUT /v1/clusters/{id}/status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewStatus {
    pub(super) status: String,
}

impl Payload {
    pub(super) fn components(&self) -> impl Iterator<Item = &str> {
        self.kyma_config.components.iter().map(|component| component.component.as_str())
    }

    /// What makes it unacceptable.
    pub(super) fn check(&self) -> Result<(), String> {
        for (field, text) in [
            ("runtimeID", &self.runtime_id),
            ("runtimeInput.name", &self.runtime_input.name),
            ("kymaConfig.version", &self.kyma_config.version),
            ("metadata.globalAccountID", &self.metadata.global_account),
            ("metadata.shootName", &self.metadata.shoot),
            ("metadata.region", &self.metadata.region),
        ] {
            if text.is_empty() {
                return Err(format!("{field} is empty"));
            }
        }
        if !["", "Evaluation", "Production", "evaluation", "production"].contains(&self.kyma_config.profile.as_str()) {
            return Err(format!("kymaConfig.profile {} is unknown", self.kyma_config.profile));
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = self.components().find(|name| !seen.insert(*name)) {
            return Err(format!("the component {twice} stands there twice"));
        }
        for component in &self.kyma_config.components {
            if component.namespace.is_empty() {
                return Err(format!("the component {} has no namespace", component.component));
            }
            if let Some(entry) = component.configuration.iter().find(|entry| !is_plain(&entry.value)) {
                return Err(format!("the value of {} is neither text, number nor boolean", entry.key));
            }
        }
        let kubeconfig: Value = serde_saphyr::from_str(&self.kubeconfig).unwrap_or_default();
        match kubeconfig["clusters"][0]["cluster"]["server"].as_str() {
            Some(server) if server.starts_with("https://") => Ok(()),
            _ => Err("the kubeconfig names no server".to_owned()),
        }
    }

    /// Entries that look like secrets and are not marked as such.
    pub(super) fn open_secrets(&self) -> Vec<String> {
        let entries = self.kyma_config.components.iter().flat_map(|component| &component.configuration);
        let looks_secret = |key: &str| ["secret", "password"].iter().any(|end| key.to_lowercase().ends_with(end));
        let open = entries.filter(|entry| looks_secret(&entry.key) && !entry.secret);
        open.map(|entry| format!("{} is a secret and not marked as one", entry.key)).collect()
    }
}

fn is_plain(value: &Value) -> bool {
    value.is_string() || value.is_boolean() || value.is_number()
}
