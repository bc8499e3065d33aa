//! Trying without doing.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases, config_map};
use serde_json::json;

pub(super) static CASES: &[Case] = cases![
    a_tried_creation_answers_as_if_and_stores_nothing,
    a_tried_update_answers_as_if_and_stores_nothing,
    a_tried_apply_answers_as_if_and_stores_nothing,
    a_tried_deletion_deletes_nothing,
    a_tried_creation_is_checked_like_a_real_one,
    an_unknown_way_to_try_is_refused,
    nothing_is_told_to_watchers_of_what_was_tried,
];

async fn a_tried_creation_answers_as_if_and_stores_nothing(cx: Cx) {
    let made = cx.post(&cx.core("configmaps?dryRun=All"), &config_map("a", json!({ "k": "v" }))).await.created();
    assert_eq!(made["data"]["k"], "v");
    assert!(!made.text("/metadata/uid").is_empty());
    assert_eq!(made["metadata"]["resourceVersion"], json!(null), "it was never stored");
    cx.get(&cx.core("configmaps/a")).await.refused(404, "NotFound", "configmaps \"a\" not found");
}

async fn a_tried_update_answers_as_if_and_stores_nothing(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "v" })).await;
    let tried = cx.put(&cx.core("configmaps/a?dryRun=All"), &config_map("a", json!({ "k": "w" }))).await.ok();
    assert_eq!(tried["data"]["k"], "w");
    let tried =
        cx.patch(&cx.core("configmaps/a?dryRun=All"), Patch::Merge, &json!({ "data": { "k": "x" } })).await.ok();
    assert_eq!(tried["data"]["k"], "x");
    assert_eq!(cx.get(&cx.core("configmaps/a")).await.ok(), made);
}

async fn a_tried_apply_answers_as_if_and_stores_nothing(cx: Cx) {
    let object = config_map("a", json!({ "k": "v" }));
    let tried = cx.apply(&cx.core("configmaps/a"), "one", "&dryRun=All", &object).await.created();
    assert_eq!(tried["metadata"]["managedFields"][0]["manager"], "one");
    cx.get(&cx.core("configmaps/a")).await.refused(404, "NotFound", "configmaps \"a\" not found");
}

async fn a_tried_deletion_deletes_nothing(cx: Cx) {
    let made = cx.config_map("a", json!({})).await;
    cx.delete(&cx.core("configmaps/a?dryRun=All")).await.ok();
    cx.delete_with(&cx.core("configmaps/a"), &json!({ "dryRun": ["All"] })).await.ok();
    assert_eq!(cx.get(&cx.core("configmaps/a")).await.ok(), made);
}

async fn a_tried_creation_is_checked_like_a_real_one(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = cx.post(&cx.core("configmaps?dryRun=All"), &config_map("a", json!({}))).await;
    answer.refused(409, "AlreadyExists", "configmaps \"a\" already exists");
    let answer = cx.post(&cx.core("configmaps?dryRun=All"), &config_map("B", json!({}))).await;
    answer.refused_with(422, "Invalid", "metadata.name: Invalid value: \"B\"");
}

async fn an_unknown_way_to_try_is_refused(cx: Cx) {
    let answer = cx.post(&cx.core("configmaps?dryRun=Some"), &config_map("a", json!({}))).await;
    answer.refused(
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
    );
}

async fn nothing_is_told_to_watchers_of_what_was_tried(cx: Cx) {
    let version = cx.get(&cx.core("configmaps")).await.ok().text("/metadata/resourceVersion").to_owned();
    let mut watch = cx.watch(&cx.core(&format!("configmaps?resourceVersion={version}"))).await;
    cx.post(&cx.core("configmaps?dryRun=All"), &config_map("tried", json!({}))).await.created();
    cx.config_map("done", json!({})).await;
    assert_eq!(watch.line().await, "ADDED done");
}
