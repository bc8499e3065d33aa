//! What a schema does to custom resources: types, limits, defaults, pruning, rules.

use kube_sandbox::contract::{Case, Cx, Patch, cases};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    a_value_of_the_wrong_type_is_refused,
    a_missing_required_field_is_refused,
    a_value_outside_the_enumeration_is_refused,
    a_text_that_does_not_match_is_refused,
    numbers_have_limits,
    texts_and_lists_have_lengths,
    several_faults_are_told_at_once,
    defaults_are_filled_in_deeply,
    a_null_is_replaced_by_the_default,
    unknown_fields_are_pruned_unless_they_are_kept,
    int_or_string_takes_both,
    a_rule_is_checked,
    a_transition_rule_sees_the_old_value,
    a_rule_may_make_its_own_message,
    a_set_refuses_doubles,
    a_map_of_anything_keeps_what_it_gets,
    formats_are_checked,
    one_of_is_checked,
    an_embedded_resource_must_be_one,
    an_unchanged_fault_may_stay,
];

/// A definition with these properties of `spec`.
async fn with_spec(cx: &Cx, properties: Value) -> Crd {
    Crd::of(cx, json!({ "spec": { "type": "object", "properties": properties } })).create().await
}

async fn refused(cx: &Cx, crd: &Crd, spec: Value, fault: &str) -> Value {
    let answer = cx.post(&crd.path(""), &crd.widget("a", spec)).await;
    let message = format!("Widget.{} \"a\" is invalid: {fault}", crd.group);
    answer.refused(422, "Invalid", &message)
}

async fn a_value_of_the_wrong_type_is_refused(cx: Cx) {
    let crd = with_spec(&cx, json!({ "size": { "type": "integer" } })).await;
    let fault = "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"";
    let status = refused(&cx, &crd, json!({ "size": "big" }), fault).await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueTypeInvalid");
    assert_eq!(status["details"]["causes"][0]["field"], "spec.size");
}

async fn a_missing_required_field_is_refused(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({ "box": { "type": "object", "required": ["size"], "properties": { "size": { "type": "integer" } } } }),
    )
    .await;
    let status = refused(&cx, &crd, json!({ "box": {} }), "spec.box.size: Required value").await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueRequired");
}

async fn a_value_outside_the_enumeration_is_refused(cx: Cx) {
    let crd = with_spec(&cx, json!({ "color": { "type": "string", "enum": ["red", "blue"] } })).await;
    let fault = "spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\"";
    let status = refused(&cx, &crd, json!({ "color": "green" }), fault).await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueNotSupported");
}

async fn a_text_that_does_not_match_is_refused(cx: Cx) {
    let crd = with_spec(&cx, json!({ "name": { "type": "string", "pattern": "^[a-z]+$" } })).await;
    let fault = "spec.name: Invalid value: \"A1\": spec.name in body should match '^[a-z]+$'";
    refused(&cx, &crd, json!({ "name": "A1" }), fault).await;
}

async fn numbers_have_limits(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({
            "size": { "type": "integer", "minimum": 1, "maximum": 9 },
            "share": { "type": "number", "minimum": 0, "exclusiveMinimum": true },
            "even": { "type": "integer", "multipleOf": 2 },
        }),
    )
    .await;
    let fault = "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1";
    refused(&cx, &crd, json!({ "size": 0 }), fault).await;
    let fault = "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9";
    refused(&cx, &crd, json!({ "size": 10 }), fault).await;
    let fault = "spec.share: Invalid value: 0: spec.share in body should be greater than 0";
    refused(&cx, &crd, json!({ "share": 0 }), fault).await;
    let fault = "spec.even: Invalid value: 3: spec.even in body should be a multiple of 2";
    refused(&cx, &crd, json!({ "even": 3 }), fault).await;
}

async fn texts_and_lists_have_lengths(cx: Cx) {
    let text = json!({ "type": "string" });
    let crd = with_spec(
        &cx,
        json!({
            "name": { "type": "string", "minLength": 2, "maxLength": 3 },
            "list": { "type": "array", "items": text, "minItems": 1, "maxItems": 2 },
            "map": { "type": "object", "additionalProperties": text, "maxProperties": 1 },
        }),
    )
    .await;
    let fault = "spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long";
    refused(&cx, &crd, json!({ "name": "a" }), fault).await;
    let status =
        refused(&cx, &crd, json!({ "name": "abcd" }), "spec.name: Too long: may not be more than 3 bytes").await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueTooLong");
    let fault = "spec.list: Invalid value: 0: spec.list in body should have at least 1 items";
    refused(&cx, &crd, json!({ "list": [] }), fault).await;
    let fault = "spec.list: Too many: 3: must have at most 2 items";
    let status = refused(&cx, &crd, json!({ "list": ["a", "b", "c"] }), fault).await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueTooMany");
    let fault = "spec.map: Too many: 2: must have at most 1 item";
    refused(&cx, &crd, json!({ "map": { "a": "", "b": "" } }), fault).await;
}

