//! Which schemas a CustomResourceDefinition may have.
//!
//! A schema is *structural* if its shape (types, fields, items) can be read off without looking into
//! `anyOf` and its kin; pruning, defaults and apply stand on that. The refusals and their order are
//! those of the real server, which reports all of them at once.

use serde_json::{Map, Value, json};

use super::path;
use crate::status::Cause;

/// Where in the tree a schema stands; the sentences differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// All that keeps the schema from being structural, sorted as the real server sorts it. One with parts
/// that have no structure at all is not looked at; [`super::supported`] refuses it.
pub(super) fn refusals(schema: &Value, at: &str) -> Vec<Cause> {
    if has_array_of_items(schema) {
        return Vec::new();
    }
    let mut causes = Vec::new();
    invariants(schema, Level::Root, at, &mut causes);
    complete(schema, schema, at, at, &mut causes);
    causes.sort_by_key(ToString::to_string);
    causes
}

fn has_array_of_items(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("items").is_some_and(Value::is_array) || fields.values().any(has_array_of_items)
        }
        Value::Array(all) => all.iter().any(has_array_of_items),
        _ => false,
    }
}

fn object(schema: &Value) -> Map<String, Value> {
    schema.as_object().cloned().unwrap_or_default()
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn type_of(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn property_path(at: &str, name: &str) -> String {
    path::key(&path::child(at, "properties"), name)
}

fn invariants(schema: &Value, level: Level, at: &str, causes: &mut Vec<Cause>) {
    let child = |name: &str| path::child(at, name);
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let ty = type_of(schema);

    match schema.get("items").filter(|items| items.is_object()) {
        Some(items) => invariants(items, Level::Item, &child("items"), causes),
        None if ty == "array" => causes.push(Cause::required(child("items"), "must be specified")),
        None => {}
    }
    for (name, property) in properties(schema) {
        invariants(property, Level::Field, &property_path(at, name), causes);
    }
    if let Some(additional) = schema.get("additionalProperties") {
        if level == Level::Root {
            causes.push(Cause::forbidden(child("additionalProperties"), "must not be used at the root"));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &child("additionalProperties"), causes);
        }
        if embedded {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            causes.push(Cause::forbidden(child("additionalProperties"), why));
        }
    }
    if int_or_string {
        for (name, set) in
            [("x-kubernetes-preserve-unknown-fields", preserve), ("x-kubernetes-embedded-resource", embedded)]
        {
            if set {
                let why = "must be false if x-kubernetes-int-or-string is true";
                causes.push(Cause::invalid(child(name), &json!(true), why));
            }
        }
    }
    value_validation(schema, is_int_or_string(schema), at, causes);

    if embedded && ty != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(if ty.is_empty() {
            Cause::required(child("type"), why)
        } else {
            Cause::invalid(child("type"), &json!(ty), why)
        });
    } else if ty.is_empty() && !int_or_string && !preserve {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(Cause::required(child("type"), why));
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        causes.push(Cause::invalid(child("type"), &json!(ty), "must be object at the root"));
    }
    resource_fields(schema, level, embedded, at, causes);
    if embedded && !preserve && properties(schema).next().is_none() {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(child("properties"), why));
    }
}

/// `apiVersion`, `kind` and `metadata` of resources are given; a schema can hardly add to them.
fn resource_fields(schema: &Value, level: Level, embedded: bool, at: &str, causes: &mut Vec<Cause>) {
    let is_resource = level == Level::Root || embedded;
    let Some(properties) = schema.get("properties") else { return };
    for (name, expected) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
        if let Some(property) = properties.get(name).filter(|property| is_resource && type_of(property) != expected) {
            let place = path::child(&property_path(at, name), "type");
            causes.push(Cause::invalid(place, &json!(type_of(property)), &format!("must be {expected}")));
        }
    }
    if let Some(metadata) = properties.get("metadata").filter(|_| level == Level::Root) {
        let only_names = object(metadata).iter().all(|(name, value)| match name.as_str() {
            "type" | "default" => true,
            "properties" => object(value).keys().all(|field| field == "name" || field == "generateName"),
            _ => false,
        });
        if !only_names {
            let why =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            causes.push(Cause::forbidden(property_path(at, "metadata"), why));
        }
    }
}

