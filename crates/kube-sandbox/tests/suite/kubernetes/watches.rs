//! Watches: order, versions, bookmarks, the past that is gone.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases, config_map};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    a_watch_tells_what_happens_in_order,
    a_watch_from_a_version_tells_what_came_after_it,
    a_watch_without_a_version_begins_with_what_is_there,
    a_watch_from_any_version_begins_with_what_is_there,
    a_selector_turns_changes_into_comings_and_goings,
    a_watch_of_one_name_tells_of_no_other,
    a_deleted_object_is_told_as_it_was_with_a_newer_version,
    initial_events_end_with_a_bookmark,
    initial_events_need_to_be_asked_for_rightly,
    a_version_that_is_forgotten_is_gone,
    a_bad_version_cannot_be_watched_from,
    a_watch_ends_after_its_time,
    a_watch_of_tables_tells_rows,
    a_finalizer_shows_as_a_change_and_then_a_deletion,
    bookmarks_come_without_being_changes,
    bookmarks_come_with_the_last_word_of_a_watch,
    bookmarks_only_come_where_they_are_allowed,
    initial_events_of_nothing_are_a_bookmark,
    initial_events_keep_to_the_selector,
    a_watch_of_metadata_leaves_the_rest_out,
];

async fn version(cx: &Cx) -> String {
    cx.get(&cx.core("configmaps")).await.ok().text("/metadata/resourceVersion").to_owned()
}

async fn set(cx: &Cx, name: &str, value: &str) -> Value {
    cx.patch(&cx.core(&format!("configmaps/{name}")), Patch::Merge, &json!({ "data": { "k": value } })).await.ok()
}

async fn a_watch_tells_what_happens_in_order(cx: Cx) {
    let mut watch = cx.watch(&cx.core(&format!("configmaps?resourceVersion={}", version(&cx).await))).await;
    cx.config_map("a", json!({})).await;
    set(&cx, "a", "v").await;
    cx.config_map("b", json!({})).await;
    cx.delete(&cx.core("configmaps/a")).await.ok();
    for line in ["ADDED a", "MODIFIED a", "ADDED b", "DELETED a"] {
        assert_eq!(watch.line().await, line);
    }
}

async fn a_watch_from_a_version_tells_what_came_after_it(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let after = set(&cx, "a", "1").await;
    let last = set(&cx, "a", "2").await;
    let mut watch =
        cx.watch(&cx.core(&format!("configmaps?resourceVersion={}", after.text("/metadata/resourceVersion")))).await;
    let (kind, object) = watch.next().await.expect("an event");
    assert_eq!((kind.as_str(), &object), ("MODIFIED", &last));
}

async fn a_watch_without_a_version_begins_with_what_is_there(cx: Cx) {
    cx.config_map("a", json!({})).await;
    cx.config_map("b", json!({})).await;
    let mut watch = cx.watch(&cx.core("configmaps")).await;
    let mut first = [watch.line().await, watch.line().await];
    first.sort();
    assert_eq!(first, ["ADDED a", "ADDED b"]);
    set(&cx, "a", "v").await;
    assert_eq!(watch.line().await, "MODIFIED a");
}

async fn a_watch_from_any_version_begins_with_what_is_there(cx: Cx) {
    cx.config_map("a", json!({})).await;
    // The cache that answers for "any version" may be behind; a list of now brings it up.
    version(&cx).await;
    let mut watch = cx.watch(&cx.core("configmaps?resourceVersion=0")).await;
    assert_eq!(watch.line().await, "ADDED a");
}

async fn a_selector_turns_changes_into_comings_and_goings(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let path = cx.core(&format!("configmaps?labelSelector=team%3Dred&resourceVersion={}", version(&cx).await));
    let mut watch = cx.watch(&path).await;
    let label = async |team: Value| {
        let patch = json!({ "metadata": { "labels": { "team": team } } });
        cx.patch(&cx.core("configmaps/a"), Patch::Merge, &patch).await.ok();
    };
    label(json!("red")).await;
    set(&cx, "a", "v").await;
    label(json!("blue")).await;
    label(json!("green")).await;
    label(json!("red")).await;
    for line in ["ADDED a", "MODIFIED a", "DELETED a", "ADDED a"] {
        assert_eq!(watch.line().await, line);
    }
}

