//! Lists: selectors, pages, versions.

use kube_sandbox::contract::{Case, Cx, Json as _, cases, config_map};
use serde_json::json;

pub(super) static CASES: &[Case] = cases![
    a_list_is_sorted_and_carries_a_version,
    an_empty_list_has_no_items_rather_than_none,
    label_selectors_choose,
    a_bad_label_selector_is_refused,
    field_selectors_choose_by_name_and_namespace,
    a_field_nobody_indexes_cannot_be_selected_by,
    secrets_are_selected_by_their_type,
    events_are_selected_by_what_they_are_about,
    a_list_comes_in_pages,
    a_later_page_shows_the_world_of_the_first,
    a_bad_continue_token_is_refused,
    a_list_over_all_namespaces_sees_every_one,
    a_list_may_be_older_than_now,
    a_match_without_a_version_is_refused,
    a_match_that_does_not_exist_is_refused,
    a_bad_version_is_refused,
    a_negative_limit_is_ignored,
    a_list_of_metadata_leaves_the_rest_out,
    a_namespaced_kind_cannot_be_read_without_its_namespace,
];

async fn team(cx: &Cx, name: &str, labels: serde_json::Value) {
    let mut object = config_map(name, json!({}));
    object["metadata"]["labels"] = labels;
    cx.post(&cx.core("configmaps"), &object).await.created();
}

async fn names(cx: &Cx, query: &str) -> Vec<String> {
    cx.get(&cx.core(&format!("configmaps?{query}"))).await.ok().texts("/items", "/metadata/name")
}

async fn a_list_is_sorted_and_carries_a_version(cx: Cx) {
    for name in ["b", "c", "a"] {
        cx.config_map(name, json!({})).await;
    }
    let list = cx.get(&cx.core("configmaps")).await.ok();
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["apiVersion"], "v1");
    assert_eq!(list.texts("/items", "/metadata/name"), ["a", "b", "c"]);
    assert_eq!(list["items"][0]["kind"], json!(null), "items leave out what the list says already");
    let newest = list["items"].as_array().expect("items").iter().map(|item| item.text("/metadata/resourceVersion"));
    let newest = newest.filter_map(|version| version.parse::<u64>().ok()).max().expect("versions");
    assert!(list.text("/metadata/resourceVersion").parse::<u64>().is_ok_and(|version| version >= newest));
}

async fn an_empty_list_has_no_items_rather_than_none(cx: Cx) {
    let list = cx.get(&cx.core("secrets")).await.ok();
    assert_eq!(list["items"], json!([]));
}

async fn label_selectors_choose(cx: Cx) {
    team(&cx, "a", json!({ "team": "red", "size": "1" })).await;
    team(&cx, "b", json!({ "team": "blue" })).await;
    team(&cx, "c", json!({ "team": "green", "size": "2" })).await;
    team(&cx, "d", json!({})).await;
    for (selector, chosen) in [
        ("team=red", "a"),
        ("team==red", "a"),
        ("team!=red", "b c d"),
        ("team in (red,blue)", "a b"),
        ("team notin (red,blue)", "c d"),
        ("team", "a b c"),
        ("!team", "d"),
        ("team,size", "a c"),
        ("team in (red,green),size!=1", "c"),
        ("size>1", "c"),
        ("size<2", "a"),
        ("team=", ""),
        ("", "a b c d"),
    ] {
        let query = format!("labelSelector={}", selector.replace(' ', "%20").replace('>', "%3E").replace('<', "%3C"));
        assert_eq!(names(&cx, &query).await.join(" "), chosen, "{selector}");
    }
}

async fn a_bad_label_selector_is_refused(cx: Cx) {
    let answer = cx.get(&cx.core("configmaps?labelSelector=a%20in%20b")).await;
    let message = "unable to parse requirement: found 'b' expected: '('";
    answer.refused_with(400, "BadRequest", message);
    let answer = cx.get(&cx.core("configmaps?labelSelector=-a%3Db")).await;
    let message = "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric \
                   characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    answer.refused_with(400, "BadRequest", message);
}

async fn field_selectors_choose_by_name_and_namespace(cx: Cx) {
    for name in ["a", "b", "c"] {
        cx.config_map(name, json!({})).await;
    }
    assert_eq!(names(&cx, "fieldSelector=metadata.name%3Db").await, ["b"]);
    assert_eq!(names(&cx, "fieldSelector=metadata.name!%3Db").await, ["a", "c"]);
    assert_eq!(names(&cx, &format!("fieldSelector=metadata.namespace%3D{}", cx.ns)).await, ["a", "b", "c"]);
    assert_eq!(names(&cx, "fieldSelector=metadata.name%3Da,metadata.name%3Db").await, [""; 0]);
}

async fn a_field_nobody_indexes_cannot_be_selected_by(cx: Cx) {
    let answer = cx.get(&cx.core("configmaps?fieldSelector=data.k%3Dv")).await;
    let message = "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    answer.refused(400, "BadRequest", message);
}

async fn secrets_are_selected_by_their_type(cx: Cx) {
    for (name, kind) in [("a", "team/one"), ("b", "team/two")] {
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "type": kind });
        cx.post(&cx.core("secrets"), &secret).await.created();
    }
    let list = cx.get(&cx.core("secrets?fieldSelector=type%3Dteam/two")).await.ok();
    assert_eq!(list.texts("/items", "/metadata/name"), ["b"]);
}

