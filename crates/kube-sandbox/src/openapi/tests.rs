//! Documents hold together: every reference is answered, every kind is found.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::*;

fn widgets() -> Schema {
    Schema::from_crd(&json!({
        "type": "object", "description": "A widget.",
        "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer", "description": "How large." } } } },
    }))
    .expect("a schema")
}

fn with_served(then: impl FnOnce(&[Served<'_>])) {
    let custom = widgets();
    let builtin = [
        ("", "v1", "Namespace", "namespaces", false, &["status", "finalize"][..]),
        ("", "v1", "ConfigMap", "configmaps", true, &[]),
        ("apps", "v1", "Deployment", "deployments", true, &["status", "scale"]),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false, &["status"]),
    ];
    let schemas: Vec<Arc<Schema>> = builtin
        .iter()
        .map(|(group, version, kind, ..)| builtin_schema::schema(group, version, kind).expect("a built-in kind"))
        .collect();
    let mut served: Vec<Served<'_>> = builtin
        .iter()
        .zip(&schemas)
        .map(|(&(group, version, kind, plural, namespaced, subresources), schema)| Served {
            group,
            version,
            kind,
            list_kind: "List",
            plural,
            namespaced,
            subresources,
            schema,
        })
        .collect();
    served.push(Served {
        group: "acme.example",
        version: "v1",
        kind: "Widget",
        list_kind: "WidgetList",
        plural: "widgets",
        namespaced: true,
        subresources: &["status"],
        schema: &custom,
    });
    then(&served);
}

#[test]
fn every_reference_of_every_document_is_answered() {
    with_served(|served| {
        for path in v3_index(served, "/clusters/a")["paths"].as_object().expect("paths").keys() {
            let parts: Vec<&str> = path.split('/').collect();
            let (group, version) = if parts[0] == "api" { ("", parts[1]) } else { (parts[1], parts[2]) };
            let document = v3_document(served, group, version).expect("a document");
            let mut found = BTreeSet::new();
            references(&document, &mut found);
            let schemas = &document["components"]["schemas"];
            for name in found {
                assert!(schemas.get(&name).is_some(), "{path} refers to {name}");
            }
        }
        assert_eq!(v3_document(served, "nobody", "v1"), None);
        let older = v2(served).to_string();
        assert!(!older.contains("#/components/") && older.contains("#/definitions/io.k8s.api.core.v1.NamespaceSpec"));
    });
}

#[test]
fn kubectl_finds_what_it_looks_for() {
    with_served(|served| {
        let document = v3_document(served, "acme.example", "v1").expect("a document");
        let widget = &document["components"]["schemas"]["example.acme.v1.Widget"];
        assert_eq!(
            widget["x-kubernetes-group-version-kind"][0],
            json!({ "group": "acme.example", "version": "v1", "kind": "Widget" })
        );
        assert_eq!(widget["properties"]["spec"]["properties"]["size"]["description"], "How large.");
        assert_eq!(widget["properties"]["metadata"]["allOf"][0], refer(builtin_schema::OBJECT_META));
        let patch = &document["paths"]["/apis/acme.example/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
        let named: Vec<&str> =
            patch["parameters"].as_array().expect("parameters").iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(named, ["dryRun", "fieldManager", "fieldValidation", "force"]);
        let takes =
            |patch: &Value| patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some();
        assert!(!takes(patch), "custom resources have no strategic merge patch");
        let document = v3_document(served, "apps", "v1").expect("a document");
        assert!(takes(&document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status"]["patch"]));
        let pod = &document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
        assert_eq!(pod["x-kubernetes-patch-merge-key"], "name");
    });
}

#[test]
fn the_index_changes_with_a_schema() {
    with_served(|served| {
        let index =
            |served: &[Served<'_>]| v3_index(served, "")["paths"]["apis/acme.example/v1"]["serverRelativeURL"].clone();
        let before = index(served);
        assert_eq!(before, index(served));
        let other = Schema::open();
        let mut changed = served.to_vec();
        changed.last_mut().expect("widgets").schema = &other;
        assert_ne!(before, index(&changed));
    });
}
