//! Who owns which field of a Shoot, and whether a Shoot already is what we would write.

use serde_json::{Value, json};

/// Names under which the reference wrote Shoots.
const REFERENCE: [&str; 2] = ["kim", "manager"];

/// The patch that makes the reference's `Update` entries over `spec` ours by `Apply`; none if there are none.
///
/// Ownership by update and by apply are different entries even under one name: what an update entry owns is
/// not removed when it is no longer applied. So on first contact the entries become one. Guarded by the
/// version, because it replaces the list.
pub(crate) fn taken_over(shoot: &Value, manager: &str) -> Option<Value> {
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
        {"op": "test", "path": "/metadata/resourceVersion", "value": shoot["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields", "value": list},
    ]))
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

/// Whether everything in `wanted` is in `there` already. Lists of named things are compared by name, other
/// lists element by element; what only `there` has does not matter.
pub(crate) fn covers(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted.iter().all(|(key, value)| {
            key == slipway_kube::annotations::INPUT_HASH || there.get(key).is_some_and(|there| covers(there, value))
        }),
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len()
                && wanted.iter().enumerate().all(|(place, value)| {
                    let same = |other: &&Value| {
                        ["name", "type", "key"]
                            .iter()
                            .any(|id| value.get(id).is_some_and(Value::is_string) && other.get(id) == value.get(id))
                    };
                    there.iter().find(same).or_else(|| there.get(place)).is_some_and(|there| covers(there, value))
                })
        }
        (there, wanted) => there == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shoot_covers_what_it_has_and_more() {
        let there =
            json!({"spec": {"region": "eu", "workers": [{"name": "a", "max": 3, "filled": true}, {"name": "b"}]}});
        assert!(covers(&there, &json!({"spec": {"workers": [{"name": "b"}, {"name": "a", "max": 3}]}})));
        assert!(!covers(&there, &json!({"spec": {"workers": [{"name": "a", "max": 4}, {"name": "b"}]}})));
        assert!(!covers(&there, &json!({"spec": {"workers": [{"name": "a"}]}})), "a pool is to go");
        assert!(!covers(&there, &json!({"spec": {"purpose": "production"}})));
    }

    #[test]
    fn entries_of_the_reference_become_one_entry_of_ours() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "apiVersion": "core.gardener.cloud/v1beta1", "fieldsV1": fields});
        let shoot = json!({"metadata": {"resourceVersion": "7", "managedFields": [
            entry("kim", "Update", json!({"f:spec": {"f:region": {}}})),
            entry("kim", "Apply", json!({"f:spec": {"f:purpose": {}}})),
            entry("gardenlet", "Update", json!({"f:spec": {"f:seedName": {}}})),
        ]}});
        let patch = taken_over(&shoot, "kim").expect("a patch");
        let list = patch[1]["value"].as_array().expect("a list");
        assert_eq!(list.len(), 2);
        assert_eq!(list[0]["manager"], "gardenlet");
        assert_eq!(list[1]["fieldsV1"], json!({"f:spec": {"f:region": {}, "f:purpose": {}}}));
        assert_eq!(patch[0]["value"], "7");
        let mut after = shoot.clone();
        after["metadata"]["managedFields"] = patch[1]["value"].clone();
        assert_eq!(taken_over(&after, "kim"), None, "once is enough");
    }
}
