//! Deleting: preconditions, finalizers, collections, namespaces.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases, config_map};
use serde_json::{Value, json};

pub(super) static CASES: &[Case] = cases![
    a_deleted_object_is_gone,
    a_missing_object_cannot_be_deleted,
    a_deletion_meant_for_another_uid_is_a_conflict,
    a_deletion_meant_for_another_version_is_a_conflict,
    a_finalizer_keeps_an_object_until_it_is_removed,
    no_finalizer_is_added_once_deletion_has_begun,
    an_object_that_is_being_deleted_can_still_be_changed,
    a_second_deletion_changes_nothing,
    a_collection_is_deleted_by_its_labels,
    a_bad_finalizer_is_refused,
    a_namespace_that_is_being_deleted_takes_nothing_new,
    foreground_deletion_is_a_finalizer,
    orphaning_is_a_finalizer,
    two_ways_to_propagate_at_once_are_refused,
];

const KEPT: &str = "example.com/kept";

async fn kept(cx: &Cx) -> Value {
    let mut object = config_map("a", json!({ "k": "v" }));
    object["metadata"]["finalizers"] = json!([KEPT]);
    cx.post(&cx.core("configmaps"), &object).await.created()
}

async fn a_deleted_object_is_gone(cx: Cx) {
    let made = cx.config_map("a", json!({})).await;
    let status = cx.delete(&cx.core("configmaps/a")).await.ok();
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": { "name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"] },
        })
    );
    cx.get(&cx.core("configmaps/a")).await.refused(404, "NotFound", "configmaps \"a\" not found");
}

async fn a_missing_object_cannot_be_deleted(cx: Cx) {
    cx.delete(&cx.core("secrets/a")).await.refused(404, "NotFound", "secrets \"a\" not found");
}

async fn a_deletion_meant_for_another_uid_is_a_conflict(cx: Cx) {
    let made = cx.config_map("a", json!({})).await;
    let message = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (other) does not match the UID in \
         record ({}). The object might have been deleted and then recreated",
        made.text("/metadata/uid")
    );
    let options = json!({ "preconditions": { "uid": "other" } });
    cx.delete_with(&cx.core("configmaps/a"), &options).await.refused(409, "Conflict", &message);
    let options = json!({ "preconditions": { "uid": made["metadata"]["uid"] } });
    cx.delete_with(&cx.core("configmaps/a"), &options).await.ok();
}

async fn a_deletion_meant_for_another_version_is_a_conflict(cx: Cx) {
    let made = cx.config_map("a", json!({})).await;
    let message = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match the \
         ResourceVersion in record ({}). The object might have been modified",
        made.text("/metadata/resourceVersion")
    );
    let options = json!({ "preconditions": { "resourceVersion": "1" } });
    cx.delete_with(&cx.core("configmaps/a"), &options).await.refused(409, "Conflict", &message);
}

async fn a_finalizer_keeps_an_object_until_it_is_removed(cx: Cx) {
    kept(&cx).await;
    let deleted = cx.delete(&cx.core("configmaps/a")).await.ok();
    assert_eq!(deleted["kind"], "ConfigMap", "the object, since it is still there");
    assert!(deleted.text("/metadata/deletionTimestamp").ends_with('Z'), "{deleted}");
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 0);
    cx.get(&cx.core("configmaps/a")).await.ok();
    let patch = json!({ "metadata": { "finalizers": null } });
    cx.patch(&cx.core("configmaps/a"), Patch::Merge, &patch).await.ok();
    cx.get(&cx.core("configmaps/a")).await.refused(404, "NotFound", "configmaps \"a\" not found");
}

async fn no_finalizer_is_added_once_deletion_has_begun(cx: Cx) {
    kept(&cx).await;
    cx.delete(&cx.core("configmaps/a")).await.ok();
    let patch = json!({ "metadata": { "finalizers": [KEPT, "example.com/late"] } });
    cx.patch(&cx.core("configmaps/a"), Patch::Merge, &patch).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is \
         being deleted, found new finalizers []string{\"example.com/late\"}",
    );
}