async fn a_watch_of_one_name_tells_of_no_other(cx: Cx) {
    let path = cx.core(&format!("configmaps?fieldSelector=metadata.name%3Db&resourceVersion={}", version(&cx).await));
    let mut watch = cx.watch(&path).await;
    for name in ["a", "b", "c"] {
        cx.config_map(name, json!({})).await;
    }
    cx.delete(&cx.core("configmaps/b")).await.ok();
    assert_eq!(watch.line().await, "ADDED b");
    assert_eq!(watch.line().await, "DELETED b");
}

async fn a_deleted_object_is_told_as_it_was_with_a_newer_version(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "last words" })).await;
    let mut watch = cx.watch(&cx.core(&format!("configmaps?resourceVersion={}", version(&cx).await))).await;
    cx.delete(&cx.core("configmaps/a")).await.ok();
    let (kind, object) = watch.next().await.expect("an event");
    assert_eq!(kind, "DELETED");
    assert_eq!(object["data"]["k"], "last words");
    let number = |object: &Value| object.text("/metadata/resourceVersion").parse::<u64>().expect("a version");
    assert!(number(&object) > number(&made), "or a watch that goes on from here would miss nothing but see it again");
}

async fn initial_events_end_with_a_bookmark(cx: Cx) {
    cx.config_map("a", json!({})).await;
    cx.config_map("b", json!({})).await;
    let query = "configmaps?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut watch = cx.watch(&cx.core(query)).await;
    let mut first = [watch.line().await, watch.line().await];
    first.sort();
    assert_eq!(first, ["ADDED a", "ADDED b"]);
    let (kind, object) = watch.next().await.expect("a bookmark");
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(object["kind"], "ConfigMap");
    assert_eq!(object["metadata"]["annotations"], json!({ "k8s.io/initial-events-end": "true" }));
    assert!(!object.text("/metadata/resourceVersion").is_empty());
    set(&cx, "a", "v").await;
    let mut line = watch.line().await;
    while line == "BOOKMARK " {
        line = watch.line().await;
    }
    assert_eq!(line, "MODIFIED a");
}

