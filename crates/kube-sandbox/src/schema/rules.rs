//! Which `x-kubernetes-validations` a CustomResourceDefinition may have.

use serde_json::{Value, json};

use super::{
    cel,
    node::{Node, Origin},
    path,
};
use crate::status::Cause;

const REASONS: &[&str] = &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

fn rules_of<'a>(schema: &'a Value, at: &str) -> impl Iterator<Item = (String, &'a Value)> {
    let all = path::child(at, "x-kubernetes-validations");
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    rules.enumerate().map(move |(index, rule)| (path::index(&all, index), rule))
}

/// What is wrong with how rules are written down.
pub(super) fn shape(schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (place, rule) in rules_of(schema, at) {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
        let (whole, message) = (text("rule").trim(), text("message"));
        let message_at = path::child(&place, "message");
        if whole.is_empty() {
            causes.push(Cause::required(path::child(&place, "rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            causes.push(Cause::invalid(message_at, &json!(message), "must be non-empty if specified"));
        } else if message.trim().contains('\n') {
            causes.push(Cause::invalid(message_at, &json!(message), "must not contain line breaks"));
        } else if whole.contains('\n') && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            causes.push(Cause::required(message_at, why));
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str).filter(|reason| !REASONS.contains(reason)) {
            causes.push(Cause::not_supported(path::child(&place, "reason"), &json!(reason), REASONS));
        }
    }
}

/// What is wrong with what rules say; `list` is the list or map below which nothing has a past.
pub(super) fn content(schema: &Value, at: &str, is_root: bool, list: Option<&str>, causes: &mut Vec<Cause>) {
    let Value::Object(fields) = schema else { return };
    if !fields.contains_key("x-kubernetes-validations") {
        return;
    }
    let mut node = Node::read(schema, Origin::Custom);
    node.embedded |= is_root;
    for ((rule_at, raw), rule) in rules_of(schema, at).zip(cel::Rule::read_all(fields)) {
        for (name, why) in rule.faults(&node) {
            causes.push(Cause::invalid(path::child(&rule_at, name), raw, &why));
        }
        match (list, rule.uses_old_self(), raw.get("optionalOldSelf")) {
            (Some(list), true, _) => {
                let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
                let shown = raw.get("rule").cloned().unwrap_or_default();
                causes.push(Cause::invalid(path::child(&rule_at, "rule"), &shown, &why));
            }
            (_, false, Some(optional)) => {
                let why = "may not be set if oldSelf is not used in rule";
                causes.push(Cause::invalid(path::child(&rule_at, "optionalOldSelf"), optional, why));
            }
            _ => {}
        }
    }
}
