//! Reading and writing JSON by paths.
//!
//! Objects stay `serde_json::Value` everywhere in the garden: Gardener's types have some two thousand
//! fields, the rules touch a tenth of them, and what nobody looks at must come back unchanged. A path
//! is written with dots (`spec.provider.type`); keys that contain dots are taken one by one with
//! [`annotation`] and [`label`].

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// The value at a path; null if there is none. A number selects an entry of a list.
pub fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |value, key| match value {
        Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)).unwrap_or(&NULL),
        value => value.get(key).unwrap_or(&NULL),
    })
}

/// The text at a path; empty if there is none.
pub fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// The number at a path; zero if there is none.
pub fn number(object: &Value, path: &str) -> i64 {
    at(object, path).as_i64().unwrap_or_default()
}

/// Whether the path holds `true`.
pub fn is_true(object: &Value, path: &str) -> bool {
    at(object, path).as_bool().unwrap_or_default()
}

/// Whether there is anything at a path.
pub fn has(object: &Value, path: &str) -> bool {
    !at(object, path).is_null()
}

/// The entries of the list at a path; none if there is no list.
pub fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

/// The texts of the list at a path.
pub fn texts<'a>(object: &'a Value, path: &str) -> Vec<&'a str> {
    list(object, path).iter().filter_map(Value::as_str).collect()
}

/// The entries of the map at a path.
pub fn entries<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    at(object, path).as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The value of an annotation; empty if it is not there.
pub fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    at(object, "metadata.annotations").get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The value of a label; empty if it is not there.
pub fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    at(object, "metadata.labels").get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The object's name.
pub fn name(object: &Value) -> &str {
    text(object, "metadata.name")
}

/// The object's namespace.
pub fn namespace(object: &Value) -> &str {
    text(object, "metadata.namespace")
}

/// Whether somebody asked for the object's deletion.
pub fn is_deleting(object: &Value) -> bool {
    has(object, "metadata.deletionTimestamp")
}

/// The place at a path, made if it is not there. What is in the way and no map is replaced.
pub fn place<'a>(object: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(object, |value, key| {
        let index =
            key.parse::<usize>().ok().filter(|index| value.as_array().is_some_and(|items| *index < items.len()));
        match index {
            Some(index) => &mut value[index],
            None => {
                if !value.is_object() {
                    *value = Value::Object(Map::new());
                }
                &mut value[key]
            }
        }
    })
}

/// Writes a value.
pub fn set(object: &mut Value, path: &str, value: impl Into<Value>) {
    *place(object, path) = value.into();
}

/// Writes a value where there is none.
pub fn default(object: &mut Value, path: &str, value: impl Into<Value>) {
    if !has(object, path) {
        set(object, path, value);
    }
}

/// Takes a value away; true if there was one.
pub fn remove(object: &mut Value, path: &str) -> bool {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    if !parent.is_empty() && !has(object, parent) {
        return false;
    }
    let parent = if parent.is_empty() { object } else { place(object, parent) };
    parent.as_object_mut().is_some_and(|map| map.remove(key).is_some())
}

/// Writes an annotation.
pub fn annotate(object: &mut Value, key: &str, value: impl Into<Value>) {
    place(object, "metadata.annotations")[key] = value.into();
}

/// Takes an annotation away.
pub fn unannotate(object: &mut Value, key: &str) {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(key);
    }
}

/// The entry of a list of objects with this name.
pub fn named<'a>(items: &'a [Value], wanted: &str) -> Option<&'a Value> {
    items.iter().find(|item| text(item, "name") == wanted)
}

/// What Go's `strconv.ParseBool` takes for true, because Gardener asks it about annotations.
pub fn parses_as_true(value: &str) -> bool {
    matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// Whether two values mean the same. Kubernetes' own comparison takes an absent field, null and an
/// empty list or map for one; a client that sends `[]` for nothing has not changed anything.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().all(|(key, value)| same(value, other.get(key).unwrap_or(&NULL)))
                && other.iter().all(|(key, value)| one.contains_key(key) || is_empty(value))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one, other) => one == other || (is_empty(one) && is_empty(other)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_into_maps_and_lists() {
        let mut object = json!({"spec": {"workers": [{"name": "a", "max": 3}]}});
        assert_eq!(text(&object, "spec.workers.0.name"), "a");
        assert_eq!(number(&object, "spec.workers.0.max"), 3);
        assert!(!has(&object, "spec.workers.1.name"));
        set(&mut object, "spec.workers.0.cri.name", "containerd");
        set(&mut object, "status.uid", "1");
        default(&mut object, "status.uid", "2");
        assert_eq!(object["spec"]["workers"][0]["cri"]["name"], "containerd");
        assert_eq!(text(&object, "status.uid"), "1");
        assert!(remove(&mut object, "status.uid"));
        assert!(!remove(&mut object, "status.uid"));
        assert!(!remove(&mut object, "nowhere.at.all"));
        assert_eq!(at(&object, "nowhere"), &Value::Null, "looking leaves nothing behind");
    }

    #[test]
    fn absent_null_and_empty_are_the_same() {
        assert!(same(&json!({"a": 1, "b": []}), &json!({"a": 1})));
        assert!(same(&json!({"a": {"b": null}}), &json!({})));
        assert!(!same(&json!({"a": 0}), &json!({})), "a zero is something");
        assert!(!same(&json!([1, 2]), &json!([2, 1])));
    }
}
