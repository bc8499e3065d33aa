//! Kyma by the Lifecycle Manager: a Kyma resource beside the Runtime. Overrides go into a Secret next to
//! it, all of them, since any may be confidential.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use slipway_kube::{
    access::{
        Ask, Exactly,
        resource::{KYMAS, SECRETS},
    },
    labels,
};
use slipway_model::runtime_record::RuntimeRecord;

use super::{Error, Order, Standing};
use crate::domain::Systems;

/// The value of `managed-by` on a Kyma.
const MANAGER: &str = "lifecycle-manager";

/// On a Kyma: the release that was asked for.
const VERSION: &str = "provisioner.slipway.io/kyma-version";

fn overrides_name(record: &RuntimeRecord) -> String {
    format!("kyma-overrides-{}", record.id)
}

pub(super) async fn order(systems: &Systems, channel: &str, order: &Order<'_>) -> Result<Option<i64>, Error> {
    let (id, namespace) = (order.record.id.to_string(), systems.namespace.as_str());
    let mut annotations = json!({ VERSION: order.kyma.version });
    let overrides = overrides(order);
    if !overrides.is_empty() {
        let name = overrides_name(order.record);
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": name, "namespace": namespace, "labels": { labels::RUNTIME_ID: id } },
            "data": overrides,
        });
        let ask = Ask::apply(&SECRETS, namespace, &name, Systems::FIELD_MANAGER, secret);
        systems.control_plane.tell(ask).await?;
        annotations["provisioner.slipway.io/overrides"] = json!(name);
    }
    let modules: Vec<Value> = order.kyma.modules.iter().map(|name| json!({ "name": name })).collect();
    let mut own = json!({
        labels::RUNTIME_ID: id, labels::KYMA_NAME: id, labels::SHOOT_NAME: order.cluster.name,
        labels::REGION: order.cluster.region, labels::GLOBAL_ACCOUNT_ID: order.record.tenant.as_str(),
        labels::MANAGED_BY: MANAGER,
    });
    if let Some(sub_account) = &order.record.sub_account {
        own[labels::SUBACCOUNT_ID] = json!(sub_account.as_str());
    }
    let kyma = json!({
        "apiVersion": KYMAS.api_version(), "kind": KYMAS.kind,
        "metadata": { "name": id, "namespace": namespace, "labels": own, "annotations": annotations },
        "spec": { "channel": channel, "modules": modules },
    });
    let made = systems.control_plane.send(Ask::apply(&KYMAS, namespace, &id, Systems::FIELD_MANAGER, kyma)).await?;
    Ok(made["metadata"]["generation"].as_i64())
}

/// Ready counts only for the order that was given: where the manager tells what it has seen, older news
/// are not believed.
pub(super) async fn standing(
    systems: &Systems,
    record: &RuntimeRecord,
    version: Option<i64>,
) -> Result<Standing, Error> {
    let ask = Ask::get(&KYMAS, &systems.namespace, &record.id.to_string());
    let kyma: Option<Value> = systems.control_plane.find_if_served(ask).await?;
    Ok(kyma.map_or(Standing::Unknown, |kyma| meaning(&kyma, version)))
}

fn meaning(kyma: &Value, version: Option<i64>) -> Standing {
    let status = &kyma["status"];
    let is_stale = |seen: i64| version.is_some_and(|wanted| seen < wanted);
    if status["observedGeneration"].as_i64().is_some_and(is_stale) {
        return Standing::Working("the Lifecycle Manager has not seen the order yet".to_owned());
    }
    match status["state"].as_str().unwrap_or_default() {
        "Ready" => Standing::Ready,
        "Deleting" => {
            let message = "Kyma is being removed from this cluster".to_owned();
            Standing::Failed { components: Vec::new(), message }
        }
        // Both pass by themselves when their cause does; the deadline ends what does not.
        "Error" | "Warning" => Standing::Working("Kyma is being installed, not working yet".to_owned()),
        _ => Standing::Working("Kyma is being installed".to_owned()),
    }
}

pub(super) async fn remove(systems: &Systems, record: &RuntimeRecord) -> Result<(), Error> {
    let (control_plane, namespace) = (&systems.control_plane, systems.namespace.as_str());
    let id = record.id.to_string();
    for (resource, name) in [(&KYMAS, id.clone()), (&SECRETS, overrides_name(record))] {
        let found: Option<Value> = control_plane.find_if_served(Ask::get(resource, namespace, &name)).await?;
        // One of the same name that was not made for this runtime stays.
        if let Some(ours) = found.filter(|found| found["metadata"]["labels"][labels::RUNTIME_ID] == id) {
            control_plane.tell(Ask::delete(resource, namespace, &name, &Exactly::of(&ours))).await?;
        }
    }
    Ok(())
}

/// Keys of a Secret take letters, digits, dots, dashes and underscores; what else a key has becomes one.
fn overrides(order: &Order<'_>) -> Map<String, Value> {
    let plain = |key: &str| -> String {
        key.chars().map(|char| if char.is_ascii_alphanumeric() || ".-_".contains(char) { char } else { '_' }).collect()
    };
    let mut data = Map::new();
    for (index, entry) in order.kyma.configuration.iter().enumerate() {
        let value = order.secrets.value(None, index, entry).unwrap_or_default();
        data.insert(plain(&entry.key), json!(STANDARD.encode(value)));
    }
    for (number, component) in order.kyma.components.iter().enumerate() {
        for (index, entry) in component.configuration.iter().enumerate() {
            let value = order.secrets.value(Some(number), index, entry).unwrap_or_default();
            data.insert(plain(&format!("{}.{}", component.component, entry.key)), json!(STANDARD.encode(value)));
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_lifecycle_manager_has_its_meaning() {
        let told = |state: &str| meaning(&json!({ "status": { "state": state } }), Some(1));
        assert_eq!(told("Ready"), Standing::Ready);
        for state in ["", "Processing", "Warning", "Error", "NewWord"] {
            assert!(matches!(told(state), Standing::Working(_)), "{state}");
        }
        assert!(matches!(told("Deleting"), Standing::Failed { .. }));
    }

    #[test]
    fn a_state_from_before_the_order_is_not_believed() {
        let stale = json!({ "status": { "state": "Ready", "observedGeneration": 1 } });
        assert!(matches!(meaning(&stale, Some(2)), Standing::Working(_)));
        assert_eq!(meaning(&stale, Some(1)), Standing::Ready);
    }
}