async fn initial_events_need_to_be_asked_for_rightly(cx: Cx) {
    let path = cx.core("configmaps?watch=true&sendInitialEvents=true&allowWatchBookmarks=true");
    cx.get(&path).await.refused(
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting \
         resourceVersionMatch to NotOlderThan",
    );
    let path = cx.core("configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let answer = cx.get(&path).await;
    answer.refused_with(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list");
}

async fn a_version_that_is_forgotten_is_gone(cx: Cx) {
    // Nobody can know what came after version 1 of a kind that is younger.
    let widgets = Crd::simple(&cx).create().await;
    let mut watch = cx.watch(&widgets.path("?resourceVersion=1")).await;
    let (kind, status) = watch.next().await.expect("an error");
    assert_eq!(kind, "ERROR");
    assert_eq!(status["kind"], "Status");
    assert_eq!(status["code"], 410);
    assert_eq!(status["reason"], "Expired");
    assert!(status.text("/message").starts_with("too old resource version: 1 ("), "{status}");
    assert!(watch.next().await.is_none(), "and the watch is over");
}

async fn a_bad_version_cannot_be_watched_from(cx: Cx) {
    // A list is refused with 400 for the same; the real server checks the two in different places.
    let message = "resourceVersion: Invalid value: \"new\": strconv.ParseUint: parsing \"new\": invalid syntax";
    cx.get(&cx.core("configmaps?watch=true&resourceVersion=new")).await.refused(500, "", message);
}

async fn a_watch_ends_after_its_time(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let mut watch = cx.watch(&cx.core("configmaps?timeoutSeconds=1")).await;
    assert_eq!(watch.line().await, "ADDED a");
    assert!(watch.next().await.is_none());
}

async fn a_watch_of_tables_tells_rows(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let answer = cx.get_as(&cx.core("configmaps?watch=true&timeoutSeconds=1"), accept).await;
    let event: Value = serde_json::from_str(answer.text.lines().next().expect("an event")).expect("JSON");
    assert_eq!(event["type"], "ADDED");
    assert_eq!(event["object"]["kind"], "Table");
    assert_eq!(event["object"]["rows"][0]["cells"][0], "a");
    assert_eq!(event["object"]["columnDefinitions"][0]["name"], "Name");
}

async fn a_finalizer_shows_as_a_change_and_then_a_deletion(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/kept"]);
    cx.post(&cx.core("configmaps"), &object).await.created();
    let mut watch = cx.watch(&cx.core(&format!("configmaps?resourceVersion={}", version(&cx).await))).await;
    cx.delete(&cx.core("configmaps/a")).await.ok();
    let patch = json!({ "metadata": { "finalizers": null } });
    cx.patch(&cx.core("configmaps/a"), Patch::Merge, &patch).await.ok();
    let (kind, object) = watch.next().await.expect("an event");
    assert_eq!(kind, "MODIFIED");
    assert!(!object.text("/metadata/deletionTimestamp").is_empty());
    assert_eq!(watch.line().await, "DELETED a");
}

async fn bookmarks_come_without_being_changes(cx: Cx) {
    // At the latest shortly before the watch ends by itself.
    let path = format!("configmaps?allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion={}", version(&cx).await);
    let mut watch = cx.watch(&cx.core(&path)).await;
    cx.config_map("a", json!({})).await;
    assert_eq!(watch.line().await, "ADDED a");
    while let Some((kind, object)) = watch.next().await {
        assert_eq!(kind, "BOOKMARK");
        assert_eq!(object["metadata"].as_object().expect("metadata").len(), 1, "a version and no name: {object}");
    }
}

async fn a_watch_of_metadata_leaves_the_rest_out(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let answer = cx.get_as(&cx.core("configmaps?watch=true&timeoutSeconds=1"), accept).await;
    let event: Value = serde_json::from_str(answer.text.lines().next().expect("an event")).expect("JSON");
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(event["object"]["metadata"]["name"], "a");
    assert_eq!(event["object"]["data"], json!(null));
}

async fn bookmarks_come_with_the_last_word_of_a_watch(cx: Cx) {
    // A watch that lasts long enough hears one shortly before it ends, so that its reader knows where to go on.
    let path = format!("configmaps?allowWatchBookmarks=true&timeoutSeconds=4&resourceVersion={}", version(&cx).await);
    let mut watch = cx.watch(&cx.core(&path)).await;
    let made = cx.config_map("a", json!({})).await;
    assert_eq!(watch.line().await, "ADDED a");
    let mut last = None;
    while let Some((kind, object)) = watch.next().await {
        assert_eq!(kind, "BOOKMARK");
        last = Some(object);
    }
    let last = last.expect("a bookmark");
    let number = |object: &Value| object.text("/metadata/resourceVersion").parse::<u64>().expect("a version");
    assert!(number(&last) >= number(&made));
    assert_eq!((last.text("/kind"), last.text("/apiVersion")), ("ConfigMap", "v1"));
}

async fn bookmarks_only_come_where_they_are_allowed(cx: Cx) {
    let path = format!("configmaps?timeoutSeconds=3&resourceVersion={}", version(&cx).await);
    let mut watch = cx.watch(&cx.core(&path)).await;
    assert!(watch.next().await.is_none());
    let query = "configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let mut watch = cx.watch(&cx.core(query)).await;
    assert!(watch.next().await.is_none(), "not even the end of what was there is told");
}

async fn initial_events_of_nothing_are_a_bookmark(cx: Cx) {
    let widgets = Crd::simple(&cx).create().await;
    let query = "?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut watch = cx.watch(&widgets.path(query)).await;
    let (kind, object) = watch.next().await.expect("a bookmark");
    assert_eq!((kind.as_str(), object.text("/kind")), ("BOOKMARK", "Widget"));
    assert_eq!(object["metadata"]["annotations"], json!({ "k8s.io/initial-events-end": "true" }));
    assert_eq!(object["spec"], json!(null));
}

async fn initial_events_keep_to_the_selector(cx: Cx) {
    let mut red = config_map("red", json!({}));
    red["metadata"]["labels"] = json!({ "team": "red" });
    cx.post(&cx.core("configmaps"), &red).await.created();
    cx.config_map("blue", json!({})).await;
    let query = "configmaps?labelSelector=team%3Dred&sendInitialEvents=true&allowWatchBookmarks=true\
                 &resourceVersionMatch=NotOlderThan";
    let mut watch = cx.watch(&cx.core(query)).await;
    assert_eq!(watch.line().await, "ADDED red");
    assert_eq!(watch.line().await, "BOOKMARK ");
    let label = json!({ "metadata": { "labels": { "team": "red" } } });
    cx.patch(&cx.core("configmaps/blue"), Patch::Merge, &label).await.ok();
    let mut line = watch.line().await;
    while line == "BOOKMARK " {
        line = watch.line().await;
    }
    assert_eq!(line, "ADDED blue");
}
