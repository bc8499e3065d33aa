//! How a rendered Shoot differs from the one that lives, as server-side apply sees it.
//!
//! A field that is not rendered is not ours and so no difference, unless the Shoot says that it was
//! ours: then an apply would remove it. Inside what is written whole (configurations of clouds and
//! extensions, lists without a key) every missing field is one.

use serde_json::{Map, Value};

use crate::go_duration;

/// One field that differs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) path: String,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// Fields below which everything is written as one.
const WHOLE: [&str; 4] = ["providerConfig", "infrastructureConfig", "controlPlaneConfig", "extensions"];

/// Lists whose entries are known by a key.
const KEYED: [(&str, &str); 6] = [
    ("workers", "name"),
    ("tolerations", "key"),
    ("extensions", "type"),
    ("resources", "name"),
    ("zones", "name"),
    ("accessRestrictions", "name"),
];

/// All differences, in the order of the rendered document.
pub(super) fn between(existing: &Value, rendered: &Value, manager: &str) -> Vec<Difference> {
    let owned = owned_by(existing, manager);
    let mut found = Vec::new();
    compare(Field { path: "", name: "", is_whole: false, owned }, existing, rendered, &mut found);
    found
}

/// The part of a Shoot that a rendered one speaks of: what it would look like if it differed in nothing.
/// Entries of lists that are gone from the rendered one stay, since they would go.
pub fn projection(existing: &Value, rendered: &Value) -> Value {
    project("", false, existing, rendered)
}

fn project(name: &str, is_whole: bool, existing: &Value, rendered: &Value) -> Value {
    match (existing, rendered) {
        (Value::Object(before), Value::Object(after)) if !is_whole => {
            let fields = before.iter().filter_map(|(name, value)| {
                let is_whole = WHOLE.contains(&name.as_str());
                after.get(name).map(|after| (name.clone(), project(name, is_whole, value, after)))
            });
            Value::Object(fields.collect())
        }
        (Value::Array(before), Value::Array(after)) if !is_whole => {
            let Some(key) = key_of(name, before, after) else { return existing.clone() };
            let entry = |old: &Value| match after.iter().find(|entry| entry[key] == old[key]) {
                Some(entry) => project("", false, old, entry),
                None => old.clone(),
            };
            before.iter().map(entry).collect()
        }
        _ if is_same(existing, rendered) => rendered.clone(),
        _ => existing.clone(),
    }
}

/// What the Shoot says is ours.
fn owned_by<'a>(existing: &'a Value, manager: &str) -> Option<&'a Value> {
    let entries = existing.pointer("/metadata/managedFields")?.as_array()?;
    let ours = entries.iter().find(|entry| entry["manager"] == manager && entry["operation"] == "Apply")?;
    ours.get("fieldsV1")
}

/// Where a comparison is.
#[derive(Clone, Copy)]
struct Field<'a> {
    path: &'a str,
    /// The field's name.
    name: &'a str,
    is_whole: bool,
    owned: Option<&'a Value>,
}

fn compare(field: Field<'_>, existing: &Value, rendered: &Value, found: &mut Vec<Difference>) {
    match (existing, rendered) {
        (Value::Object(before), Value::Object(after)) => compare_objects(field, before, after, found),
        (Value::Array(before), Value::Array(after)) => match key_of(field.name, before, after) {
            Some(key) => compare_lists(field, key, before, after, found),
            None if before != after => push(field.path, Some(existing), Some(rendered), found),
            None => {}
        },
        (before, after) if is_same(before, after) => {}
        (before, after) => push(field.path, Some(before), Some(after), found),
    }
}

fn compare_objects(
    field: Field<'_>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    found: &mut Vec<Difference>,
) {
    for (name, value) in after {
        let path = join(field, name);
        let is_whole = field.is_whole || WHOLE.contains(&name.as_str());
        let owned = field.owned.and_then(|owned| owned.get(format!("f:{name}")));
        match before.get(name).filter(|before| !before.is_null()) {
            Some(existing) => compare(Field { path: &path, name, is_whole, owned }, existing, value, found),
            None if is_nothing(value) => {}
            None => push(&path, None, Some(value), found),
        }
    }
    for (name, value) in before.iter().filter(|(name, value)| !after.contains_key(*name) && !value.is_null()) {
        let was_ours = field.owned.is_some_and(|owned| owned.get(format!("f:{name}")).is_some());
        if field.is_whole || was_ours {
            push(&join(field, name), Some(value), None, found);
        }
    }
}

fn compare_lists(field: Field<'_>, key: &str, before: &[Value], after: &[Value], found: &mut Vec<Difference>) {
    let label = |entry: &Value| match &entry[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let is_whole = field.is_whole || field.name != "workers" && field.name != "tolerations";
    for entry in after {
        let path = format!("{}[{}]", field.path, label(entry));
        let owned = field.owned.and_then(|owned| owned.get(format!("k:{{\"{key}\":{}}}", entry[key])));
        match before.iter().find(|old| old[key] == entry[key]) {
            Some(old) => compare(Field { path: &path, name: "", is_whole, owned }, old, entry, found),
            None => push(&path, None, Some(entry), found),
        }
    }
    for old in before.iter().filter(|old| !after.iter().any(|entry| entry[key] == old[key])) {
        push(&format!("{}[{}]", field.path, label(old)), Some(old), None, found);
    }
}

fn key_of(name: &str, before: &[Value], after: &[Value]) -> Option<&'static str> {
    let (_, key) = KEYED.iter().find(|(list, _)| *list == name)?;
    before.iter().chain(after).all(|entry| entry.get(key).is_some()).then_some(key)
}

/// Annotations and labels have dots in their names.
fn join(field: Field<'_>, name: &str) -> String {
    match field.path {
        "" => name.to_owned(),
        path if name.contains(['.', '/']) => format!("{path}[{name}]"),
        path => format!("{path}.{name}"),
    }
}

/// Durations are the same however they are written.
fn is_same(before: &Value, after: &Value) -> bool {
    let duration = |value: &Value| value.as_str().and_then(go_duration::parse);
    before == after || duration(before).is_some_and(|before| Some(before) == duration(after))
}

/// A server does not store what says nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_nothing),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn push(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
    found.push(Difference { path: path.to_owned(), before: before.cloned(), after: after.cloned() });
}
