//! The generation, and the annotations that ask for operations.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases};
use serde_json::{Value, json};

use super::shoots::{bind, create, me, name, path, refused, running, shoot, write_status};

pub(super) static CASES: &[Case] = cases![
    the_generation_moves_with_the_spec_and_the_binding,
    the_generation_ignores_labels_and_status,
    a_confined_rollout_moves_with_hibernation_alone,
    reconcile_moves_the_generation_and_is_gone,
    reconcile_does_nothing_for_a_failed_shoot,
    retry_moves_a_failed_shoot,
    retry_waits_for_a_failure,
    a_rotation_moves_the_generation_and_stays,
    an_operation_before_the_first_moves_nothing,
    a_status_names_its_shoot_once,
    hibernation_waits_for_what_forbids_it,
    a_migration_leaves_no_room_for_changes,
    the_confirmation_names_who_confirmed,
];

async fn patch(cx: &Cx, shoot: &Value, patch: Value) -> kube_sandbox::contract::Answer {
    cx.patch(&path(cx, &format!("/{}", shoot.text("/metadata/name"))), Patch::Merge, &patch).await
}

fn operation(word: &str) -> Value {
    json!({ "metadata": { "annotations": { "gardener.cloud/operation": word } } })
}

fn generation(shoot: &Value) -> i64 {
    shoot["metadata"]["generation"].as_i64().expect("a generation")
}

fn word(shoot: &Value) -> Value {
    shoot["metadata"]["annotations"]["gardener.cloud/operation"].clone()
}

async fn failed(cx: &Cx, shoot: &Value) {
    let operation = json!({ "type": "Reconcile", "state": "Failed", "progress": 40, "description": "no" });
    write_status(cx, shoot.text("/metadata/name"), json!({ "lastOperation": operation })).await;
}

async fn the_generation_moves_with_the_spec_and_the_binding(cx: Cx) {
    let made = create(&cx, &shoot(&name("the_generation_moves_with_the_spec"))).await;
    assert_eq!(generation(&made), 1);
    let bound = bind(&cx, &made, "aws-eu1").await;
    assert_eq!(generation(&bound), 2);
    let changed = patch(&cx, &bound, json!({ "spec": { "purpose": "testing" } })).await.ok();
    assert_eq!(generation(&changed), 3);
}

async fn the_generation_ignores_labels_and_status(cx: Cx) {
    let running = running(&cx, "the_generation_ignores").await;
    let before = generation(&running);
    let labelled =
        patch(&cx, &running, json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "c": "d" } } })).await.ok();
    assert_eq!(generation(&labelled), before);
    let status = json!({ "status": { "hibernated": true } });
    let mixed = patch(&cx, &running, status).await.ok();
    assert_eq!(
        (generation(&mixed), &mixed["status"]["hibernated"]),
        (before, &json!(false)),
        "the status is written apart"
    );
}

async fn a_confined_rollout_moves_with_hibernation_alone(cx: Cx) {
    let mut confined = shoot(&name("a_confined_rollout"));
    confined["spec"]["maintenance"] = json!({ "confineSpecUpdateRollout": true });
    let made = create(&cx, &confined).await;
    let changed = patch(&cx, &made, json!({ "spec": { "purpose": "testing" } })).await.ok();
    assert_eq!(generation(&changed), generation(&made));
    let asleep = patch(&cx, &made, json!({ "spec": { "hibernation": { "enabled": true } } })).await;
    assert_eq!(generation(&asleep.ok()), generation(&made) + 1);
}

async fn reconcile_moves_the_generation_and_is_gone(cx: Cx) {
    let running = running(&cx, "reconcile_moves").await;
    let after = patch(&cx, &running, operation("reconcile")).await.ok();
    assert_eq!((generation(&after), word(&after)), (generation(&running) + 1, json!(null)));
}

async fn reconcile_does_nothing_for_a_failed_shoot(cx: Cx) {
    let running = running(&cx, "reconcile_does_nothing").await;
    failed(&cx, &running).await;
    let after = patch(&cx, &running, operation("reconcile")).await.ok();
    assert_eq!((generation(&after), word(&after)), (generation(&running), json!("reconcile")));
}

async fn retry_moves_a_failed_shoot(cx: Cx) {
    let running = running(&cx, "retry_moves").await;
    failed(&cx, &running).await;
    let after = patch(&cx, &running, operation("retry")).await.ok();
    assert_eq!((generation(&after), word(&after)), (generation(&running) + 1, json!(null)));
}

async fn retry_waits_for_a_failure(cx: Cx) {
    let running = running(&cx, "retry_waits").await;
    let after = patch(&cx, &running, operation("retry")).await.ok();
    assert_eq!((generation(&after), word(&after)), (generation(&running), json!("retry")));
}

async fn a_rotation_moves_the_generation_and_stays(cx: Cx) {
    let running = running(&cx, "a_rotation_moves").await;
    let after = patch(&cx, &running, operation("rotate-ca-start")).await.ok();
    assert_eq!((generation(&after), word(&after)), (generation(&running) + 1, json!("rotate-ca-start")));
}

async fn an_operation_before_the_first_moves_nothing(cx: Cx) {
    let made = create(&cx, &shoot(&name("an_operation_before"))).await;
    let after = patch(&cx, &made, operation("reconcile")).await.ok();
    assert_eq!(generation(&after), generation(&made));
}

async fn a_status_names_its_shoot_once(cx: Cx) {
    let running = running(&cx, "a_status_names").await;
    let path = path(&cx, &format!("/{}/status", running.text("/metadata/name")));
    let answer = cx.patch(&path, Patch::Merge, &json!({ "status": { "technicalID": "other" } })).await;
    refused(answer, 422, "status.technicalID: Invalid value: \"other\": field is immutable");
    let answer = cx.patch(&path, Patch::Merge, &json!({ "status": { "uid": "other" } })).await;
    refused(answer, 422, "status.uid: Invalid value: \"other\": field is immutable");
}

async fn hibernation_waits_for_what_forbids_it(cx: Cx) {
    let running = running(&cx, "hibernation_waits").await;
    let constraint = json!({
        "type": "HibernationPossible", "status": "False", "reason": "ProblematicWebhooks", "message": "a webhook",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
    });
    write_status(&cx, running.text("/metadata/name"), json!({ "constraints": [constraint] })).await;
    let answer = patch(&cx, &running, json!({ "spec": { "hibernation": { "enabled": true } } })).await;
    refused(answer, 403, "'HibernationPossible' constraint is 'False': a webhook");
}

async fn a_migration_leaves_no_room_for_changes(cx: Cx) {
    let running = running(&cx, "a_migration_leaves").await;
    let operation = json!({ "type": "Migrate", "state": "Processing", "progress": 1, "description": "moving" });
    write_status(&cx, running.text("/metadata/name"), json!({ "lastOperation": operation })).await;
    let answer = patch(&cx, &running, json!({ "spec": { "purpose": "testing" } })).await;
    refused(answer, 403, "cannot change shoot spec during Migrate operation that is in state Processing");
}

async fn the_confirmation_names_who_confirmed(cx: Cx) {
    let running = running(&cx, "the_confirmation_names").await;
    let annotations =
        json!({ "confirmation.gardener.cloud/deletion": "true", "deletion.gardener.cloud/confirmed-by": "forged" });
    let after = patch(&cx, &running, json!({ "metadata": { "annotations": annotations } })).await.ok();
    assert_eq!(after["metadata"]["annotations"]["deletion.gardener.cloud/confirmed-by"], me(&cx).await);
}