/// The two ways in which int-or-string may spell out its types.
fn is_int_or_string(schema: &Value) -> bool {
    schema.get("anyOf") == Some(&json!([{ "type": "integer" }, { "type": "string" }]))
}

/// `anyOf` and its kin may restrict values, not shape them.
fn value_validation(schema: &Value, skip_any_of: bool, at: &str, causes: &mut Vec<Cause>) {
    if !skip_any_of {
        for (index, one) in list(schema, "anyOf").iter().enumerate() {
            nested(one, false, &path::index(&path::child(at, "anyOf"), index), causes);
        }
    }
    for (index, one) in list(schema, "allOf").iter().enumerate() {
        let skip = index == 0 && is_int_or_string(one);
        nested(one, skip, &path::index(&path::child(at, "allOf"), index), causes);
    }
    for (index, one) in list(schema, "oneOf").iter().enumerate() {
        nested(one, false, &path::index(&path::child(at, "oneOf"), index), causes);
    }
    if let Some(not) = schema.get("not") {
        nested(not, false, &path::child(at, "not"), causes);
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && let Err(error) = regex::Regex::new(pattern)
    {
        // Go's words for the most usual mistake, ours for the others.
        let error = error.to_string();
        let error = match error.rsplit("error: ").next().unwrap_or_default() {
            "unclosed group" => format!("missing closing ): `{pattern}`"),
            other => other.to_owned(),
        };
        let why = format!("must be a valid regular expression, but isn't: error parsing regexp: {error}");
        causes.push(Cause::invalid(path::child(at, "pattern"), &json!(pattern), &why));
    }
}

/// What may not stand inside `anyOf` and its kin, with the end of the sentence.
const FORBIDDEN_INSIDE: &[(&str, &str)] = &[
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
];

fn nested(schema: &Value, skip_any_of: bool, at: &str, causes: &mut Vec<Cause>) {
    value_validation(schema, skip_any_of, at, causes);
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        nested(items, false, &path::child(at, "items"), causes);
    }
    for (name, property) in properties(schema) {
        nested(property, false, &property_path(at, name), causes);
    }
    for (name, must_be) in FORBIDDEN_INSIDE {
        let set = schema.get(*name).is_some_and(|value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::Object(_) => true,
        });
        if set {
            causes.push(Cause::forbidden(path::child(at, name), &format!("must be {must_be} to be structural")));
        }
    }
    if schema.get("properties").is_some_and(|properties| properties.get("metadata").is_some()) {
        causes.push(Cause::forbidden(property_path(at, "metadata"), "must not be specified in a nested context"));
    }
}

/// What `anyOf` and its kin speak of must be part of the shape.
fn complete(validation: &Value, shape: &Value, shape_at: &str, at: &str, causes: &mut Vec<Cause>) {
    let junctors = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| {
        list(validation, name).iter().enumerate().map(move |(index, one)| (format!("{name}[{index}]"), one))
    });
    let not = validation.get("not").map(|not| ("not".to_owned(), not));
    for (name, one) in junctors.chain(not) {
        complete_nested(one, shape, shape_at, &path::child(at, &name), causes);
    }
}

fn complete_nested(validation: &Value, shape: &Value, shape_at: &str, at: &str, causes: &mut Vec<Cause>) {
    complete(validation, shape, shape_at, at, causes);
    let missing =
        |place: String, because: String| Cause::required(place, &format!("because it is defined in {because}"));
    if let Some(items) = validation.get("items") {
        let (place, because) = (path::child(shape_at, "items"), path::child(at, "items"));
        match shape.get("items") {
            Some(shape) => complete_nested(items, shape, &place, &because, causes),
            None => causes.push(missing(place, because)),
        }
    }
    for (name, property) in properties(validation) {
        let (place, because) = (property_path(shape_at, name), property_path(at, name));
        match shape.get("properties").and_then(|properties| properties.get(name)) {
            Some(shape) => complete_nested(property, shape, &place, &because, causes),
            None => causes.push(missing(place, because)),
        }
    }
}
