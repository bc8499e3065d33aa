//! Server-side apply on Shoots: which lists merge by key, which are taken whole.

use kube_sandbox::contract::{Case, Cx, Json as _, cases};
use serde_json::{Value, json};

use super::shoots::{another_pool, create, name, path, settled, shoot, write_status};

pub(super) static CASES: &[Case] = cases![
    a_shoot_is_created_by_apply,
    an_apply_of_the_same_shoot_changes_nothing,
    pools_merge_by_name,
    a_pool_left_out_is_removed,
    a_pool_created_by_post_stays,
    extensions_are_taken_whole,
    tolerations_merge_by_key,
    conditions_merge_by_type,
    a_conflict_on_a_shoot_names_the_field,
];

async fn apply(cx: &Cx, shoot: &Value, manager: &str, more: &str) -> kube_sandbox::contract::Answer {
    let path = path(cx, &format!("/{}", shoot.text("/metadata/name")));
    settled(|| cx.apply(&path, manager, more, shoot)).await
}

fn pools(shoot: &Value) -> Vec<String> {
    shoot.texts("/spec/provider/workers", "/name")
}

async fn a_shoot_is_created_by_apply(cx: Cx) {
    let made = apply(&cx, &shoot(&name("a_shoot_is_created_by_apply")), "one", "").await.created();
    assert_eq!(made["metadata"]["generation"], 1);
}

async fn an_apply_of_the_same_shoot_changes_nothing(cx: Cx) {
    let shoot = shoot(&name("an_apply_of_the_same"));
    let first = apply(&cx, &shoot, "one", "").await.created();
    let second = apply(&cx, &shoot, "one", "").await.ok();
    let third = apply(&cx, &shoot, "one", "").await.ok();
    assert_eq!(first["metadata"]["generation"], third["metadata"]["generation"]);
    // The second may be written once more, with the same content in another encoding; then it rests.
    assert_eq!(second["metadata"]["resourceVersion"], third["metadata"]["resourceVersion"]);
}

async fn pools_merge_by_name(cx: Cx) {
    let one = shoot(&name("pools_merge_by_name"));
    apply(&cx, &one, "one", "").await.created();
    let mut two = one.clone();
    another_pool(&mut two);
    two["spec"]["provider"]["workers"].as_array_mut().expect("pools").remove(0);
    let both = apply(&cx, &two, "two", "&force=true").await.ok();
    assert_eq!(pools(&both), ["pool", "more"]);
}

async fn a_pool_left_out_is_removed(cx: Cx) {
    let one = shoot(&name("a_pool_left_out"));
    let mut two = one.clone();
    another_pool(&mut two);
    assert_eq!(pools(&apply(&cx, &two, "one", "").await.created()), ["pool", "more"]);
    assert_eq!(pools(&apply(&cx, &one, "one", "").await.ok()), ["pool"]);
}

async fn a_pool_created_by_post_stays(cx: Cx) {
    let one = shoot(&name("a_pool_created_by_post"));
    let mut two = one.clone();
    another_pool(&mut two);
    create(&cx, &two).await;
    assert_eq!(pools(&apply(&cx, &one, "one", "&force=true").await.ok()), ["pool", "more"], "the creation owns it");
}

async fn extensions_are_taken_whole(cx: Cx) {
    let mut shoot = shoot(&name("extensions_are_taken"));
    let extensions = |types: &[&str]| Value::from(types.iter().map(|name| json!({ "type": name })).collect::<Vec<_>>());
    shoot["spec"]["extensions"] = extensions(&["shoot-dns-service", "registry-cache"]);
    apply(&cx, &shoot, "one", "").await.created();
    shoot["spec"]["extensions"] = extensions(&["shoot-cert-service"]);
    let after = apply(&cx, &shoot, "one", "").await.ok();
    assert_eq!(after.texts("/spec/extensions", "/type"), ["shoot-cert-service"]);
    let answer = apply(
        &cx,
        &{
            let mut other = shoot.clone();
            other["spec"]["extensions"] = extensions(&["registry-cache"]);
            other
        },
        "two",
        "",
    )
    .await;
    answer.refused_with(409, "Conflict", "conflict with \"one\": .spec.extensions");
}

async fn tolerations_merge_by_key(cx: Cx) {
    let mut shoot = shoot(&name("tolerations_merge"));
    shoot["spec"]["tolerations"] = json!([{ "key": "seed.gardener.cloud/protected" }]);
    let made = apply(&cx, &shoot, "one", "").await.created();
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:tolerations"];
    assert!(owned["k:{\"key\":\"seed.gardener.cloud/protected\"}"].is_object(), "{owned}");
}

async fn conditions_merge_by_type(cx: Cx) {
    let made = create(&cx, &shoot(&name("conditions_merge"))).await;
    let condition = |name: &str| {
        json!({
            "type": name, "status": "True", "reason": "R", "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
        })
    };
    write_status(&cx, made.text("/metadata/name"), json!({ "conditions": [condition("APIServerAvailable")] })).await;
    let applied = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": { "name": made["metadata"]["name"], "namespace": cx.ns },
        "status": { "conditions": [condition("EveryNodeReady")] },
    });
    let path = path(&cx, &format!("/{}/status", made.text("/metadata/name")));
    let after = cx.apply(&path, "one", "", &applied).await.ok();
    let mut types = after.texts("/status/conditions", "/type");
    types.sort();
    assert_eq!(types, ["APIServerAvailable", "EveryNodeReady"]);
}

async fn a_conflict_on_a_shoot_names_the_field(cx: Cx) {
    let mut shoot = shoot(&name("a_conflict_on_a_shoot"));
    shoot["spec"]["purpose"] = json!("testing");
    apply(&cx, &shoot, "one", "").await.created();
    let mut other = shoot;
    other["spec"]["purpose"] = json!("production");
    other["spec"]["provider"]["workers"][0]["maximum"] = json!(5);
    apply(&cx, &other, "two", "").await.refused(
        409,
        "Conflict",
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.purpose\n- .spec.provider.workers[name=\"pool\"].maximum",
    );
}
