//! What an operator that owns Shoots does with them: one manager applies them by force and watches its own.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases};
use serde_json::json;

use super::shoots::{CORE, create, name, path, shoot};

pub(super) static CASES: &[Case] = cases![
    a_watch_with_a_selector_tells_of_own_shoots,
    one_manager_applies_a_shoot_by_force,
    an_applied_status_is_refused_where_it_does_not_fit,
];

async fn a_watch_with_a_selector_tells_of_own_shoots(cx: Cx) {
    let mine = name("operator-watch");
    let version = cx.get(&path(&cx, "?limit=1")).await.ok().text("/metadata/resourceVersion").to_owned();
    let query = format!("?labelSelector=operator.example.com%2Fowner%3D{mine}&resourceVersion={version}");
    let mut watch = cx.watch(&path(&cx, &query)).await;
    create(&cx, &shoot(&name("operator-other"))).await;
    create(&cx, &shoot(&mine)).await;
    let label = json!({ "metadata": { "labels": { "operator.example.com/owner": mine } } });
    cx.patch(&path(&cx, &format!("/{mine}")), Patch::Merge, &label).await.ok();
    assert_eq!(watch.line().await, format!("ADDED {mine}"));
    let label = json!({ "metadata": { "labels": { "operator.example.com/owner": null } } });
    cx.patch(&path(&cx, &format!("/{mine}")), Patch::Merge, &label).await.ok();
    assert_eq!(watch.line().await, format!("DELETED {mine}"));
}

async fn one_manager_applies_a_shoot_by_force(cx: Cx) {
    let name = name("operator-apply");
    let path = path(&cx, &format!("/{name}"));
    let mut wanted = shoot(&name);
    create(&cx, &wanted).await;
    wanted["spec"]["purpose"] = json!("testing");
    wanted["spec"]["provider"]["workers"][0]["maximum"] = json!(5);
    let applied = cx.apply(&path, "operator", "&force=true", &wanted).await.ok();
    assert_eq!(applied["spec"]["purpose"], "testing");
    assert_eq!(applied["spec"]["provider"]["workers"][0]["maximum"], 5);
    let same = cx.apply(&path, "operator", "&force=true", &wanted).await.ok();
    assert_eq!(same["metadata"]["resourceVersion"], applied["metadata"]["resourceVersion"], "nothing has changed");
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    cx.patch(&path, Patch::Merge, &labelled).await.ok();
    let again = cx.apply(&path, "operator", "&force=true", &wanted).await.ok();
    assert_eq!(again["metadata"]["labels"]["a"], "b", "what others own stays");
    let owners = again.texts("/metadata/managedFields", "/manager");
    assert_eq!(owners.iter().filter(|owner| *owner == "operator").count(), 1, "{owners:?}");
}

async fn an_applied_status_is_refused_where_it_does_not_fit(cx: Cx) {
    let name = name("operator-status");
    create(&cx, &shoot(&name)).await;
    let status = |progress| {
        json!({
            "apiVersion": CORE, "kind": "Shoot", "metadata": { "name": name },
            "status": { "lastOperation": {
                "type": "Create", "state": "Processing", "progress": progress, "description": "tried",
                "lastUpdateTime": "2026-01-01T00:00:00Z",
            } },
        })
    };
    let path = path(&cx, &format!("/{name}/status"));
    let applied = cx.apply(&path, "operator", "&force=true", &status(json!(7))).await.ok();
    assert_eq!(applied["status"]["lastOperation"]["progress"], 7);
    let answer = cx.apply(&path, "operator", "&force=true", &status(json!("seven"))).await;
    // The word of the real server: an error of its own, although the fault is the client's.
    answer.refused_with(500, "", ".status.lastOperation.progress: expected numeric (int or float), got string");
}
