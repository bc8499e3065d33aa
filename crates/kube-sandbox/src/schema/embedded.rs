//! Resources inside resources must say what they are.

use serde_json::{Value, json};

use super::{node::Node, path};
use crate::status::Cause;

/// What is missing or empty; the root is checked by the server itself.
pub(super) fn check(node: &Node, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            if node.embedded && !at.is_empty() {
                for name in ["apiVersion", "kind"] {
                    match fields.get(name) {
                        None => causes.push(Cause::required(path::child(at, name), "")),
                        Some(Value::String(text)) if text.is_empty() => {
                            causes.push(Cause::invalid(path::child(at, name), &json!(""), "must not be empty"));
                        }
                        Some(_) => {}
                    }
                }
            }
            for (name, value) in fields {
                if let Some(child) = node.properties.get(name) {
                    check(child, value, &path::child(at, name), causes);
                } else if let Some(child) = node.each() {
                    check(child, value, &path::key(at, name), causes);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(child) = &node.items {
                    check(child, item, &path::index(at, index), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
