//! Server-side apply: who owns what, and what happens when two want the same.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases, config_map};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    an_apply_creates_what_is_missing,
    an_apply_without_change_changes_nothing,
    an_apply_without_a_manager_is_refused,
    a_conflict_names_the_manager_and_the_field,
    several_conflicts_are_listed_by_manager,
    force_takes_over_and_the_other_loses_the_field,
    two_managers_that_agree_own_together,
    a_field_no_longer_applied_is_removed,
    a_field_another_still_owns_stays,
    what_was_created_by_post_stays_when_an_apply_drops_it,
    a_keyed_list_is_merged_by_its_keys,
    a_set_is_merged_by_its_values,
    an_atomic_list_has_one_owner,
    a_granular_map_is_owned_key_by_key_and_an_atomic_one_whole,
    an_update_takes_ownership_without_asking,
    managed_fields_tell_manager_operation_and_fields,
    the_status_is_owned_apart,
    ownership_can_be_dropped_by_an_empty_list,
    an_apply_may_not_bring_managed_fields,
    an_apply_with_a_stale_version_is_a_conflict,
    an_apply_to_another_name_is_refused,
    an_apply_with_an_unknown_field_is_refused,
    yaml_is_applied_as_well,
    an_apply_can_create_with_a_uid_refused,
    a_default_manager_is_named_after_the_client,
    duplicate_keys_in_a_keyed_list_are_refused,
    an_applied_null_is_a_value_of_the_wrong_type,
    a_manager_name_has_a_length,
];

/// A kind with every sort of list and map.
async fn widgets(cx: &Cx) -> Crd {
    let properties = json!({
        "spec": {
            "type": "object",
            "properties": {
                "size": { "type": "integer" },
                "color": { "type": "string" },
                "ports": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object", "required": ["name"],
                        "properties": { "name": { "type": "string" }, "port": { "type": "integer" }, "note": { "type": "string" } },
                    },
                },
                "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
                "args": { "type": "array", "x-kubernetes-list-type": "atomic", "items": { "type": "string" } },
                "loose": { "type": "object", "additionalProperties": { "type": "string" } },
                "tight": {
                    "type": "object", "additionalProperties": { "type": "string" }, "x-kubernetes-map-type": "atomic",
                },
            },
        },
        "status": { "type": "object", "properties": { "phase": { "type": "string" } } },
    });
    Crd::of(cx, properties).with_status().create().await
}

/// The fields a manager owns.
fn fields<'a>(object: &'a Value, manager: &str, operation: &str) -> Option<&'a Value> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    let entry = entries.iter().find(|entry| entry["manager"] == manager && entry["operation"] == operation)?;
    Some(&entry["fieldsV1"])
}

async fn an_apply_creates_what_is_missing(cx: Cx) {
    let made = cx.apply(&cx.core("configmaps/a"), "one", "", &config_map("a", json!({ "k": "v" }))).await.created();
    assert_eq!(made["data"], json!({ "k": "v" }));
    assert_eq!(fields(&made, "one", "Apply"), Some(&json!({ "f:data": { "f:k": {} } })));
}

async fn an_apply_without_change_changes_nothing(cx: Cx) {
    let crd = widgets(&cx).await;
    let widget = crd.widget("a", json!({ "size": 1 }));
    let first = cx.apply(&crd.path("/a"), "one", "", &widget).await.created();
    let second = cx.apply(&crd.path("/a"), "one", "", &widget).await.ok();
    assert_eq!(first, second, "nothing moves, not even the time of the owner");
    assert_eq!(second["metadata"]["generation"], 1);
}

async fn an_apply_without_a_manager_is_refused(cx: Cx) {
    let answer = cx.patch(&cx.core("configmaps/a"), Patch::Apply, &config_map("a", json!({}))).await;
    answer.refused(
        422,
        "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
    );
}

async fn a_conflict_names_the_manager_and_the_field(cx: Cx) {
    let path = cx.core("configmaps/a");
    cx.apply(&path, "one", "", &config_map("a", json!({ "k": "1" }))).await.created();
    let answer = cx.apply(&path, "two", "", &config_map("a", json!({ "k": "2" }))).await;
    let status = answer.refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    let cause = json!({ "reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.k" });
    assert_eq!(status["details"], json!({ "causes": [cause] }));
}

