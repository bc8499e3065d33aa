//! What cannot be read into an object at all.
//!
//! Built-in kinds, and the metadata of every object, have types in the real server; a value of
//! another type is no invalid object but no object, and refused with 400 in the words of Go's
//! decoder before anything else is looked at.

use base64::Engine as _;
use serde_json::{Map, Value};

use super::{
    node::{Child, Node, Type},
    path,
};
use crate::builtin_schema;

/// Why an object of a built-in kind cannot be read.
pub(super) fn builtin(node: &Node, kind: &str, object: &Value) -> Option<String> {
    fields(node, kind, "", object.as_object()?)
}

/// Why a custom resource cannot be read: its metadata, or that of a resource inside it.
pub(super) fn custom(node: &Node, object: &Value) -> Option<String> {
    let metadata = object.get("metadata").filter(|metadata| !metadata.is_null());
    let wrong = metadata.and_then(|metadata| match metadata {
        Value::Object(map) => fields(builtin_schema::object_meta(), "ObjectMeta", "", map),
        other => Some(format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", found(other))),
    });
    wrong.or_else(|| embedded(node, object, ""))
}

fn embedded(node: &Node, value: &Value, at: &str) -> Option<String> {
    match value {
        Value::Object(map) => {
            let mistyped = |name: &&str| map.get(*name).is_some_and(|value| !value.is_string());
            if node.embedded
                && !at.is_empty()
                && let Some(name) = ["apiVersion", "kind"].into_iter().find(mistyped)
            {
                return Some(format!("{}: Invalid value: {}: must be a string", path::child(at, name), map[name]));
            }
            map.iter().find_map(|(name, value)| {
                let child = node.properties.get(name).map(|child| &**child).or_else(|| node.each())?;
                embedded(child, value, &path::child(at, name))
            })
        }
        Value::Array(items) => {
            let child = node.items.as_deref()?;
            items.iter().enumerate().find_map(|(index, item)| embedded(child, item, &path::index(at, index)))
        }
        _ => None,
    }
}

/// The fields of a struct; paths name no items, as Go's do not.
fn fields(node: &Node, owner: &str, at: &str, map: &Map<String, Value>) -> Option<String> {
    map.iter().find_map(|(name, value)| {
        let child = node.properties.get(name)?;
        value_of(child, owner, &path::child(at, name), value)
    })
}

fn value_of(child: &Child, owner: &str, at: &str, value: &Value) -> Option<String> {
    let node: &Node = child;
    let wrong = || {
        let number = match value {
            Value::Number(number) if node.ty == Type::Integer => format!(" {number}"),
            _ => String::new(),
        };
        let (found, expected) = (found(value), go_type(child));
        Some(format!("json: cannot unmarshal {found}{number} into Go struct field {owner}.{at} of type {expected}"))
    };
    match (node.ty, value) {
        (_, Value::Null) => None,
        (Type::Object, Value::Object(map)) => match node.each() {
            Some(_) => map.values().find_map(|value| value_of(each(node)?, owner, at, value)),
            None => fields(node, type_name(child).unwrap_or(owner), at, map),
        },
        (Type::Array, Value::Array(items)) => {
            items.iter().find_map(|item| value_of(node.items.as_ref()?, owner, at, item))
        }
        (Type::String, Value::String(text)) => malformed(node, text),
        (Type::Integer, Value::Number(number)) if !number.is_f64() => None,
        (Type::Number, Value::Number(_)) | (Type::Boolean, Value::Bool(_)) => None,
        (Type::Any, _) if type_name(child) == Some("Quantity") => (!is_quantity(value)).then(|| QUANTITY.to_owned()),
        (Type::Any, Value::String(_) | Value::Number(_)) => None,
        (Type::Any, _) if !node.int_or_string => None,
        _ => wrong(),
    }
}

const QUANTITY: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

fn is_quantity(value: &Value) -> bool {
    let Value::String(text) = value else { return value.is_number() };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(unsigned.len());
    let suffix = unsigned[digits..].trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let suffix = suffix.strip_prefix(['+', '-']).unwrap_or(suffix);
    digits > 0 && suffix.bytes().all(|byte| byte.is_ascii_digit())
}

/// Texts that stand for something else.
fn malformed(node: &Node, text: &str) -> Option<String> {
    match node.format.as_deref() {
        Some("byte") => match base64::engine::general_purpose::STANDARD.decode(text) {
            Ok(_) => None,
            Err(base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _)) => {
                Some(format!("illegal base64 data at input byte {at}"))
            }
            Err(_) => Some(format!("illegal base64 data at input byte {}", text.len())),
        },
        Some("date-time") if text.parse::<jiff::Timestamp>().is_err() => {
            let layout = "2006-01-02T15:04:05Z07:00";
            Some(format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\""))
        }
        _ => None,
    }
}

fn each(node: &Node) -> Option<&Child> {
    match &node.additional {
        super::node::Additional::Each(child) => Some(child),
        _ => None,
    }
}

/// `ServicePort` of `io.k8s.api.core.v1.ServicePort`.
fn type_name(child: &Child) -> Option<&str> {
    match child {
        Child::Named(name) => name.rsplit('.').next(),
        Child::Own(_) => None,
    }
}

/// The type a Go program has for it.
fn go_type(child: &Child) -> String {
    let node: &Node = child;
    match node.ty {
        Type::String if node.format.as_deref() == Some("byte") => "[]uint8".to_owned(),
        Type::String => "string".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Number => "float64".to_owned(),
        Type::Integer => node.format.clone().unwrap_or_else(|| "int64".to_owned()),
        Type::Array => format!("[]{}", node.items.as_ref().map(go_type).unwrap_or_default()),
        Type::Object => match (each(node), child) {
            (Some(each), _) => format!("map[string]{}", go_type(each)),
            (None, Child::Named(name)) => {
                let mut parts = name.rsplit('.');
                let (last, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                format!("{package}.{last}")
            }
            (None, Child::Own(_)) => "map[string]interface {}".to_owned(),
        },
        // Only int-or-string gets here.
        Type::Any => "int32".to_owned(),
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
