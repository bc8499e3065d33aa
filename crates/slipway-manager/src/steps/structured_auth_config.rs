//! The login of operators: a ConfigMap in the garden that the Shoot refers to, so it must be there before it.
//!
//! Written only when its content changes, and read first, unless this process wrote it: it may be another's.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::json;
use slipway_kube::{
    access::{Ask, Exactly, resource::CONFIG_MAPS},
    annotations,
    conditions::{Reason, Status, Type},
};

use crate::{
    decide::{self, Apply},
    observe::{Observation, hash},
    outcome::{ConditionUpdate, Outcome},
    owner,
    pass::Pass,
    runtime::Step,
};

/// The key in the ConfigMap.
const KEY: &str = "config.yaml";

/// Writes the login of operators.
pub(crate) struct StructuredAuthConfig;

impl Step for StructuredAuthConfig {
    fn applies(&self, seen: &Observation) -> bool {
        matches!(decide::apply(seen), Apply::Create | Apply::Patch | Apply::Adopt)
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        // Named after the Shoot: where that turned out to be another's, so is this.
        if matches!(pass.apply, Apply::Foreign(_)) {
            return Outcome::Done;
        }
        let (name, text) = match pass.shared.blueprints.structured_auth(&pass.seen.runtime) {
            Ok(config) => config,
            Err(error) => {
                let message = format!("The operators' login cannot be made: {}: {}", error.path, error.message);
                let condition =
                    ConditionUpdate::new(Type::Provisioned, Status::False, Reason::OidcConfigurationErr, message);
                return Outcome::Fail { condition };
            }
        };
        let content = hash(text.as_bytes());
        if pass.seen.memory.auth_config.as_deref() == Some(&content) && pass.seen.shoot.is_some() {
            return Outcome::Done;
        }
        match write(pass, &name, &text).await {
            Ok(true) => {
                pass.remember(|memory| memory.auth_config = Some(content.clone()));
                Outcome::Done
            }
            Ok(false) => {
                let message = format!(
                    "The operators' login cannot be written to Gardener: ConfigMap {name} belongs to another Runtime. \
                     Choose another spec.shoot.name, or delete the ConfigMap if that Runtime is gone"
                );
                let (of, reason) = (Type::Provisioned, Reason::OidcConfigurationErr);
                Outcome::Fail { condition: ConditionUpdate::new(of, Status::False, reason, message) }
            }
            Err(error) => Outcome::from_error(
                error,
                Type::Provisioned,
                Reason::OidcConfigurationErr,
                "The operators' login cannot be written to Gardener",
            ),
        }
    }
}

/// The ConfigMap, as far as we look at it.
#[derive(Deserialize)]
pub(super) struct AuthConfig {
    #[serde(default)]
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

/// Writes it, unless it is there; answers whether it is ours.
async fn write(pass: &Pass, name: &str, text: &str) -> Result<bool, slipway_kube::access::Error> {
    let (garden, settings) = (&pass.shared.garden, &pass.shared.settings);
    let namespace = &settings.garden_namespace;
    let found: Option<AuthConfig> = garden.find(Ask::get(&CONFIG_MAPS, namespace, name)).await?;
    let runtime = &pass.seen.runtime;
    match &found {
        Some(found) if !owner::may_be_ours(&found.metadata, runtime) => return Ok(false),
        Some(found) if found.data.get(KEY).is_some_and(|there| there == text) => return Ok(true),
        _ => {}
    }
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {KEY: text}, "metadata": {"name": name,
        "namespace": namespace, "annotations": {annotations::RUNTIME_UID: runtime.metadata.uid}}});
    let mut ask = Ask::apply(&CONFIG_MAPS, namespace, name, &settings.shoot_manager, document);
    if let Some(found) = &found {
        ask = ask.only_if(&Exactly::unchanged(&found.metadata));
    }
    garden.tell(ask).await.map(|()| true)
}