async fn several_conflicts_are_listed_by_manager(cx: Cx) {
    let crd = widgets(&cx).await;
    cx.apply(&crd.path("/a"), "one", "", &crd.widget("a", json!({ "size": 1, "color": "red" }))).await.created();
    let ports = crd.widget("a", json!({ "ports": [{ "name": "web", "port": 80 }] }));
    cx.apply(&crd.path("/a"), "two", "", &ports).await.ok();
    let all = crd.widget("a", json!({ "size": 2, "color": "blue", "ports": [{ "name": "web", "port": 81 }] }));
    cx.apply(&crd.path("/a"), "three", "", &all).await.refused(
        409,
        "Conflict",
        "Apply failed with 3 conflicts: conflicts with \"one\":\n- .spec.color\n- .spec.size\nconflicts with \"two\":\n\
         - .spec.ports[name=\"web\"].port",
    );
}

async fn force_takes_over_and_the_other_loses_the_field(cx: Cx) {
    let path = cx.core("configmaps/a");
    cx.apply(&path, "one", "", &config_map("a", json!({ "k": "1", "l": "1" }))).await.created();
    let taken = cx.apply(&path, "two", "&force=true", &config_map("a", json!({ "k": "2" }))).await.ok();
    assert_eq!(taken["data"], json!({ "k": "2", "l": "1" }));
    assert_eq!(fields(&taken, "one", "Apply"), Some(&json!({ "f:data": { "f:l": {} } })));
    assert_eq!(fields(&taken, "two", "Apply"), Some(&json!({ "f:data": { "f:k": {} } })));
}

async fn two_managers_that_agree_own_together(cx: Cx) {
    let path = cx.core("configmaps/a");
    let object = config_map("a", json!({ "k": "v" }));
    cx.apply(&path, "one", "", &object).await.created();
    let both = cx.apply(&path, "two", "", &object).await.ok();
    for manager in ["one", "two"] {
        assert_eq!(fields(&both, manager, "Apply"), Some(&json!({ "f:data": { "f:k": {} } })), "{manager}");
    }
    // Neither may change it alone now.
    let answer = cx.apply(&path, "two", "", &config_map("a", json!({ "k": "w" }))).await;
    answer.refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .data.k");
}

async fn a_field_no_longer_applied_is_removed(cx: Cx) {
    let crd = widgets(&cx).await;
    cx.apply(&crd.path("/a"), "one", "", &crd.widget("a", json!({ "size": 1, "color": "red" }))).await.created();
    let object = cx.apply(&crd.path("/a"), "one", "", &crd.widget("a", json!({ "size": 1 }))).await.ok();
    assert_eq!(object["spec"], json!({ "size": 1 }));
    assert_eq!(object["metadata"]["generation"], 2);
}

async fn a_field_another_still_owns_stays(cx: Cx) {
    let path = cx.core("configmaps/a");
    let both = config_map("a", json!({ "k": "v", "l": "w" }));
    cx.apply(&path, "one", "", &both).await.created();
    cx.apply(&path, "two", "", &config_map("a", json!({ "l": "w" }))).await.ok();
    let object = cx.apply(&path, "one", "", &config_map("a", json!({ "k": "v" }))).await.ok();
    assert_eq!(object["data"], json!({ "k": "v", "l": "w" }));
    assert_eq!(fields(&object, "two", "Apply"), Some(&json!({ "f:data": { "f:l": {} } })));
}

async fn what_was_created_by_post_stays_when_an_apply_drops_it(cx: Cx) {
    // The trap: the same program that posted and then applies is two owners.
    let crd = widgets(&cx).await;
    let two = crd.widget("a", json!({ "ports": [{ "name": "web", "port": 80 }, { "name": "ssh", "port": 22 }] }));
    cx.post(&crd.path("?fieldManager=one"), &two).await.created();
    cx.apply(&crd.path("/a"), "one", "", &two).await.ok();
    let less = crd.widget("a", json!({ "ports": [{ "name": "web", "port": 80 }] }));
    let object = cx.apply(&crd.path("/a"), "one", "", &less).await.ok();
    assert_eq!(object.texts("/spec/ports", "/name"), ["web", "ssh"], "the creation still owns it");
}