async fn events_are_selected_by_what_they_are_about(cx: Cx) {
    for (name, kind) in [("a", "ConfigMap"), ("b", "Secret")] {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name },
            "involvedObject": { "kind": kind, "name": "x", "namespace": cx.ns }, "reason": "R", "message": "m",
            "type": "Normal",
        });
        cx.post(&cx.core("events"), &event).await.created();
    }
    let query = "events?fieldSelector=involvedObject.kind%3DSecret,involvedObject.name%3Dx";
    assert_eq!(cx.get(&cx.core(query)).await.ok().texts("/items", "/metadata/name"), ["b"]);
}

async fn a_list_comes_in_pages(cx: Cx) {
    for name in ["a", "b", "c", "d", "e"] {
        cx.config_map(name, json!({})).await;
    }
    let first = cx.get(&cx.core("configmaps?limit=2")).await.ok();
    assert_eq!(first.texts("/items", "/metadata/name"), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    let token = first.text("/metadata/continue").to_owned();
    assert!(!token.is_empty());
    let second = cx.get(&cx.core(&format!("configmaps?limit=2&continue={token}"))).await.ok();
    assert_eq!(second.texts("/items", "/metadata/name"), ["c", "d"]);
    assert_eq!(second["metadata"]["remainingItemCount"], 1);
    let token = second.text("/metadata/continue").to_owned();
    let third = cx.get(&cx.core(&format!("configmaps?limit=2&continue={token}"))).await.ok();
    assert_eq!(third.texts("/items", "/metadata/name"), ["e"]);
    assert_eq!(third["metadata"]["continue"], json!(null));
    assert_eq!(third["metadata"]["remainingItemCount"], json!(null));
}

async fn a_later_page_shows_the_world_of_the_first(cx: Cx) {
    for name in ["a", "b", "c", "d"] {
        cx.config_map(name, json!({})).await;
    }
    let first = cx.get(&cx.core("configmaps?limit=2")).await.ok();
    cx.delete(&cx.core("configmaps/c")).await.ok();
    cx.config_map("cc", json!({})).await;
    let token = first.text("/metadata/continue").to_owned();
    let second = cx.get(&cx.core(&format!("configmaps?limit=2&continue={token}"))).await.ok();
    assert_eq!(second.texts("/items", "/metadata/name"), ["c", "d"]);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

async fn a_bad_continue_token_is_refused(cx: Cx) {
    let answer = cx.get(&cx.core("configmaps?limit=2&continue=nonsense")).await;
    answer.refused_with(400, "BadRequest", "continue key is not valid");
}

async fn a_list_over_all_namespaces_sees_every_one(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let list = cx.get("/api/v1/configmaps?fieldSelector=metadata.name%3Da").await.ok();
    assert!(list.texts("/items", "/metadata/namespace").contains(&cx.ns), "{list}");
}

async fn a_list_may_be_older_than_now(cx: Cx) {
    let made = cx.config_map("a", json!({})).await;
    let version = made.text("/metadata/resourceVersion");
    assert_eq!(names(&cx, &format!("resourceVersion={version}")).await, ["a"], "not older than");
    let query = format!("resourceVersion={version}&resourceVersionMatch=NotOlderThan");
    assert_eq!(names(&cx, &query).await, ["a"]);
    // Any version will do: an answer, whatever it holds.
    names(&cx, "resourceVersion=0").await;
}

async fn a_match_without_a_version_is_refused(cx: Cx) {
    cx.get(&cx.core("configmaps?resourceVersionMatch=Exact")).await.refused(
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden \
         unless resourceVersion is provided",
    );
}

async fn a_match_that_does_not_exist_is_refused(cx: Cx) {
    cx.get(&cx.core("configmaps?resourceVersion=1&resourceVersionMatch=Roughly")).await.refused(
        422,
        "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Roughly\": supported \
         values: \"Exact\", \"NotOlderThan\", \"\"",
    );
}

async fn a_bad_version_is_refused(cx: Cx) {
    let answer = cx.get(&cx.core("configmaps?resourceVersion=new")).await;
    answer.refused_with(400, "BadRequest", "resourceVersion");
}

async fn a_negative_limit_is_ignored(cx: Cx) {
    cx.config_map("a", json!({})).await;
    assert_eq!(names(&cx, "limit=-1").await, ["a"]);
}

async fn a_list_of_metadata_leaves_the_rest_out(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = cx.get_as(&cx.core("configmaps"), accept).await.ok();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(list.texts("/items", "/metadata/name"), ["a"]);
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(list["items"][0]["data"], json!(null));
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let one = cx.get_as(&cx.core("configmaps/a"), accept).await.ok();
    assert_eq!(one["kind"], "PartialObjectMetadata");
    assert_eq!(one["data"], json!(null));
}

async fn a_namespaced_kind_cannot_be_read_without_its_namespace(cx: Cx) {
    let answer = cx.get("/api/v1/configmaps/a").await;
    answer.refused(404, "NotFound", "the server could not find the requested resource");
}
