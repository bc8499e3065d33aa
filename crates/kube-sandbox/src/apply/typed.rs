//! Whether an applied object fits its schema well enough to be taken apart.
//!
//! These refusals come before all validation and have words of their own.

use serde_json::Value;

use super::{
    set::Element,
    shape::{Atom, List, Shape},
};
use crate::schema::node::{ListType, Type};

/// All that is wrong, as `.spec.foo: field not declared in schema`; one line, or a list of them.
pub(super) fn check(shape: Shape<'_>, object: &Value) -> Result<(), String> {
    let mut wrong = Vec::new();
    walk(shape, object, false, "", &mut wrong);
    match &wrong[..] {
        [] => Ok(()),
        [one] => Err(one.clone()),
        all => Err(format!("errors:\n  {}", all.join("\n  "))),
    }
}

fn walk(shape: Shape<'_>, value: &Value, open: bool, at: &str, wrong: &mut Vec<String>) {
    let (open, ty) = match shape {
        Shape::Node(node, _) => (open || node.preserve_unknown, node.ty),
        Shape::Deduced | Shape::Untyped => return,
    };
    let mut say = |what: String| wrong.push(if at.is_empty() { what } else { format!("{at}: {what}") });
    match (ty, value) {
        (_, Value::Null) => {}
        (Type::Object | Type::Any, Value::Object(fields)) => {
            for (name, value) in fields {
                match shape.field(name, open) {
                    Some(child) => walk(child, value, open, &format!("{at}.{name}"), wrong),
                    None => {
                        wrong.push(format!("{at}.{name}: field not declared in schema"));
                        // The real server stops at the first in each object.
                        return;
                    }
                }
            }
        }
        (Type::Array | Type::Any, Value::Array(items)) => list(shape, value, items, open, at, wrong),
        (Type::Any, _)
        | (Type::String, Value::String(_))
        | (Type::Boolean, Value::Bool(_))
        | (Type::Integer | Type::Number, Value::Number(_)) => {}
        (Type::Object, _) => say(format!("expected map, got &{{{}}}", go(value))),
        (Type::Array, _) => say(format!("expected list, got &{{{}}}", go(value))),
        (Type::String, _) => say(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go(value))),
        (Type::Boolean, _) => say(format!("expected boolean, got &{{{}}}", go(value))),
        (Type::Integer | Type::Number, _) => say(format!("expected numeric (int or float), got {}", go_type(value))),
    }
}

fn list(shape: Shape<'_>, value: &Value, items: &[Value], open: bool, at: &str, wrong: &mut Vec<String>) {
    let element = shape.element();
    let Atom::List(list @ List { keys: ListType::Map(_) | ListType::Set, .. }) = shape.atom(value) else {
        for (index, item) in items.iter().enumerate() {
            walk(element, item, open, &format!("{at}[{index}]"), wrong);
        }
        return;
    };
    let mut seen = Vec::<Element>::new();
    for (index, item) in items.iter().enumerate() {
        match list.identity(item) {
            Err(nameless) => {
                wrong.push(format!("{at}: element {index}: {nameless}"));
                return;
            }
            Ok(identity) => {
                if seen.contains(&identity) {
                    wrong.push(format!("{at}: duplicate entries for key {identity}"));
                }
                walk(element, item, open, &format!("{at}{identity}"), wrong);
                seen.push(identity);
            }
        }
    }
}

/// A value as Go prints it.
fn go(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{}", go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Null | Value::Number(_) => "float64",
    }
}