async fn a_keyed_list_is_merged_by_its_keys(cx: Cx) {
    let crd = widgets(&cx).await;
    let ports = |list: Value| crd.widget("a", json!({ "ports": list }));
    let one = ports(json!([{ "name": "web", "port": 80 }, { "name": "ssh", "port": 22 }]));
    cx.apply(&crd.path("/a"), "one", "", &one).await.created();
    let two = ports(json!([{ "name": "ssh", "note": "inside only" }, { "name": "dns", "port": 53 }]));
    let object = cx.apply(&crd.path("/a"), "two", "", &two).await.ok();
    assert_eq!(
        object["spec"]["ports"],
        json!([
            { "name": "web", "port": 80 },
            { "name": "ssh", "port": 22, "note": "inside only" },
            { "name": "dns", "port": 53 },
        ])
    );
    assert_eq!(
        fields(&object, "two", "Apply"),
        Some(&json!({ "f:spec": { "f:ports": {
            "k:{\"name\":\"dns\"}": { ".": {}, "f:name": {}, "f:port": {} },
            "k:{\"name\":\"ssh\"}": { ".": {}, "f:name": {}, "f:note": {} },
        } } }))
    );
    // What one drops goes, as far as the other does not hold it.
    let object = cx.apply(&crd.path("/a"), "one", "", &ports(json!([]))).await.ok();
    assert_eq!(
        object["spec"]["ports"],
        json!([{ "name": "ssh", "note": "inside only" }, { "name": "dns", "port": 53 }])
    );
}

async fn a_set_is_merged_by_its_values(cx: Cx) {
    let crd = widgets(&cx).await;
    let tags = |list: Value| crd.widget("a", json!({ "tags": list }));
    cx.apply(&crd.path("/a"), "one", "", &tags(json!(["a", "b"]))).await.created();
    let object = cx.apply(&crd.path("/a"), "two", "", &tags(json!(["b", "c"]))).await.ok();
    assert_eq!(object["spec"]["tags"], json!(["a", "b", "c"]));
    assert_eq!(
        fields(&object, "two", "Apply"),
        Some(&json!({ "f:spec": { "f:tags": { "v:\"b\"": {}, "v:\"c\"": {} } } }))
    );
    let object = cx.apply(&crd.path("/a"), "one", "", &tags(json!(["a"]))).await.ok();
    assert_eq!(object["spec"]["tags"], json!(["a", "b", "c"]), "b is held by the other");
    let object = cx.apply(&crd.path("/a"), "two", "", &tags(json!(["c"]))).await.ok();
    assert_eq!(object["spec"]["tags"], json!(["a", "c"]));
}

async fn an_atomic_list_has_one_owner(cx: Cx) {
    let crd = widgets(&cx).await;
    let args = |list: Value| crd.widget("a", json!({ "args": list }));
    cx.apply(&crd.path("/a"), "one", "", &args(json!(["a"]))).await.created();
    let answer = cx.apply(&crd.path("/a"), "two", "", &args(json!(["a", "b"]))).await;
    answer.refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .spec.args");
    let object = cx.apply(&crd.path("/a"), "two", "&force=true", &args(json!(["b"]))).await.ok();
    assert_eq!(object["spec"]["args"], json!(["b"]));
    assert_eq!(fields(&object, "one", "Apply"), None, "an owner of nothing is not listed");
}