async fn several_faults_are_told_at_once(cx: Cx) {
    let crd = with_spec(&cx, json!({ "a": { "type": "integer" }, "b": { "type": "string", "enum": ["x"] } })).await;
    let answer = cx.post(&crd.path(""), &crd.widget("a", json!({ "a": "1", "b": "y" }))).await;
    let status = answer.refused_with(422, "Invalid", "is invalid: [spec.");
    let mut fields: Vec<&str> = status["details"]["causes"]
        .as_array()
        .expect("causes")
        .iter()
        .filter_map(|cause| cause["field"].as_str())
        .filter(|field| !field.contains("null"))
        .collect();
    fields.sort_unstable();
    assert_eq!(fields, ["spec.a", "spec.b"]);
}

async fn defaults_are_filled_in_deeply(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({
            "size": { "type": "integer", "default": 3 },
            "box": {
                "type": "object", "default": {},
                "properties": { "color": { "type": "string", "default": "red" }, "lid": { "type": "boolean" } },
            },
            "ports": {
                "type": "array",
                "items": { "type": "object", "properties": { "protocol": { "type": "string", "default": "TCP" } } },
            },
            "maybe": { "type": "object", "properties": { "x": { "type": "integer", "default": 1 } } },
        }),
    )
    .await;
    let made =
        cx.post(&crd.path(""), &crd.widget("a", json!({ "ports": [{}, { "protocol": "UDP" }] }))).await.created();
    assert_eq!(
        made["spec"],
        json!({ "size": 3, "box": { "color": "red" }, "ports": [{ "protocol": "TCP" }, { "protocol": "UDP" }] })
    );
}

async fn a_null_is_replaced_by_the_default(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({
            "size": { "type": "integer", "default": 3 },
            "open": { "type": "string", "nullable": true, "default": "x" },
        }),
    )
    .await;
    let made = cx.post(&crd.path(""), &crd.widget("a", json!({ "size": null, "open": null }))).await.created();
    assert_eq!(made["spec"], json!({ "size": 3, "open": null }), "unless a null is a value of its own");
}

async fn unknown_fields_are_pruned_unless_they_are_kept(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({
            "known": { "type": "object", "properties": { "a": { "type": "string" } } },
            "open": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": { "inner": { "type": "object", "properties": { "a": { "type": "string" } } } },
            },
        }),
    )
    .await;
    let spec = json!({
        "known": { "a": "1", "b": "2" }, "c": "3",
        "open": { "free": [1, { "x": null }], "inner": { "a": "1", "b": "2" } },
    });
    let made = cx.post(&crd.path(""), &crd.widget("a", spec)).await.created();
    assert_eq!(
        made["spec"],
        json!({ "known": { "a": "1" }, "open": { "free": [1, { "x": null }], "inner": { "a": "1" } } })
    );
}

async fn int_or_string_takes_both(cx: Cx) {
    let crd = with_spec(&cx, json!({ "port": { "x-kubernetes-int-or-string": true } })).await;
    for (name, port) in [("a", json!(80)), ("b", json!("http"))] {
        let made = cx.post(&crd.path(""), &crd.widget(name, json!({ "port": port }))).await.created();
        assert_eq!(made["spec"]["port"], port);
    }
    let answer = cx.post(&crd.path(""), &crd.widget("c", json!({ "port": true }))).await;
    answer.refused_with(422, "Invalid", "spec.port: Invalid value: \"boolean\"");
}

/// A definition whose `spec` has a size, a color and these rules.
async fn ruled(cx: &Cx, rules: Value) -> Crd {
    let spec = json!({
        "type": "object", "x-kubernetes-validations": rules,
        "properties": { "size": { "type": "integer" }, "color": { "type": "string", "maxLength": 10 } },
    });
    Crd::of(cx, json!({ "spec": spec })).create().await
}

async fn a_rule_is_checked(cx: Cx) {
    let rule = json!([{ "rule": "self.size <= 5 || self.color == 'red'", "message": "big ones are red" }]);
    let crd = ruled(&cx, rule).await;
    let spec = json!({ "size": 6, "color": "blue" });
    let status = refused(&cx, &crd, spec, "spec: Invalid value: big ones are red").await;
    assert_eq!(status["details"]["causes"][0]["field"], "spec");
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 6, "color": "red" }))).await.created();
}

