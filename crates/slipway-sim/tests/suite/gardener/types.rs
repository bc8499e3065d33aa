//! Gardener's kinds have types: what a patch makes of lists, and what cannot be read at all.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases};
use serde_json::{Value, json};

use super::shoots::{CORE, another_pool, create, name, path, pool, set, shoot, write_status};

pub(super) static CASES: &[Case] = cases![
    a_strategic_patch_merges_pools_by_their_names,
    a_strategic_patch_adds_finalizers_and_takes_them_away,
    a_strategic_patch_merges_conditions_by_their_types,
    a_value_of_the_wrong_type_cannot_be_read,
    a_patch_to_the_wrong_type_does_not_fit,
    a_null_is_nothing,
    a_kind_may_be_left_out,
    another_kind_cannot_be_read,
    a_kind_nobody_knows_cannot_be_read,
    what_gardener_does_not_serve_is_not_found,
    what_cannot_be_done_is_not_allowed,
    a_status_write_may_label_the_shoot,
    only_some_kinds_are_updated_without_a_version,
];

fn pools(shoot: &Value) -> Vec<String> {
    shoot.texts("/spec/provider/workers", "/name")
}

async fn a_strategic_patch_merges_pools_by_their_names(cx: Cx) {
    let mut two = shoot(&name("strategic-pools"));
    another_pool(&mut two);
    let made = create(&cx, &two).await;
    let path = path(&cx, &format!("/{}", made.text("/metadata/name")));
    let patch = json!({ "spec": { "provider": { "workers": [{ "name": "more", "maximum": 7 }] } } });
    let patched = cx.patch(&path, Patch::Strategic, &patch).await.ok();
    assert_eq!(pools(&patched), ["pool", "more"], "they stay where they are");
    let more = &patched["spec"]["provider"]["workers"][1];
    assert_eq!((&more["maximum"], &more["minimum"]), (&json!(7), &json!(1)));
    let patch = json!({ "spec": { "provider": { "workers": [{ "name": "more", "$patch": "delete" }] } } });
    assert_eq!(pools(&cx.patch(&path, Patch::Strategic, &patch).await.ok()), ["pool"]);
}

async fn a_strategic_patch_adds_finalizers_and_takes_them_away(cx: Cx) {
    let made = create(&cx, &shoot(&name("strategic-finalizers"))).await;
    let path = path(&cx, &format!("/{}", made.text("/metadata/name")));
    let patch = |finalizers: Value| json!({ "metadata": finalizers });
    let add = |one: &str| patch(json!({ "finalizers": [one] }));
    cx.patch(&path, Patch::Strategic, &add("example.com/a")).await.ok();
    let both = cx.patch(&path, Patch::Strategic, &add("example.com/b")).await.ok();
    let mut finalizers = both["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.sort_by_key(ToString::to_string);
    assert_eq!(finalizers, [json!("example.com/a"), json!("example.com/b")]);
    let take = patch(json!({ "$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b"] }));
    let none = cx.patch(&path, Patch::Strategic, &take).await.ok();
    assert_eq!(none["metadata"].get("finalizers"), None);
}

async fn a_strategic_patch_merges_conditions_by_their_types(cx: Cx) {
    let name = name("strategic-conditions");
    create(&cx, &shoot(&name)).await;
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "reason": "Tried", "message": "tried",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
        })
    };
    write_status(&cx, &name, json!({ "conditions": [condition("A", "True"), condition("B", "True")] })).await;
    let patch = json!({ "status": { "conditions": [{ "type": "B", "status": "False" }] } });
    let patched = cx.patch(&path(&cx, &format!("/{name}/status")), Patch::Strategic, &patch).await.ok();
    let mut conditions = patched["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.sort_by_key(|one| one.text("/type").to_owned());
    assert_eq!(conditions, [condition("A", "True"), condition("B", "False")]);
}

async fn a_value_of_the_wrong_type_cannot_be_read(cx: Cx) {
    for edit in [
        |s: &mut Value| set(s, "spec.region", 5),
        |s: &mut Value| set(s, "spec.kubernetes", "1.34.5"),
        |s: &mut Value| set(s, "spec.provider.workers", "many"),
        |s: &mut Value| pool(s, "minimum", "one"),
        |s: &mut Value| set(s, "spec.hibernation", json!({ "enabled": "yes" })),
        |s: &mut Value| set(s, "metadata.labels", json!({ "a": 1 })),
    ] {
        let mut wrong = shoot(&name("wrong-type"));
        edit(&mut wrong);
        let answer = cx.post(&path(&cx, "?dryRun=All"), &wrong).await;
        let part = "Shoot in version \"v1beta1\" cannot be handled as a Shoot: json: cannot unmarshal ";
        answer.refused_with(400, "BadRequest", part);
    }
}

