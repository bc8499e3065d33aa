//! Requests that are wrong in themselves.

use http::Method;
use kube_sandbox::contract::{Case, Cx, cases, config_map};
use serde_json::json;

pub(super) static CASES: &[Case] = cases![
    a_body_that_is_no_json_is_refused,
    an_empty_body_is_refused,
    a_body_without_a_kind_is_taken_for_what_the_path_says,
    an_unknown_version_of_a_kind_is_refused,
    an_unknown_kind_is_refused,
    a_body_that_is_too_large_is_refused,
    an_object_that_is_too_large_is_refused,
    an_unknown_content_type_is_refused,
    yaml_is_understood,
    an_unknown_wish_for_an_answer_is_refused,
    a_method_that_is_not_allowed_is_refused,
    a_field_of_the_wrong_type_is_refused,
    a_list_where_an_object_belongs_is_refused,
    numbers_do_not_become_texts,
    a_get_without_json_wished_is_answered_in_yaml,
    a_bad_parameter_is_refused,
    deeply_nested_json_does_not_break_the_server,
    an_unknown_subresource_is_not_found,
    a_bad_grace_period_is_refused,
    delete_options_of_another_kind_are_refused,
];

async fn post(cx: &Cx, content_type: &str, body: &[u8]) -> kube_sandbox::contract::Answer {
    cx.ask(Method::POST, &cx.core("configmaps"), &[("content-type", content_type)], body.to_vec()).await
}

async fn a_body_that_is_no_json_is_refused(cx: Cx) {
    post(&cx, "application/json", b"{\"kind\":").await.refused_with(400, "BadRequest", "");
    post(&cx, "application/json", b"nonsense").await.refused_with(400, "BadRequest", "");
}

async fn an_empty_body_is_refused(cx: Cx) {
    post(&cx, "application/json", b"").await.refused_with(400, "BadRequest", "");
}

async fn a_body_without_a_kind_is_taken_for_what_the_path_says(cx: Cx) {
    let made = cx.post(&cx.core("configmaps"), &json!({ "metadata": { "name": "a" } })).await.created();
    assert_eq!((&made["kind"], &made["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
}

async fn an_unknown_version_of_a_kind_is_refused(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["apiVersion"] = json!("v2");
    let answer = cx.post(&cx.core("configmaps"), &object).await;
    answer.refused_with(400, "BadRequest", "no kind \"ConfigMap\" is registered for version \"v2\"");
}

async fn an_unknown_kind_is_refused(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["kind"] = json!("Nonsense");
    let answer = cx.post(&cx.core("configmaps"), &object).await;
    answer.refused_with(400, "BadRequest", "no kind \"Nonsense\" is registered for version \"v1\"");
}

async fn a_body_that_is_too_large_is_refused(cx: Cx) {
    let object = config_map("a", json!({ "k": "x".repeat(4 << 20) }));
    let answer = cx.post(&cx.core("configmaps"), &object).await;
    answer.refused(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
}

async fn an_object_that_is_too_large_is_refused(cx: Cx) {
    let object = config_map("a", json!({ "k": "x".repeat((1 << 20) + 1) }));
    cx.post(&cx.core("configmaps"), &object).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: []: Too long: may not be more than 1048576 bytes",
    );
}

async fn an_unknown_content_type_is_refused(cx: Cx) {
    let answer = post(&cx, "text/plain", b"hello").await;
    let message = "the body of the request was in an unknown format - accepted media types include: application/json";
    answer.refused_with(415, "UnsupportedMediaType", message);
}

async fn yaml_is_understood(cx: Cx) {
    let yaml = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";
    let made = post(&cx, "application/yaml", yaml).await;
    assert_eq!(made.code, 201, "{}", made.text);
}

async fn an_unknown_wish_for_an_answer_is_refused(cx: Cx) {
    let answer = cx.get_as(&cx.core("configmaps"), "text/html").await;
    answer.refused_with(406, "NotAcceptable", "application/json, application/yaml");
    // Whoever takes anything gets JSON.
    cx.get_as(&cx.core("configmaps"), "text/html, */*").await.ok();
}

async fn a_method_that_is_not_allowed_is_refused(cx: Cx) {
    let answer =
        cx.ask(Method::POST, &cx.core("configmaps/a"), &[("content-type", "application/json")], b"{}".to_vec()).await;
    answer.refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
    let answer =
        cx.ask(Method::PUT, &cx.core("configmaps"), &[("content-type", "application/json")], b"{}".to_vec()).await;
    answer.refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

async fn a_field_of_the_wrong_type_is_refused(cx: Cx) {
    let answer = cx.post(&cx.core("configmaps"), &config_map("a", json!(["k", "v"]))).await;
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go \
                   struct field ConfigMap.data of type map[string]string";
    answer.refused(400, "BadRequest", message);
}

async fn a_list_where_an_object_belongs_is_refused(cx: Cx) {
    post(&cx, "application/json", b"[]").await.refused_with(400, "BadRequest", "");
}

async fn numbers_do_not_become_texts(cx: Cx) {
    let answer = cx.post(&cx.core("configmaps"), &config_map("a", json!({ "k": 7 }))).await;
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go \
                   struct field ConfigMap.data of type string";
    answer.refused(400, "BadRequest", message);
}

async fn a_get_without_json_wished_is_answered_in_yaml(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let answer = cx.get_as(&cx.core("configmaps/a"), "application/yaml").await;
    assert_eq!(answer.code, 200);
    assert!(answer.text.contains("data:\n  k: v\n"), "{}", answer.text);
}

async fn a_bad_parameter_is_refused(cx: Cx) {
    let answer = cx.get(&cx.core("configmaps?limit=many")).await;
    answer.refused_with(400, "BadRequest", "strconv.ParseInt: parsing \"many\": invalid syntax");
}

async fn deeply_nested_json_does_not_break_the_server(cx: Cx) {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let answer = post(&cx, "application/json", deep.as_bytes()).await;
    answer.refused_with(400, "BadRequest", "");
    cx.get(&cx.core("configmaps")).await.ok();
}

async fn an_unknown_subresource_is_not_found(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = cx.get(&cx.core("configmaps/a/nonsense")).await;
    answer.refused(404, "NotFound", "the server could not find the requested resource");
}

async fn a_bad_grace_period_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = cx.delete_with(&cx.core("configmaps/a"), &json!({ "gracePeriodSeconds": "soon" })).await;
    answer.refused_with(400, "BadRequest", "");
}

async fn delete_options_of_another_kind_are_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let answer = cx.delete_with(&cx.core("configmaps/a"), &config_map("a", json!({}))).await;
    answer.refused_with(400, "BadRequest", "");
    cx.get(&cx.core("configmaps/a")).await.ok();
}
