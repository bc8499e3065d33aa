//! Who owns which field of a Shoot, and whether a Shoot already is what we would write.

use serde_json::{Value, json};
use slipway_kube::annotations;

/// Annotations that say whose a Shoot is and what it was made from: they are no part of what it is.
const MARKS: [&str; 2] = [annotations::INPUT_HASH, annotations::RUNTIME_UID];

/// Names under which the reference wrote Shoots.
const REFERENCE: [&str; 2] = ["kim", "manager"];

/// The patch that makes the reference's `Update` entries over `spec` ours by `Apply`; none if there are none.
///
/// Ownership by update and by apply are different entries even under one name: what an update entry owns is
/// not removed when it is no longer applied. So on first contact the entries become one. Guarded by the
/// version, because it replaces the list.
pub(crate) fn take_over(shoot: &Value, manager: &str) -> Option<Value> {
    let fields = shoot["metadata"]["managedFields"].as_array()?;
    let is_old = |entry: &&Value| {
        let name = entry["manager"].as_str().unwrap_or_default();
        entry["operation"] == "Update"
            && (REFERENCE.contains(&name) || name == manager)
            && entry["subresource"].as_str().unwrap_or_default().is_empty()
            && entry["fieldsV1"].get("f:spec").is_some()
    };
    let old: Vec<&Value> = fields.iter().filter(is_old).collect();
    if old.is_empty() {
        return None;
    }
    let is_ours = |entry: &&Value| entry["manager"] == manager && entry["operation"] == "Apply";
    let mut ours = fields.iter().find(is_ours).cloned().unwrap_or_else(|| {
        json!({"manager": manager, "operation": "Apply", "apiVersion": old[0]["apiVersion"],
            "fieldsType": "FieldsV1", "fieldsV1": {}, "time": old[0]["time"]})
    });
    old.iter().for_each(|entry| union(&mut ours["fieldsV1"], &entry["fieldsV1"]));
    let mut list: Vec<Value> = fields.iter().filter(|entry| !is_old(entry) && !is_ours(entry)).cloned().collect();
    list.push(ours);
    Some(json!([
        only_if_unchanged(shoot),
        {"op": "replace", "path": "/metadata/managedFields", "value": list},
    ]))
}

/// Makes a JSON patch a conflict if somebody else was faster. A `test` that fails would be answered as if the patch
/// itself were wrong.
fn only_if_unchanged(shoot: &Value) -> Value {
    json!({"op": "replace", "path": "/metadata/resourceVersion", "value": shoot["metadata"]["resourceVersion"]})
}

fn union(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return };
    for (key, value) in from {
        match into.get_mut(key) {
            Some(there) => union(there, value),
            None => into[key] = value.clone(),
        }
    }
}

/// The patch that takes a Shoot from its SecretBinding to the CredentialsBinding that is `wanted`; none if it is not
/// on that way.
///
/// Applying is enough where the old field is ours alone. If somebody else owns it too it stays, and Gardener takes
/// no Shoot with both.
pub(crate) fn move_binding(shoot: &Value, wanted: &Value) -> Option<Value> {
    let binding = wanted["spec"].get("credentialsBindingName")?;
    shoot["spec"].get("secretBindingName")?;
    Some(json!([
        only_if_unchanged(shoot),
        {"op": "remove", "path": "/spec/secretBindingName"},
        {"op": "add", "path": "/spec/credentialsBindingName", "value": binding},
    ]))
}

/// Where `there` first differs from what is `wanted` of it; none if all of it is there already. Lists of named
/// things are compared by name, other lists element by element; what only `there` has does not matter.
pub(crate) fn difference(there: &Value, wanted: &Value) -> Option<String> {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().filter(|(key, _)| !MARKS.contains(&key.as_str())).find_map(|(key, wanted)| {
                let rest = match there.get(key) {
                    Some(there) => difference(there, wanted)?,
                    None => String::new(),
                };
                let dot = if rest.is_empty() || rest.starts_with('[') { "" } else { "." };
                Some(format!("{key}{dot}{rest}"))
            })
        }
        (Value::Array(there), Value::Array(wanted)) if there.len() == wanted.len() => {
            wanted.iter().enumerate().find_map(|(place, wanted)| {
                let same = |other: &&Value| {
                    ["name", "type", "key"]
                        .iter()
                        .any(|id| wanted.get(id).is_some_and(Value::is_string) && other.get(id) == wanted.get(id))
                };
                let rest = match there.iter().find(same).or_else(|| there.get(place)) {
                    Some(there) => difference(there, wanted)?,
                    None => String::new(),
                };
                let dot = if rest.is_empty() { "" } else { "." };
                Some(format!("[{place}]{dot}{rest}"))
            })
        }
        (there, wanted) => (there != wanted).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shoot_lacks_is_named_and_what_it_has_besides_does_not_matter() {
        let there =
            json!({"spec": {"region": "eu", "workers": [{"name": "a", "max": 3, "filled": true}, {"name": "b"}]}});
        let rows = [
            (json!({"spec": {"workers": [{"name": "b"}, {"name": "a", "max": 3}]}}), None),
            (json!({"spec": {"workers": [{"name": "b"}, {"name": "a", "max": 4}]}}), Some("spec.workers[1].max")),
            (json!({"spec": {"workers": [{"name": "a"}]}}), Some("spec.workers")),
            (json!({"spec": {"workers": [{"name": "a"}, {"name": "c"}]}}), Some("spec.workers[1].name")),
            (json!({"spec": {"purpose": "production"}}), Some("spec.purpose")),
            (json!({"metadata": {"annotations": {annotations::INPUT_HASH: "x"}}}), Some("metadata")),
        ];
        for (wanted, named) in rows {
            assert_eq!(difference(&there, &wanted).as_deref(), named, "{wanted}");
        }
        assert_eq!(difference(&json!({}), &json!({annotations::INPUT_HASH: "x"})), None);
    }

    #[test]
    fn only_a_shoot_on_its_way_between_bindings_is_moved() {
        let old = json!({"metadata": {"resourceVersion": "7"}, "spec": {"secretBindingName": "old"}});
        let new = json!({"spec": {"credentialsBindingName": "new"}});
        let patch = move_binding(&old, &new).expect("a patch");
        assert_eq!((&patch[0]["value"], &patch[2]["value"]), (&json!("7"), &json!("new")));
        assert_eq!(move_binding(&new, &new), None);
        assert_eq!(move_binding(&old, &old), None);
    }

    #[test]
    fn entries_of_the_reference_become_one_entry_of_ours() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "apiVersion": "core.gardener.cloud/v1beta1", "fieldsV1": fields});
        let shoot = json!({"metadata": {"resourceVersion": "7", "managedFields": [
            entry("kim", "Update", json!({"f:spec": {"f:region": {}}})),
            entry("kim", "Apply", json!({"f:spec": {"f:purpose": {}}})),
            entry("gardenlet", "Update", json!({"f:spec": {"f:seedName": {}}})),
        ]}});
        let patch = take_over(&shoot, "kim").expect("a patch");
        let list = patch[1]["value"].as_array().expect("a list");
        assert_eq!(list.len(), 2);
        assert_eq!(list[0]["manager"], "gardenlet");
        assert_eq!(list[1]["fieldsV1"], json!({"f:spec": {"f:region": {}, "f:purpose": {}}}));
        assert_eq!(patch[0]["value"], "7");
        let mut after = shoot.clone();
        after["metadata"]["managedFields"] = patch[1]["value"].clone();
        assert_eq!(take_over(&after, "kim"), None, "once is enough");
    }
}
