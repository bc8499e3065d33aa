//! Tables against definitions, and what the derived schemas know.

use serde_json::json;

use super::*;

#[test]
fn every_row_of_the_tables_names_something_that_exists() {
    for (definition_name, field) in merging::named() {
        let found = definition(&merging::full_name(definition_name));
        let found = found.unwrap_or_else(|| panic!("{definition_name} is described by no kind"));
        assert!(field.is_empty() || found["properties"].get(field).is_some(), "{definition_name}.{field}");
    }
}

#[test]
fn every_reference_leads_to_a_definition() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(target)) = fields.get("$ref") {
                    found.push(target.clone());
                }
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    for (name, one) in DEFINITIONS.iter() {
        let mut found = Vec::new();
        references(&one.json, &mut found);
        for target in found {
            let target = target.strip_prefix(crate::schema::node::REFERENCE).expect("a reference to a component");
            assert!(definition(target).is_some(), "{name} refers to {target}");
        }
    }
}

#[test]
fn unknown_fields_of_built_in_kinds_are_named() {
    let pods = schema("", "v1", "Pod").expect("pods");
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "colour": "red", "creationTimestamp": null },
        "spec": { "containers": [{ "name": "c", "imagee": "x", "resources": { "limits": { "cpu": 1, "memory": "1Gi" } } }] },
    });
    assert_eq!(pods.prune(&mut pod), ["metadata.colour", "spec.containers[0].imagee"]);
    assert_eq!(pods.validate(&pod, None), []);
}

#[test]
fn schemas_of_schemas_are_known_at_every_depth() {
    let definitions = schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition").expect("definitions");
    let mut object = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": { "versions": [{
        "name": "v1", "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "a": { "type": "array", "items": { "type": "object", "additionalProperties": { "type": "string", "wrong": 1 } } },
            "b": { "default": { "any": ["thing"] }, "additionalProperties": true, "enum": [1, "x"] },
        } } },
    }] } });
    let unknown = definitions.prune(&mut object);
    assert_eq!(unknown, ["spec.versions[0].schema.openAPIV3Schema.properties.a.items.additionalProperties.wrong"]);
    assert_eq!(definitions.validate(&object["spec"]["versions"], None).len(), 1, "the wrong root");
}

#[test]
fn names_are_those_of_kubernetes() {
    for (group, version, kind, expected) in [
        ("", "v1", "Namespace", "io.k8s.api.core.v1.Namespace"),
        ("rbac.authorization.k8s.io", "v1", "Role", "io.k8s.api.rbac.v1.Role"),
        ("apiregistration.k8s.io", "v1", "APIService", "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"),
    ] {
        assert_eq!(name(group, version, kind), Some(expected));
    }
    assert_eq!(name("", "v1", "Widget"), None);
}
