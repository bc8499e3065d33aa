//! JSON, merge and strategic merge patches.

use http::Method;
use kube_sandbox::contract::{Answer, Case, Cx, Json as _, Patch, cases};
use serde_json::{Value, json};

pub(super) static CASES: &[Case] = cases![
    a_merge_patch_sets_removes_and_replaces_lists,
    a_json_patch_runs_its_operations_in_order,
    a_json_patch_whose_test_fails_changes_nothing,
    a_json_patch_of_a_missing_path_is_refused,
    a_json_patch_replaces_even_what_is_not_there,
    a_json_patch_may_test_for_an_absent_field,
    a_malformed_json_patch_is_refused,
    an_unknown_operation_is_refused,
    a_malformed_merge_patch_is_refused,
    a_merge_patch_that_is_no_object_is_refused,
    a_strategic_patch_merges_lists_by_their_key,
    a_strategic_patch_deletes_items_and_maps,
    a_strategic_patch_replaces_where_it_says_so,
    a_strategic_patch_merges_plain_lists_of_finalizers,
    an_unknown_patch_type_is_refused,
    a_patch_of_a_missing_object_is_not_found,
    a_patch_with_a_stale_version_is_a_conflict,
    a_patch_that_changes_nothing_keeps_the_version,
    a_patch_cannot_rename,
    a_patch_result_is_validated,
    a_patch_cannot_change_the_uid,
    force_is_for_apply_alone,
];

async fn patched(cx: &Cx, kind: Patch, patch: Value) -> Answer {
    cx.patch(&cx.core("configmaps/a"), kind, &patch).await
}

async fn a_merge_patch_sets_removes_and_replaces_lists(cx: Cx) {
    cx.config_map("a", json!({ "keep": "1", "change": "1", "drop": "1" })).await;
    let patch = json!({ "data": { "change": "2", "drop": null, "new": "3" } });
    let object = patched(&cx, Patch::Merge, patch).await.ok();
    assert_eq!(object["data"], json!({ "keep": "1", "change": "2", "new": "3" }));
    let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
    patched(&cx, Patch::Merge, finalizers(json!(["example.com/a", "example.com/b"]))).await.ok();
    let object = patched(&cx, Patch::Merge, finalizers(json!(["example.com/c"]))).await.ok();
    assert_eq!(object["metadata"]["finalizers"], json!(["example.com/c"]));
}

async fn a_json_patch_runs_its_operations_in_order(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let patch = json!([
        { "op": "test", "path": "/data/k", "value": "v" },
        { "op": "copy", "from": "/data/k", "path": "/data/l" },
        { "op": "move", "from": "/data/k", "path": "/data/m~1n" },
        { "op": "replace", "path": "/data/l", "value": "w" },
        { "op": "add", "path": "/metadata/labels", "value": { "a": "b" } },
        { "op": "remove", "path": "/metadata/labels/a" },
        { "op": "move", "from": "/data/m~1n", "path": "/data/n" },
    ]);
    let object = patched(&cx, Patch::Json, patch).await.ok();
    assert_eq!(object["data"], json!({ "l": "w", "n": "v" }));
}

async fn a_json_patch_whose_test_fails_changes_nothing(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let patch = json!([
        { "op": "replace", "path": "/data/k", "value": "w" },
        { "op": "test", "path": "/data/k", "value": "x" },
    ]);
    let answer = patched(&cx, Patch::Json, patch).await;
    answer.refused_with(422, "Invalid", "the server rejected our request due to an error in our request");
    assert_eq!(cx.get(&cx.core("configmaps/a")).await.ok()["data"]["k"], "v");
}

async fn a_json_patch_of_a_missing_path_is_refused(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    for op in
        [json!({ "op": "remove", "path": "/data/none" }), json!({ "op": "add", "path": "/none/none", "value": "" })]
    {
        let answer = patched(&cx, Patch::Json, json!([op])).await;
        answer.refused_with(422, "Invalid", "the server rejected our request due to an error in our request");
    }
}

async fn a_json_patch_replaces_even_what_is_not_there(cx: Cx) {
    // Against the standard, and so for years: clients count on it.
    cx.config_map("a", json!({ "k": "v" })).await;
    let patch = json!([{ "op": "replace", "path": "/data/none", "value": "" }]);
    let object = patched(&cx, Patch::Json, patch).await.ok();
    assert_eq!(object["data"], json!({ "k": "v", "none": "" }));
}

async fn a_json_patch_may_test_for_an_absent_field(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let patch = json!([
        { "op": "test", "path": "/metadata/finalizers", "value": null },
        { "op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"] },
    ]);
    let object = patched(&cx, Patch::Json, patch).await.ok();
    assert_eq!(object["metadata"]["finalizers"], json!(["example.com/a"]));
}

async fn a_malformed_json_patch_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = patched(&cx, Patch::Json, json!({ "op": "remove", "path": "/data" })).await;
    answer.refused_with(400, "BadRequest", "json: cannot unmarshal object into Go value of type");
}

async fn an_unknown_operation_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = patched(&cx, Patch::Json, json!([{ "op": "increase", "path": "/data/k", "value": 1 }])).await;
    answer.refused_with(422, "Invalid", "the server rejected our request due to an error in our request");
}

