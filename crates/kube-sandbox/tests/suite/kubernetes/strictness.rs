//! Fields nobody knows, and fields written twice: refused, warned of, or ignored.

use http::Method;
use kube_sandbox::contract::{Case, Cx, Patch, cases, config_map};
use serde_json::json;

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    an_unknown_field_is_refused_when_strict,
    an_unknown_field_is_warned_of_by_default,
    an_unknown_field_is_ignored_when_asked,
    a_field_written_twice_is_refused_when_strict,
    a_field_written_twice_is_warned_of_by_default,
    an_unknown_field_of_a_custom_resource_is_refused_when_strict,
    an_unknown_field_of_a_custom_resource_is_warned_of_and_pruned,
    a_patch_is_judged_by_what_it_brings,
    an_unknown_way_to_judge_is_refused,
    unknown_metadata_is_unknown_too,
    a_field_of_the_wrong_case_is_unknown,
];

fn with_unknown() -> serde_json::Value {
    let mut object = config_map("a", json!({ "k": "v" }));
    object["date"] = json!(7);
    object
}

async fn an_unknown_field_is_refused_when_strict(cx: Cx) {
    cx.post(&cx.core("configmaps?fieldValidation=Strict"), &with_unknown()).await.refused(
        400,
        "BadRequest",
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"date\"",
    );
}

async fn an_unknown_field_is_warned_of_by_default(cx: Cx) {
    let answer = cx.post(&cx.core("configmaps"), &with_unknown()).await;
    assert_eq!(answer.warnings(), ["unknown field \"date\""]);
    assert_eq!(answer.created()["date"], json!(null));
}

async fn an_unknown_field_is_ignored_when_asked(cx: Cx) {
    let answer = cx.post(&cx.core("configmaps?fieldValidation=Ignore"), &with_unknown()).await;
    assert_eq!(answer.warnings(), [""; 0]);
    answer.created();
}

const TWICE: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}"#;

async fn a_field_written_twice_is_refused_when_strict(cx: Cx) {
    let header = [("content-type", "application/json")];
    let answer = cx.ask(Method::POST, &cx.core("configmaps?fieldValidation=Strict"), &header, TWICE.into()).await;
    answer.refused(
        400,
        "BadRequest",
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field \
         \"data.k\"",
    );
}

async fn a_field_written_twice_is_warned_of_by_default(cx: Cx) {
    let header = [("content-type", "application/json")];
    let answer = cx.ask(Method::POST, &cx.core("configmaps"), &header, TWICE.into()).await;
    assert_eq!(answer.warnings(), ["duplicate field \"data.k\""]);
    assert_eq!(answer.created()["data"], json!({ "k": "2" }), "the last one counts");
}

async fn an_unknown_field_of_a_custom_resource_is_refused_when_strict(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let widget = crd.widget("a", json!({ "size": 1, "weight": 2, "shape": { "round": true } }));
    let answer = cx.post(&crd.path("?fieldValidation=Strict"), &widget).await;
    answer.refused(
        400,
        "BadRequest",
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.shape\", \
         unknown field \"spec.weight\"",
    );
}

async fn an_unknown_field_of_a_custom_resource_is_warned_of_and_pruned(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let answer = cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 1, "weight": 2 }))).await;
    assert_eq!(answer.warnings(), ["unknown field \"spec.weight\""]);
    assert_eq!(answer.created()["spec"], json!({ "size": 1 }));
}

async fn a_patch_is_judged_by_what_it_brings(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 1 }))).await.created();
    let patch = json!({ "spec": { "weight": 2 } });
    let answer = cx.patch(&crd.path("/a?fieldValidation=Strict"), Patch::Merge, &patch).await;
    answer.refused_with(422, "Invalid", "strict decoding error: unknown field \"spec.weight\"");
    let answer = cx.patch(&crd.path("/a"), Patch::Merge, &patch).await;
    assert_eq!(answer.warnings(), ["unknown field \"spec.weight\""]);
    assert_eq!(answer.ok()["spec"], json!({ "size": 1 }));
}

async fn an_unknown_way_to_judge_is_refused(cx: Cx) {
    let answer = cx.post(&cx.core("configmaps?fieldValidation=Roughly"), &config_map("a", json!({}))).await;
    answer.refused(
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Roughly\": supported values: \
         \"\", \"Ignore\", \"Strict\", \"Warn\"",
    );
}

async fn unknown_metadata_is_unknown_too(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["owner"] = json!("me");
    let answer = cx.post(&cx.core("configmaps?fieldValidation=Strict"), &object).await;
    answer.refused_with(400, "BadRequest", "strict decoding error: unknown field \"metadata.owner\"");
    let crd = Crd::simple(&cx).create().await;
    let mut widget = crd.widget("a", json!({}));
    widget["metadata"]["owner"] = json!("me");
    let answer = cx.post(&crd.path("?fieldValidation=Strict"), &widget).await;
    answer.refused_with(400, "BadRequest", "strict decoding error: unknown field \"metadata.owner\"");
}

async fn a_field_of_the_wrong_case_is_unknown(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["Data"] = json!({ "k": "v" });
    let answer = cx.post(&cx.core("configmaps"), &object).await;
    assert_eq!(answer.warnings(), ["unknown field \"Data\""]);
    assert_eq!(answer.created()["data"], json!(null));
}
