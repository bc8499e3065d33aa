//! Defaults: what the schema fills in before anything is checked or stored.

use serde_json::Value;

use super::node::Node;

/// Fills in defaults. A null where none is allowed counts as absent: it becomes the default or goes.
pub(super) fn default(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let child = node.properties.get(name).map(|child| &**child).or_else(|| node.each());
                !(value.is_null() && child.is_some_and(|child| !child.nullable && child.default.is_none()))
            });
            for (name, child) in &node.properties {
                let Some(default) = &child.default else { continue };
                let absent = fields.get(name).is_none_or(|value| value.is_null() && !child.nullable);
                if absent {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                match node.properties.get(name) {
                    Some(child) => default(child, value),
                    None => {
                        if let Some(child) = node.each() {
                            fill(child, value);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(child) = &node.items {
                for item in items {
                    fill(child, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A value that is there: null becomes the default where it may not stay.
fn fill(node: &Node, value: &mut Value) {
    if let (true, false, Some(filled)) = (value.is_null(), node.nullable, &node.default) {
        *value = filled.clone();
    }
    default(node, value);
}
