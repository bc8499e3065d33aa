//! The login of operators: a ConfigMap in the garden that the Shoot refers to, so it must be there before it.
//!
//! Written only when its content changes. For a new Shoot it is applied without asking; for an existing one it
//! is read first, unless this process wrote it.

use serde_json::{Value, json};
use slipway_kube::{
    access::{Ask, resource::CONFIG_MAPS},
    conditions::{Reason, Status, Type},
};

use crate::{
    decide::{self, Apply},
    observe::{Observation, hash},
    outcome::{ConditionUpdate, Outcome},
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
            Ok(()) => {
                pass.remember(|memory| memory.auth_config = Some(content.clone()));
                Outcome::Done
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

async fn write(pass: &Pass, name: &str, text: &str) -> Result<(), slipway_kube::access::Error> {
    let (garden, settings) = (&pass.shared.garden, &pass.shared.settings);
    let namespace = &settings.garden_namespace;
    if pass.apply != Apply::Create {
        let found: Option<Value> = garden.find(Ask::get(&CONFIG_MAPS, namespace, name)).await?;
        if found.is_some_and(|found| found["data"][KEY] == json!(text)) {
            return Ok(());
        }
    }
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace}, "data": {KEY: text}});
    garden.tell(Ask::apply(&CONFIG_MAPS, namespace, name, &settings.shoot_manager, document)).await
}
