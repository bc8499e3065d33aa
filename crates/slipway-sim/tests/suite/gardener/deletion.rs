//! How a Shoot is deleted, and how it is not.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, Shell, cases};
use serde_json::{Value, json};

use super::shoots::{create, name, path, refused, running, shoot, write_status};

pub(super) static CASES: &[Case] = cases![
    a_deletion_must_be_confirmed_first,
    kubectl_reads_the_same_sentence,
    a_confirmed_deletion_begins_and_moves_the_generation,
    any_word_for_true_confirms,
    a_shoot_nobody_touched_is_gone_at_once,
    a_second_deletion_of_a_shoot_changes_nothing,
    a_shoot_that_is_being_deleted_does_not_change,
    the_finalizer_goes_when_all_is_deleted,
    force_deletion_needs_an_error_that_allows_it,
    several_shoots_at_once_must_be_confirmed_too,
    a_project_must_be_confirmed_as_well,
];

/// Gardener's sentence, of which users see the end.
const SENTENCE: &str = "must have a \"confirmation.gardener.cloud/deletion\" annotation to delete";

fn path_of(cx: &Cx, shoot: &Value) -> String {
    path(cx, &format!("/{}", shoot.text("/metadata/name")))
}

async fn confirm(cx: &Cx, shoot: &Value, value: &str) {
    let patch = json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": value } } });
    cx.patch(&path_of(cx, shoot), Patch::Merge, &patch).await.ok();
}

/// Deletes as soon as the server's cache has seen the confirmation.
async fn delete(cx: &Cx, shoot: &Value) -> Value {
    for _ in 0..50 {
        let answer = cx.delete(&path_of(cx, shoot)).await;
        if answer.code == 200 {
            return answer.ok();
        }
        assert!(answer.text.contains("annotation to delete"), "{}", answer.text);
        kube_sandbox::clock::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the confirmation is never seen");
}

async fn a_deletion_must_be_confirmed_first(cx: Cx) {
    let running = running(&cx, "a_deletion_must_be").await;
    refused(cx.delete(&path_of(&cx, &running)).await, 403, SENTENCE);
    confirm(&cx, &running, "false").await;
    refused(cx.delete(&path_of(&cx, &running)).await, 403, SENTENCE);
}

async fn kubectl_reads_the_same_sentence(cx: Cx) {
    let running = running(&cx, "kubectl_reads").await;
    let name = running.text("/metadata/name");
    let complaint = Shell::new(&cx).fails(&format!("delete shoot {name} --wait=false")).await;
    assert_eq!(
        complaint,
        format!("Error from server (Forbidden): shoots.core.gardener.cloud \"{name}\" is forbidden: {SENTENCE}")
    );
}

async fn a_confirmed_deletion_begins_and_moves_the_generation(cx: Cx) {
    let running = running(&cx, "a_confirmed_deletion").await;
    confirm(&cx, &running, "true").await;
    let deleted = delete(&cx, &running).await;
    assert!(deleted.text("/metadata/deletionTimestamp").ends_with('Z'));
    let before = running["metadata"]["generation"].as_i64().expect("a generation");
    assert_eq!(deleted["metadata"]["generation"], before + 1);
}

async fn any_word_for_true_confirms(cx: Cx) {
    for word in ["1", "t", "True"] {
        let made = create(&cx, &shoot(&name(&format!("any_word_{word}")))).await;
        confirm(&cx, &made, word).await;
        delete(&cx, &made).await;
    }
}

async fn a_shoot_nobody_touched_is_gone_at_once(cx: Cx) {
    let made = create(&cx, &shoot(&name("a_shoot_nobody_touched"))).await;
    confirm(&cx, &made, "true").await;
    delete(&cx, &made).await;
    cx.get(&path_of(&cx, &made)).await.refused_with(404, "NotFound", "not found");
}

async fn a_second_deletion_of_a_shoot_changes_nothing(cx: Cx) {
    let running = running(&cx, "a_second_deletion").await;
    confirm(&cx, &running, "true").await;
    let first = delete(&cx, &running).await;
    let second = delete(&cx, &running).await;
    assert_eq!(first["metadata"]["generation"], second["metadata"]["generation"]);
}

async fn a_shoot_that_is_being_deleted_does_not_change(cx: Cx) {
    let running = running(&cx, "a_shoot_that_is_being").await;
    confirm(&cx, &running, "true").await;
    delete(&cx, &running).await;
    let patch = json!({ "spec": { "purpose": "testing" } });
    let answer = cx.patch(&path_of(&cx, &running), Patch::Merge, &patch).await;
    refused(
        answer,
        422,
        "spec: Forbidden: cannot update shoot spec if deletion timestamp is set. Requested changes: Purpose: testing != evaluation",
    );
}

async fn the_finalizer_goes_when_all_is_deleted(cx: Cx) {
    let running = running(&cx, "the_finalizer_goes").await;
    confirm(&cx, &running, "true").await;
    delete(&cx, &running).await;
    let operation = json!({ "type": "Delete", "state": "Succeeded", "progress": 100, "description": "gone" });
    write_status(&cx, running.text("/metadata/name"), json!({ "lastOperation": operation })).await;
    let patch = json!({ "metadata": { "finalizers": null } });
    cx.patch(&path_of(&cx, &running), Patch::Merge, &patch).await.ok();
    cx.get(&path_of(&cx, &running)).await.refused_with(404, "NotFound", "not found");
}

async fn force_deletion_needs_an_error_that_allows_it(cx: Cx) {
    let running = running(&cx, "force_deletion_needs").await;
    confirm(&cx, &running, "true").await;
    delete(&cx, &running).await;
    let force = json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/force-deletion": "true" } } });
    let answer = cx.patch(&path_of(&cx, &running), Patch::Merge, &force).await;
    refused(
        answer,
        422,
        "does not contain one of these error codes: [ERR_CLEANUP_CLUSTER_RESOURCES ERR_CONFIGURATION_PROBLEM",
    );
    let errors = json!([{ "description": "no", "codes": ["ERR_INFRA_DEPENDENCIES"] }]);
    write_status(&cx, running.text("/metadata/name"), json!({ "lastErrors": errors })).await;
    let before = cx.get(&path_of(&cx, &running)).await.ok();
    let after = cx.patch(&path_of(&cx, &running), Patch::Merge, &force).await.ok();
    let moved = before["metadata"]["generation"].as_i64().expect("a generation") + 1;
    assert_eq!(after["metadata"]["generation"], moved);
}

async fn several_shoots_at_once_must_be_confirmed_too(cx: Cx) {
    let mut one = shoot(&name("several_shoots"));
    one["metadata"]["labels"] = json!({ "several": "yes" });
    create(&cx, &one).await;
    // It looks at all Shoots of the namespace, whatever the selector says.
    refused(cx.delete(&path(&cx, "?labelSelector=several%3Dyes")).await, 500, SENTENCE);
}

async fn a_project_must_be_confirmed_as_well(cx: Cx) {
    let answer = cx.delete("/apis/core.gardener.cloud/v1beta1/projects/dev?dryRun=All").await;
    refused(answer, 403, SENTENCE);
}
