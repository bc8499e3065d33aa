//! Lists that are sets or maps hold nothing twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    node::{ListType, Node},
    path,
};
use crate::status::Cause;

/// One cause for each value that is there more than once, at its second place.
pub(super) fn duplicates(node: &Node, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(child) = node.properties.get(name) {
                    duplicates(child, value, &path::child(at, name), causes);
                } else if let Some(child) = node.each() {
                    duplicates(child, value, &path::key(at, name), causes);
                }
            }
        }
        Value::Array(items) => {
            match &node.list {
                ListType::Atomic => {}
                ListType::Set => twice(items.iter().cloned(), at, causes),
                ListType::Map(keys) => match items.iter().position(|item| !item.is_object() && !item.is_null()) {
                    Some(index) => causes.push(Cause::invalid(
                        path::index(at, index),
                        &items[index],
                        "must be an object for an array of list-type map",
                    )),
                    None => twice(items.iter().map(|item| key_of(item, keys)), at, causes),
                },
            }
            if let Some(child) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    duplicates(child, item, &path::index(at, index), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn key_of(item: &Value, keys: &[String]) -> Value {
    let found = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(found.collect::<Map<_, _>>())
}

fn twice(values: impl Iterator<Item = Value>, at: &str, causes: &mut Vec<Cause>) {
    let mut seen = BTreeMap::<String, u32>::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            causes.push(Cause::duplicate(path::index(at, index), &value));
        }
    }
}
