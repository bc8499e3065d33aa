//! The fields of Gardener's kinds: their names, their types, and how their lists merge.
//!
//! What clients may send, what is dropped or refused under strict validation, how server-side apply and
//! strategic patches merge lists, and what `kubectl explain` knows, all of it comes from one data file,
//! `schema/gardener.json`. Definitions refer to each other by name (`ref`); a list of objects that
//! merges has the field that tells them apart (`key`).
//!
//! The file was derived from what a real Gardener API server publishes at
//! `/openapi/v3/apis/<group>/<version>`, names and types alone, without a word of its descriptions: for
//! each kind of the group, every property with its type; a quantity or an int-or-string as such; raw
//! objects as objects of any content; patch strategy `merge` as `key`. To renew it, ask a real server of
//! the wanted version and do the same.

use std::sync::{Arc, LazyLock};

use kube_sandbox::schema::Schema;
use serde_json::{Map, Value, json};

use super::value::at;

static FILE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schema/gardener.json")).expect("the file is checked in"));

/// The schema of a kind; one that takes anything for a kind that is not in the file.
pub fn of(kind: &str) -> Arc<Schema> {
    let found = at(&FILE, "kinds").get(kind).map(expand);
    Arc::new(found.map_or_else(Schema::open, |json| Schema::typed(&json)))
}

/// Puts definitions where they are referred to; none contains itself.
fn expand(schema: &Value) -> Value {
    if let Some(name) = schema.get("ref").and_then(Value::as_str) {
        return expand(at(&FILE, "definitions").get(name).unwrap_or(&Value::Null));
    }
    let mut expanded = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            "properties" => {
                let fields = value.as_object().into_iter().flatten().map(|(name, field)| (name.clone(), expand(field)));
                expanded.insert(key.clone(), fields.collect());
            }
            "items" | "additionalProperties" => drop(expanded.insert(key.clone(), expand(value))),
            "key" => {}
            _ => drop(expanded.insert(key.clone(), value.clone())),
        }
    }
    let mut expanded = Value::Object(expanded);
    if let Some(key) = schema.get("key") {
        expanded["x-kubernetes-list-type"] = json!("map");
        expanded["x-kubernetes-list-map-keys"] = json!([key]);
        expanded["x-kubernetes-patch-strategy"] = json!("merge");
        expanded["x-kubernetes-patch-merge-key"] = json!(key);
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every list that merges does so by a field its items have; everything has a type or takes anything.
    fn check(schema: &Value, at: &str) {
        let is_open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
        let has_type = schema.get("type").is_some() || schema.get("x-kubernetes-int-or-string").is_some();
        assert!(has_type || is_open, "{at}: {schema}");
        if let Some(key) = schema.get("x-kubernetes-patch-merge-key").and_then(Value::as_str) {
            assert!(schema["items"]["properties"].get(key).is_some(), "{at} merges by {key}");
        }
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            check(field, &format!("{at}.{name}"));
        }
        for name in ["items", "additionalProperties"] {
            schema.get(name).into_iter().for_each(|each| check(each, &format!("{at}[]")));
        }
    }

    #[test]
    fn every_kind_of_the_file_can_be_used() {
        for (kind, schema) in at(&FILE, "kinds").as_object().expect("kinds") {
            check(&expand(schema), kind);
        }
    }

    #[test]
    fn unknown_fields_are_dropped_and_named() {
        let mut shoot = json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": {"name": "a"},
            "spec": {"kubernetes": {"version": "1.34.5", "enableStaticTokenKubeconfig": true}, "provider": {"workers": [
                {"name": "a", "maxSurge": "25%", "providerConfig": {"any": {"thing": 1}}}]}}});
        assert_eq!(of("Shoot").prune(&mut shoot), ["spec.kubernetes.enableStaticTokenKubeconfig"]);
        assert_eq!(shoot["spec"]["provider"]["workers"][0]["providerConfig"]["any"]["thing"], 1);
    }
}
