//! Rules of a definition that cannot work are refused with the definition, before any object meets them.

use kube_sandbox::contract::{Case, Cx, cases};
use serde_json::{Value, json};

use crate::kubernetes::crd::{Crd, DEFINITIONS};

pub(super) static CASES: &[Case] = cases![
    rules_that_work_are_taken,
    a_rule_may_ask_for_a_field_that_may_be_missing,
    a_rule_about_a_field_nobody_has_is_refused,
    a_rule_with_a_name_nobody_declared_is_refused,
    a_rule_that_is_no_yes_or_no_is_refused,
    a_rule_between_values_that_never_meet_is_refused,
    a_message_that_is_no_text_is_refused,
];

/// A definition whose `spec` has fields of all kinds, and this rule.
fn ruled(cx: &Cx, rule: Value) -> Value {
    let text = json!({ "type": "string", "maxLength": 20 });
    let spec = json!({
        "type": "object", "x-kubernetes-validations": [rule],
        "properties": {
            "size": { "type": "integer" }, "weight": { "type": "number" }, "color": text, "hidden": { "type": "boolean" },
            "namespace": text, "port": { "x-kubernetes-int-or-string": true },
            "since": { "type": "string", "format": "date-time", "maxLength": 40 },
            "tags": { "type": "array", "maxItems": 5, "items": text },
            "parts": {
                "type": "array", "maxItems": 5,
                "items": { "type": "object", "properties": { "name": text, "count": { "type": "integer" } } },
            },
            "labels": { "type": "object", "maxProperties": 5, "additionalProperties": text },
        },
    });
    Crd::of(cx, json!({ "spec": spec })).definition()
}

async fn try_all(cx: &Cx, rules: &[&str], part: &str) {
    let path = format!("{DEFINITIONS}?dryRun=All");
    for rule in rules {
        let answer = cx.post(&path, &ruled(cx, json!({ "rule": rule }))).await;
        if part.is_empty() {
            assert_eq!(answer.code, 201, "{rule}: {}", answer.text);
            continue;
        }
        assert_eq!(answer.code, 422, "{rule}: {}", answer.text);
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(message.contains(".properties[spec].x-kubernetes-validations[0].rule: Invalid value: "), "{message}");
        assert!(message.contains(part), "{rule}: {message}");
    }
}

async fn rules_that_work_are_taken(cx: Cx) {
    let rules = [
        "self.size > 1 && self.weight < 2.5",
        "has(self.color) ? self.color.startsWith('r') : true",
        "self.__namespace__ == 'a' || self.hidden",
        "self.parts.all(part, part.count >= 0 && size(part.name) > 0)",
        "self.parts.exists_one(p, p.name == self.color)",
        "self.tags.exists(tag, tag in ['a', 'b']) && self.color in self.labels",
        "self.labels.all(key, self.labels[key] != '')",
        "self.tags.map(tag, tag + 'x').size() > 0",
        "self.tags.filter(tag, tag != 'a').size() == 0",
        "self.size == oldSelf.size && self.color == oldSelf.color",
        "type(self.port) == int ? self.port > 0 : self.port != ''",
        "self.since > timestamp('2020-01-01T00:00:00Z')",
        "self.color.matches('^[a-z]+$') && quantity('1Gi').isGreaterThan(quantity('1Mi'))",
        "sets.contains(self.tags, ['a'])",
        "self.color + 'x' == 'redx'",
        "self.color.lowerAscii() == self.color",
        "self.?color.orValue('red') == 'red'",
        "!self.hidden",
        "self.size < self.weight",
        "(self.hidden ? self.size : 3) > 2",
    ];
    try_all(&cx, &rules, "").await;
}

async fn a_rule_may_ask_for_a_field_that_may_be_missing(cx: Cx) {
    let rule = json!({ "rule": "self.?color.orValue('red') == 'red'", "message": "only red" });
    let draft = Crd::simple(&cx);
    let crd = draft.create_as(ruled(&cx, rule)).await;
    let path = crd.path("?dryRun=All");
    cx.post(&path, &crd.widget("a", json!({}))).await.created();
    cx.post(&path, &crd.widget("a", json!({ "color": "red" }))).await.created();
    cx.post(&path, &crd.widget("a", json!({ "color": "blue" }))).await.refused_with(422, "Invalid", "only red");
}

async fn a_rule_about_a_field_nobody_has_is_refused(cx: Cx) {
    let rules = [
        "self.colour == 'red'",
        "has(self.colour)",
        "self.parts.all(part, part.amount > 0)",
        "self.parts[0].amount > 0",
        "self.size > 1 || oldSelf.colour == 'red'",
    ];
    try_all(&cx, &rules, "undefined field '").await;
    try_all(&cx, &["self.color.length > 3"], "type 'string' does not support field selection").await;
}

async fn a_rule_with_a_name_nobody_declared_is_refused(cx: Cx) {
    let rules = ["size > 3", "self.size > limit", "this.size > 3", "self.tags.all(t, tag != '')"];
    try_all(&cx, &rules, "undeclared reference to '").await;
}

async fn a_rule_that_is_no_yes_or_no_is_refused(cx: Cx) {
    try_all(&cx, &["self.size", "self.color + 'x'", "'true'", "size(self.tags)"], "must evaluate to a bool").await;
}

async fn a_rule_between_values_that_never_meet_is_refused(cx: Cx) {
    let rules = [
        "self.size == '3'",
        "self.color > 3",
        "!self.size",
        "self.color + 3 == 'a3'",
        "self.size in self.color",
        "self.tags == 'a'",
        "size(self.size) > 3",
    ];
    try_all(&cx, &rules, "found no matching overload for '").await;
    try_all(&cx, &["self.hidden && self.color"], "expected type 'bool' but found 'string'").await;
}

async fn a_message_that_is_no_text_is_refused(cx: Cx) {
    let rule = json!({ "rule": "self.size > 1", "messageExpression": "self.size" });
    let answer = cx.post(&format!("{DEFINITIONS}?dryRun=All"), &ruled(&cx, rule)).await;
    answer.refused_with(422, "Invalid", "messageExpression");
}