async fn a_granular_map_is_owned_key_by_key_and_an_atomic_one_whole(cx: Cx) {
    let crd = widgets(&cx).await;
    let spec = |loose: Value, tight: Value| crd.widget("a", json!({ "loose": loose, "tight": tight }));
    cx.apply(&crd.path("/a"), "one", "", &spec(json!({ "a": "1" }), json!({ "a": "1" }))).await.created();
    let answer = cx.apply(&crd.path("/a"), "two", "", &spec(json!({ "b": "2" }), json!({ "b": "2" }))).await;
    answer.refused(409, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .spec.tight");
    let object = cx.apply(&crd.path("/a"), "two", "", &crd.widget("a", json!({ "loose": { "b": "2" } }))).await.ok();
    assert_eq!(object["spec"], json!({ "loose": { "a": "1", "b": "2" }, "tight": { "a": "1" } }));
}

async fn an_update_takes_ownership_without_asking(cx: Cx) {
    let path = cx.core("configmaps/a");
    cx.apply(&path, "one", "", &config_map("a", json!({ "k": "1", "l": "1" }))).await.created();
    let patch = json!({ "data": { "k": "2" } });
    let object = cx.patch(&format!("{path}?fieldManager=two"), Patch::Merge, &patch).await.ok();
    assert_eq!(fields(&object, "one", "Apply"), Some(&json!({ "f:data": { "f:l": {} } })));
    assert_eq!(fields(&object, "two", "Update"), Some(&json!({ "f:data": { "f:k": {} } })));
    let answer = cx.apply(&path, "one", "", &config_map("a", json!({ "k": "1", "l": "1" }))).await;
    // An update is told with its version: its manager may have meant another.
    let message = "Apply failed with 1 conflict: conflict with \"two\" using v1: .data.k";
    answer.refused(409, "Conflict", message);
}

async fn managed_fields_tell_manager_operation_and_fields(cx: Cx) {
    let crd = widgets(&cx).await;
    let widget = crd.widget("a", json!({ "size": 1, "ports": [{ "name": "web", "port": 80 }] }));
    let made = cx.post(&crd.path("?fieldManager=maker"), &widget).await.created();
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!(entry["manager"], "maker");
    assert_eq!(entry["operation"], "Update");
    assert_eq!(entry["apiVersion"], format!("{}/v1", crd.group));
    assert_eq!(entry["fieldsType"], "FieldsV1");
    assert!(entry.text("/time").ends_with('Z'));
    assert_eq!(
        entry["fieldsV1"],
        json!({ "f:spec": { ".": {}, "f:size": {}, "f:ports": {
            ".": {}, "k:{\"name\":\"web\"}": { ".": {}, "f:name": {}, "f:port": {} },
        } } })
    );
    let patch =
        json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "c": "d" }, "finalizers": ["x.io/y"] } });
    let object = cx.patch(&crd.path("/a?fieldManager=tagger"), Patch::Merge, &patch).await.ok();
    assert_eq!(
        fields(&object, "tagger", "Update"),
        Some(&json!({ "f:metadata": {
            "f:annotations": { ".": {}, "f:c": {} },
            "f:finalizers": { ".": {}, "v:\"x.io/y\"": {} },
            "f:labels": { ".": {}, "f:a": {} },
        } }))
    );
}

async fn the_status_is_owned_apart(cx: Cx) {
    let crd = widgets(&cx).await;
    cx.apply(&crd.path("/a"), "one", "", &crd.widget("a", json!({ "size": 1 }))).await.created();
    let mut status = crd.widget("a", json!({ "size": 7 }));
    status["status"] = json!({ "phase": "Ready" });
    let object = cx.apply(&crd.path("/a/status"), "one", "", &status).await.ok();
    assert_eq!(object["spec"]["size"], 1, "the status subresource leaves the rest alone");
    assert_eq!(object["status"]["phase"], "Ready");
    assert_eq!(object["metadata"]["generation"], 1);
    let entries = object["metadata"]["managedFields"].as_array().expect("entries").clone();
    let apart = entries.iter().find(|entry| entry["subresource"] == "status").expect("an entry of its own");
    assert_eq!(apart["fieldsV1"], json!({ "f:status": { "f:phase": {} } }));
    assert_eq!(entries.len(), 2);
}