async fn a_malformed_merge_patch_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let header = [("content-type", "application/merge-patch+json")];
    let answer = cx.ask(Method::PATCH, &cx.core("configmaps/a"), &header, b"{\"data\":".to_vec()).await;
    answer.refused_with(400, "BadRequest", "error decoding patch: ");
}

async fn a_merge_patch_that_is_no_object_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = patched(&cx, Patch::Merge, json!(["data"])).await;
    answer.refused_with(400, "BadRequest", "");
}

async fn robot(cx: &Cx) -> String {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "robot" },
        "secrets": [{ "name": "one" }, { "name": "two" }],
    });
    cx.post(&cx.core("serviceaccounts"), &account).await.created();
    cx.core("serviceaccounts/robot")
}

async fn a_strategic_patch_merges_lists_by_their_key(cx: Cx) {
    let path = robot(&cx).await;
    let patch = json!({ "secrets": [{ "name": "three" }, { "name": "one" }] });
    let object = cx.patch(&path, Patch::Strategic, &patch).await.ok();
    // What the patch names comes first, in its order.
    assert_eq!(object["secrets"], json!([{ "name": "three" }, { "name": "one" }, { "name": "two" }]));
}

async fn a_strategic_patch_deletes_items_and_maps(cx: Cx) {
    let path = robot(&cx).await;
    let patch = json!({
        "secrets": [{ "$patch": "delete", "name": "one" }],
        "metadata": { "labels": { "a": "b" } },
    });
    let object = cx.patch(&path, Patch::Strategic, &patch).await.ok();
    assert_eq!(object["secrets"], json!([{ "name": "two" }]));
    let patch = json!({ "metadata": { "labels": { "$patch": "delete" } } });
    let object = cx.patch(&path, Patch::Strategic, &patch).await.ok();
    assert_eq!(object["metadata"]["labels"], json!(null));
}

async fn a_strategic_patch_replaces_where_it_says_so(cx: Cx) {
    let path = robot(&cx).await;
    let patch = json!({ "secrets": [{ "name": "new" }, { "$patch": "replace" }] });
    let object = cx.patch(&path, Patch::Strategic, &patch).await.ok();
    assert_eq!(object["secrets"], json!([{ "name": "new" }]));
}

async fn a_strategic_patch_merges_plain_lists_of_finalizers(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let patch = |patch: Value| json!({ "metadata": patch });
    patched(&cx, Patch::Strategic, patch(json!({ "finalizers": ["example.com/a", "example.com/b"] }))).await.ok();
    let add = json!({ "finalizers": ["example.com/c"], "$deleteFromPrimitiveList/finalizers": ["example.com/a"] });
    let object = patched(&cx, Patch::Strategic, patch(add)).await.ok();
    let finalizers = object["metadata"]["finalizers"].as_array().expect("a list").clone();
    assert_eq!(finalizers.len(), 2, "{finalizers:?}");
    assert!(finalizers.contains(&json!("example.com/b")) && finalizers.contains(&json!("example.com/c")));
}

async fn an_unknown_patch_type_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let header = [("content-type", "application/json")];
    let answer = cx.ask(Method::PATCH, &cx.core("configmaps/a"), &header, b"{}".to_vec()).await;
    answer.refused_with(415, "UnsupportedMediaType", "");
}

async fn a_patch_of_a_missing_object_is_not_found(cx: Cx) {
    for kind in [Patch::Merge, Patch::Strategic] {
        let answer = patched(&cx, kind, json!({ "data": {} })).await;
        answer.refused(404, "NotFound", "configmaps \"a\" not found");
    }
    patched(&cx, Patch::Json, json!([])).await.refused(404, "NotFound", "configmaps \"a\" not found");
}

async fn a_patch_with_a_stale_version_is_a_conflict(cx: Cx) {
    let made = cx.config_map("a", json!({})).await;
    patched(&cx, Patch::Merge, json!({ "data": { "k": "v" } })).await.ok();
    let version = made.text("/metadata/resourceVersion");
    let patch = json!({ "metadata": { "resourceVersion": version }, "data": { "k": "w" } });
    let answer = patched(&cx, Patch::Merge, patch).await;
    answer.refused_with(409, "Conflict", "the object has been modified");
}

async fn a_patch_that_changes_nothing_keeps_the_version(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "v" })).await;
    let patched = patched(&cx, Patch::Merge, json!({ "data": { "k": "v" } })).await.ok();
    assert_eq!(patched["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

async fn a_patch_cannot_rename(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = patched(&cx, Patch::Merge, json!({ "metadata": { "name": "b" } })).await;
    answer.refused(400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)");
}

async fn a_patch_result_is_validated(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = patched(&cx, Patch::Merge, json!({ "metadata": { "labels": { "k": "not good!" } } })).await;
    answer.refused_with(422, "Invalid", "metadata.labels: Invalid value: \"not good!\"");
    let answer = patched(&cx, Patch::Merge, json!({ "data": { "k": 7 } })).await;
    answer.refused_with(
        422,
        "Invalid",
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    );
}

async fn a_patch_cannot_change_the_uid(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = patched(&cx, Patch::Merge, json!({ "metadata": { "uid": "other" } })).await;
    let message = "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"other\": field is immutable";
    answer.refused(422, "Invalid", message);
}

async fn force_is_for_apply_alone(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = cx.patch(&cx.core("configmaps/a?force=true"), Patch::Merge, &json!({})).await;
    answer.refused(
        422,
        "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch",
    );
}