async fn a_patch_to_the_wrong_type_does_not_fit(cx: Cx) {
    let made = create(&cx, &shoot(&name("wrong-patch"))).await;
    let path = path(&cx, &format!("/{}?dryRun=All", made.text("/metadata/name")));
    for kind in [Patch::Merge, Patch::Strategic] {
        let answer = cx.patch(&path, kind, &json!({ "spec": { "region": 5 } })).await;
        answer.refused_with(422, "Invalid", "patch: Invalid value: ");
    }
}

async fn a_null_is_nothing(cx: Cx) {
    let mut shoot = shoot(&name("null"));
    set(&mut shoot, "spec.hibernation", Value::Null);
    pool(&mut shoot, "labels", Value::Null);
    let made = cx.post(&path(&cx, "?dryRun=All"), &shoot).await.created();
    assert_eq!(made["spec"].get("hibernation"), None);
    assert_eq!(made["spec"]["provider"]["workers"][0].get("labels"), None);
}

async fn a_kind_may_be_left_out(cx: Cx) {
    let mut shoot = shoot(&name("no-kind"));
    shoot.as_object_mut().expect("an object").remove("kind");
    let made = cx.post(&path(&cx, "?dryRun=All"), &shoot).await.created();
    assert_eq!((made.text("/kind"), made.text("/apiVersion")), ("Shoot", CORE));
}

async fn another_kind_cannot_be_read(cx: Cx) {
    let mut seed = shoot(&name("no-shoot"));
    seed["kind"] = json!("Quota");
    let answer = cx.post(&path(&cx, "?dryRun=All"), &seed).await;
    answer.refused_with(400, "BadRequest", "Quota in version \"v1beta1\" cannot be handled as a Shoot: converting ");
}

async fn a_kind_nobody_knows_cannot_be_read(cx: Cx) {
    let mut boat = shoot(&name("no-boat"));
    boat["kind"] = json!("Boat");
    let answer = cx.post(&path(&cx, "?dryRun=All"), &boat).await;
    let part = "Boat in version \"v1beta1\" cannot be handled as a Shoot: no kind \"Boat\" is registered for version \
                \"core.gardener.cloud/v1beta1\" in scheme ";
    answer.refused_with(400, "BadRequest", part);
}

async fn what_gardener_does_not_serve_is_not_found(cx: Cx) {
    let message = "the server could not find the requested resource";
    cx.get(&cx.group(CORE, "boats")).await.refused(404, "NotFound", message);
    cx.get(&path(&cx, "/any/mast")).await.refused(404, "NotFound", message);
}

async fn what_cannot_be_done_is_not_allowed(cx: Cx) {
    let message = "the server does not allow this method on the requested resource";
    cx.delete(&path(&cx, "/any/status")).await.refused(405, "MethodNotAllowed", message);
}

async fn a_status_write_may_label_the_shoot(cx: Cx) {
    let name = name("status-labels");
    create(&cx, &shoot(&name)).await;
    let patch = json!({ "metadata": { "labels": { "team": "red" } }, "status": { "hibernated": false } });
    let patched = cx.patch(&path(&cx, &format!("/{name}/status")), Patch::Merge, &patch).await.ok();
    assert_eq!(patched["metadata"]["labels"]["team"], "red");
}

async fn only_some_kinds_are_updated_without_a_version(cx: Cx) {
    let dev = format!("namespaces/{}/", cx.ns);
    for (path, code) in [
        (format!("{CORE}/seeds/aws-eu1"), 200),
        (format!("{CORE}/cloudprofiles/aws"), 200),
        (format!("{CORE}/projects/dev"), 200),
        (format!("{CORE}/exposureclasses/internet"), 422),
        (format!("security.gardener.cloud/v1alpha1/{dev}credentialsbindings/aws"), 422),
    ] {
        let path = format!("/apis/{path}?dryRun=All");
        let mut object = cx.get(&path).await.ok();
        object["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
        assert_eq!(cx.put(&path, &object).await.code, code, "{path}");
    }
}