async fn ownership_can_be_dropped_by_an_empty_list(cx: Cx) {
    cx.apply(&cx.core("configmaps/a"), "one", "", &config_map("a", json!({ "k": "v" }))).await.created();
    let patch = json!([{ "op": "replace", "path": "/metadata/managedFields", "value": [{}] }]);
    let object = cx.patch(&cx.core("configmaps/a"), Patch::Json, &patch).await.ok();
    assert_eq!(object["metadata"]["managedFields"], json!(null));
}

async fn an_apply_may_not_bring_managed_fields(cx: Cx) {
    let made = cx.apply(&cx.core("configmaps/a"), "one", "", &config_map("a", json!({ "k": "v" }))).await.created();
    let answer = cx.apply(&cx.core("configmaps/a"), "one", "", &made).await;
    answer.refused(400, "BadRequest", "metadata.managedFields must be nil");
}

async fn an_apply_with_a_stale_version_is_a_conflict(cx: Cx) {
    let path = cx.core("configmaps/a");
    let made = cx.apply(&path, "one", "", &config_map("a", json!({ "k": "1" }))).await.created();
    cx.apply(&path, "one", "", &config_map("a", json!({ "k": "2" }))).await.ok();
    let mut stale = config_map("a", json!({ "k": "3" }));
    stale["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    let answer = cx.apply(&path, "one", "", &stale).await;
    answer.refused_with(409, "Conflict", "the object has been modified");
}

async fn an_apply_to_another_name_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = cx.apply(&cx.core("configmaps/a"), "one", "", &config_map("b", json!({}))).await;
    answer.refused_with(400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)");
}

async fn an_apply_with_an_unknown_field_is_refused(cx: Cx) {
    let crd = widgets(&cx).await;
    let widget = crd.widget("a", json!({ "size": 1, "weight": 2 }));
    let answer = cx.apply(&crd.path("/a"), "one", "&fieldValidation=Strict", &widget).await;
    answer.refused_with(500, "", ".spec.weight: field not declared in schema");
}

async fn yaml_is_applied_as_well(cx: Cx) {
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: v\n";
    let header = [("content-type", "application/apply-patch+yaml")];
    let path = cx.core("configmaps/a?fieldManager=one");
    let made = cx.ask(http::Method::PATCH, &path, &header, yaml.into()).await.created();
    assert_eq!(made["data"], json!({ "k": "v" }));
}

async fn an_apply_can_create_with_a_uid_refused(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
    let answer = cx.apply(&cx.core("configmaps/a"), "one", "", &object).await;
    answer.refused_with(409, "Conflict", "uid mismatch: the provided object specified uid");
}

async fn a_default_manager_is_named_after_the_client(cx: Cx) {
    let headers = [("content-type", "application/json"), ("user-agent", "gadget/1.2 (linux)")];
    let body = config_map("a", json!({ "k": "v" })).to_string().into();
    let made = cx.ask(http::Method::POST, &cx.core("configmaps"), &headers, body).await.created();
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "gadget");
}

async fn duplicate_keys_in_a_keyed_list_are_refused(cx: Cx) {
    let crd = widgets(&cx).await;
    let widget = crd.widget("a", json!({ "ports": [{ "name": "web", "port": 1 }, { "name": "web", "port": 2 }] }));
    let answer = cx.apply(&crd.path("/a"), "one", "", &widget).await;
    answer.refused_with(500, "", "duplicate entries for key [name=\"web\"]");
}

async fn an_applied_null_is_a_value_of_the_wrong_type(cx: Cx) {
    let crd = widgets(&cx).await;
    cx.apply(&crd.path("/a"), "one", "", &crd.widget("a", json!({ "size": 1, "color": "red" }))).await.created();
    let answer = cx.apply(&crd.path("/a"), "one", "", &crd.widget("a", json!({ "size": 1, "color": null }))).await;
    let message = "spec.color: Invalid value: \"null\": spec.color in body must be of type string: \"null\"";
    answer.refused_with(422, "Invalid", message);
}

async fn a_manager_name_has_a_length(cx: Cx) {
    let answer = cx.apply(&cx.core("configmaps/a"), &"m".repeat(129), "", &config_map("a", json!({}))).await;
    answer.refused_with(422, "Invalid", "fieldManager: Too long: may not be more than 128 bytes");
}
