//! Pruning: what the schema does not know is not stored.
//!
//! Built-in kinds also lose what their types cannot hold: nulls, and empty lists and maps that need
//! not be there. Nobody is told of those.
//!
//! The names of the fields that went are what strict decoding complains about, so they are spelled
//! as it spells them: `spec.items[2].extra`.

use serde_json::Value;

use super::node::{Additional, Node, Type};

/// Removes unknown fields and names them, sorted.
pub(super) fn prune(node: &Node, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(Some(node), object, &mut String::new(), &mut unknown);
    unknown.sort();
    unknown
}

fn walk(node: Option<&Node>, value: &mut Value, path: &mut String, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let keeps_all = node.is_some_and(|node| node.preserve_unknown);
            fields.retain(|name, value| {
                let length = path.len();
                push_name(path, name);
                let keep = match known(node, name) {
                    Known::As(child) => {
                        if value.is_null()
                            && node.is_some_and(|node| node.builtin)
                            && !is_named(node, name)
                            && child.ty == Type::String
                        {
                            *value = Value::String(String::new());
                        }
                        walk(Some(child), value, path, unknown);
                        true
                    }
                    Known::Unseen => true,
                    // Real servers empty what stands below `additionalProperties: true`: nothing is known of it.
                    Known::Bare => {
                        walk(None, value, path, unknown);
                        true
                    }
                    Known::Not => keeps_all,
                };
                if !keep {
                    unknown.push(path.clone());
                }
                path.truncate(length);
                keep && !node.is_some_and(|node| is_nothing(node, name, value))
            });
        }
        Value::Array(items) => {
            let child = node.and_then(|node| node.items.as_deref());
            if child.is_none() && node.is_some_and(|node| node.preserve_unknown) {
                return;
            }
            for (index, item) in items.iter_mut().enumerate() {
                let length = path.len();
                path.push_str(&format!("[{index}]"));
                walk(child, item, path, unknown);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a field of a built-in kind says nothing, so that its type forgets it.
fn is_nothing(node: &Node, name: &str, value: &Value) -> bool {
    // An empty list of managed fields is a wish, and apply has yet to hear it.
    if name == "managedFields" {
        return false;
    }
    let Some(child) = node.properties.get(name).filter(|_| node.builtin) else { return false };
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() && child.ty == Type::Array && !node.checks.requires(name),
        Value::Object(fields) => fields.is_empty() && child.each().is_some() && !node.checks.requires(name),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_named(node: Option<&Node>, name: &str) -> bool {
    node.is_some_and(|node| node.properties.contains_key(name))
}

enum Known<'a> {
    As(&'a Node),
    Unseen,
    Bare,
    Not,
}

fn known<'a>(node: Option<&'a Node>, name: &str) -> Known<'a> {
    let Some(node) = node else { return Known::Not };
    if let Some(child) = node.field(name) {
        return Known::As(child);
    }
    match &node.additional {
        Additional::Each(child) => Known::As(child),
        Additional::Anything if node.preserve_unknown => Known::Unseen,
        Additional::Anything => Known::Bare,
        Additional::Nothing => Known::Not,
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