async fn an_object_that_is_being_deleted_can_still_be_changed(cx: Cx) {
    kept(&cx).await;
    let deleted = cx.delete(&cx.core("configmaps/a")).await.ok();
    let patch = json!({ "data": { "k": "w" }, "metadata": { "deletionTimestamp": null } });
    let changed = cx.patch(&cx.core("configmaps/a"), Patch::Merge, &patch).await.ok();
    assert_eq!(changed["data"]["k"], "w");
    assert_eq!(
        changed["metadata"]["deletionTimestamp"], deleted["metadata"]["deletionTimestamp"],
        "there is no way back"
    );
}

async fn a_second_deletion_changes_nothing(cx: Cx) {
    kept(&cx).await;
    let first = cx.delete(&cx.core("configmaps/a")).await.ok();
    let second = cx.delete(&cx.core("configmaps/a")).await.ok();
    assert_eq!(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
}

async fn a_collection_is_deleted_by_its_labels(cx: Cx) {
    for (name, team) in [("a", "red"), ("b", "red"), ("c", "blue")] {
        let mut object = config_map(name, json!({}));
        object["metadata"]["labels"] = json!({ "team": team });
        cx.post(&cx.core("configmaps"), &object).await.created();
    }
    let deleted = cx.delete(&cx.core("configmaps?labelSelector=team%3Dred")).await.ok();
    assert_eq!(deleted["kind"], "ConfigMapList");
    assert_eq!(deleted.texts("/items", "/metadata/name"), ["a", "b"]);
    assert_eq!(cx.get(&cx.core("configmaps")).await.ok().texts("/items", "/metadata/name"), ["c"]);
}

async fn a_bad_finalizer_is_refused(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["finalizers"] = json!(["not good"]);
    let message = "metadata.finalizers: Invalid value: \"not good\": name part must consist of";
    cx.post(&cx.core("configmaps"), &object).await.refused_with(422, "Invalid", message);
}

async fn a_namespace_that_is_being_deleted_takes_nothing_new(cx: Cx) {
    kept(&cx).await;
    let path = format!("/api/v1/namespaces/{}", cx.ns);
    let deleted = cx.delete(&path).await.ok();
    assert_eq!(deleted["status"]["phase"], "Terminating");
    let message = format!(
        "configmaps \"b\" is forbidden: unable to create new content in namespace {} because it is being terminated",
        cx.ns
    );
    let answer = cx.post(&cx.core("configmaps"), &config_map("b", json!({}))).await;
    let status = answer.refused(403, "Forbidden", &message);
    assert_eq!(
        status["details"]["causes"],
        json!([{
            "reason": "NamespaceTerminating", "field": "metadata.namespace",
            "message": format!("namespace {} is being terminated", cx.ns),
        }])
    );
}

async fn foreground_deletion_is_a_finalizer(cx: Cx) {
    kept(&cx).await;
    let options = json!({ "propagationPolicy": "Foreground" });
    let deleted = cx.delete_with(&cx.core("configmaps/a"), &options).await.ok();
    assert_eq!(deleted["metadata"]["finalizers"], json!([KEPT, "foregroundDeletion"]));
}

async fn orphaning_is_a_finalizer(cx: Cx) {
    kept(&cx).await;
    let options = json!({ "propagationPolicy": "Orphan" });
    let deleted = cx.delete_with(&cx.core("configmaps/a"), &options).await.ok();
    assert_eq!(deleted["metadata"]["finalizers"], json!([KEPT, "orphan"]));
}

async fn two_ways_to_propagate_at_once_are_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let options = json!({ "propagationPolicy": "Background", "orphanDependents": true });
    let message = "propagationPolicy: Invalid value: \"Background\": orphanDependents and deletionPropagation cannot be \
                   both set";
    cx.delete_with(&cx.core("configmaps/a"), &options).await.refused_with(422, "Invalid", message);
}