async fn a_transition_rule_sees_the_old_value(cx: Cx) {
    let spec = json!({
        "type": "object",
        "properties": { "color": {
            "type": "string", "maxLength": 10,
            "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "the color stays" }],
        } },
    });
    let crd = Crd::of(&cx, json!({ "spec": spec })).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "color": "red" }))).await.created();
    let answer = cx.patch(&crd.path("/a"), Patch::Merge, &json!({ "spec": { "color": "blue" } })).await;
    let message =
        format!("Widget.{} \"a\" is invalid: spec.color: Invalid value: \"blue\": the color stays", crd.group);
    answer.refused(422, "Invalid", &message);
    cx.patch(&crd.path("/a"), Patch::Merge, &json!({ "metadata": { "labels": { "a": "b" } } })).await.ok();
}

async fn a_rule_may_make_its_own_message(cx: Cx) {
    let rule = json!([{
        "rule": "self.size < 5", "messageExpression": "self.color + ' is too big'", "reason": "FieldValueForbidden",
        "fieldPath": ".size",
    }]);
    let crd = ruled(&cx, rule).await;
    let status = refused(&cx, &crd, json!({ "size": 7, "color": "red" }), "spec.size: Forbidden: red is too big").await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueForbidden");
}

async fn a_set_refuses_doubles(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
        }),
    )
    .await;
    let status = refused(&cx, &crd, json!({ "tags": ["a", "b", "a"] }), "spec.tags[2]: Duplicate value: \"a\"").await;
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueDuplicate");
}

async fn a_map_of_anything_keeps_what_it_gets(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
        }),
    )
    .await;
    let made = cx.post(&crd.path(""), &crd.widget("a", json!({ "labels": { "x": "1", "y": "2" } }))).await.created();
    assert_eq!(made["spec"]["labels"], json!({ "x": "1", "y": "2" }));
    let answer = cx.post(&crd.path(""), &crd.widget("b", json!({ "labels": { "x": 1 } }))).await;
    answer.refused_with(
        422,
        "Invalid",
        "spec.labels.x: Invalid value: \"integer\": spec.labels.x in body must be of type string",
    );
}

async fn formats_are_checked(cx: Cx) {
    let crd = with_spec(&cx, json!({ "at": { "type": "string", "format": "date-time" } })).await;
    let fault = "spec.at: Invalid value: \"tomorrow\": spec.at in body must be of type date-time: \"tomorrow\"";
    refused(&cx, &crd, json!({ "at": "tomorrow" }), fault).await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "at": "2026-01-02T03:04:05Z" }))).await.created();
}

async fn one_of_is_checked(cx: Cx) {
    let crd = Crd::of(
        &cx,
        json!({ "spec": {
        "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
        "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
    } }),
    )
    .create()
    .await;
    let answer = cx.post(&crd.path(""), &crd.widget("a", json!({ "a": "", "b": "" }))).await;
    answer.refused_with(
        422,
        "Invalid",
        "\"spec\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
    );
    cx.post(&crd.path(""), &crd.widget("a", json!({ "a": "" }))).await.created();
}

async fn an_embedded_resource_must_be_one(cx: Cx) {
    let crd = with_spec(
        &cx,
        json!({ "template": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    } }),
    )
    .await;
    let answer = cx.post(&crd.path(""), &crd.widget("a", json!({ "template": { "data": {} } }))).await;
    answer.refused_with(
        422,
        "Invalid",
        "[spec.template.apiVersion: Required value, spec.template.kind: Required value]",
    );
}

async fn an_unchanged_fault_may_stay(cx: Cx) {
    // Ratcheting: a schema that became stricter does not stand in the way of other changes.
    let crd = Crd::simple(&cx).create().await;
    cx.post(&crd.path(""), &crd.widget("old", json!({ "size": 20, "color": "red" }))).await.created();
    let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum";
    cx.patch(&crd.definition_path(), Patch::Json, &json!([{ "op": "add", "path": field, "value": 10 }])).await.ok();
    for attempt in 0.. {
        let answer = cx.post(&crd.path("?dryRun=All"), &crd.widget("new", json!({ "size": 20 }))).await;
        if answer.code == 422 {
            break;
        }
        assert!(attempt < 500, "the old schema is still obeyed");
        kube_sandbox::clock::sleep(std::time::Duration::from_millis(20)).await;
    }
    cx.patch(&crd.path("/old"), Patch::Merge, &json!({ "spec": { "color": "blue" } })).await.ok();
    let answer = cx.patch(&crd.path("/old"), Patch::Merge, &json!({ "spec": { "size": 21 } })).await;
    answer.refused_with(422, "Invalid", "spec.size in body should be less than or equal to 10");
}
