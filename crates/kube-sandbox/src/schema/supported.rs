//! Which parts of OpenAPI a CustomResourceDefinition may use, and how its lists, maps, defaults and
//! rules must be written.

use serde_json::{Value, json};

use super::{
    cel,
    node::{Node, Origin, texts},
    path, prune, rules, validate,
};
use crate::status::Cause;

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED: &[&str] = &["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

/// What is known from above about the place of a schema.
#[derive(Clone, Default)]
struct Ancestry {
    is_root: bool,
    /// Inside `metadata` and its like at the root, where defaults are refused for this reason.
    no_defaults: Option<String>,
    /// Below this list or map an item has no past.
    no_old_self: Option<String>,
}

/// All refusals of unsupported parts. Rules are compiled only if `structural`.
pub(super) fn refusals(schema: &Value, at: &str, structural: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if schema.get("nullable") == Some(&json!(true)) {
        causes.push(Cause::forbidden(path::child(at, "nullable"), "nullable cannot be true at the root"));
    }
    let mut rule_causes = Vec::new();
    let place = Ancestry { is_root: true, ..Ancestry::default() };
    walk(schema, at, &place, structural, &mut causes, &mut rule_causes);
    // A schema that is wrong makes wrong findings about its rules.
    if causes.is_empty() {
        causes.append(&mut rule_causes);
    }
    causes
}

fn walk(
    schema: &Value,
    at: &str,
    place: &Ancestry,
    with_rules: bool,
    causes: &mut Vec<Cause>,
    rule_causes: &mut Vec<Cause>,
) {
    let Value::Object(fields) = schema else { return };
    let child = |name: &str| path::child(at, name);
    keywords(schema, at, place, causes);
    list_and_map(schema, at, causes);
    let mut below = |schema: &Value, at: String, place: &Ancestry, with_rules: bool| {
        walk(schema, &at, place, with_rules, causes, rule_causes);
    };
    let inner = Ancestry { is_root: false, ..place.clone() };
    if let Some(additional) = fields.get("additionalProperties") {
        below(additional, child("additionalProperties"), &inner, with_rules);
    }
    let atomic_map = fields.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic");
    for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut inner = inner.clone();
        if atomic_map {
            inner.no_old_self.get_or_insert_with(|| at.to_owned());
        }
        if place.is_root && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            inner.no_defaults = Some(format!("in top-level {name}"));
        }
        below(property, path::key(&child("properties"), name), &inner, with_rules);
    }
    if let Some(items) = fields.get("items") {
        let mut inner = inner.clone();
        if fields.get("x-kubernetes-list-type").is_none_or(|kind| kind != "map") {
            inner.no_old_self.get_or_insert_with(|| at.to_owned());
        }
        below(items, child("items"), &inner, with_rules);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        for (index, one) in fields.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            below(one, path::index(&child(name), index), &inner, false);
        }
    }
    if let Some(not) = fields.get("not") {
        below(not, child("not"), &inner, false);
    }
    rules::shape(schema, at, causes);
    if with_rules {
        rules::content(schema, at, place.is_root, place.no_old_self.as_deref(), rule_causes);
    }
}

fn keywords(schema: &Value, at: &str, place: &Ancestry, causes: &mut Vec<Cause>) {
    let child = |name: &str| path::child(at, name);
    match schema.get("type").and_then(Value::as_str) {
        Some("null") => {
            causes.push(Cause::not_supported(child("type"), &json!("null"), TYPES));
            let why = "type cannot be set to null, use nullable as an alternative";
            causes.push(Cause::forbidden(child("type"), why));
        }
        Some(other) if !other.is_empty() && !TYPES.contains(&other) => {
            causes.push(Cause::not_supported(child("type"), &json!(other), TYPES));
        }
        _ => {}
    }
    if let (Some(_), Some(reason)) = (schema.get("default").filter(|default| !default.is_null()), &place.no_defaults) {
        causes.push(Cause::forbidden(child("default"), &format!("must not be set {reason}")));
    }
    for name in UNSUPPORTED.iter().filter(|name| schema.get(**name).is_some()) {
        causes.push(Cause::forbidden(child(name), &format!("{name} is not supported")));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        causes.push(Cause::forbidden(child("items"), "items must be a schema object and not an array"));
    }
    if schema.get("uniqueItems") == Some(&json!(true)) {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(Cause::forbidden(child("uniqueItems"), why));
    }
    let named = schema.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty());
    if named && schema.get("additionalProperties").is_some_and(|additional| additional != &json!(true)) {
        let why = "additionalProperties and properties are mutual exclusive";
        causes.push(Cause::forbidden(child("additionalProperties"), why));
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(false)) {
        let place = child("x-kubernetes-preserve-unknown-fields");
        causes.push(Cause::invalid(place, &json!(false), "must be true or undefined"));
    }
}

fn list_and_map(schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    let child = |name: &str| path::child(at, name);
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    let ty = text("type").unwrap_or_default();
    for (extension, expected, known) in [
        ("x-kubernetes-map-type", "object", &["atomic", "granular"][..]),
        ("x-kubernetes-list-type", "array", &["atomic", "set", "map"][..]),
    ] {
        let Some(kind) = text(extension) else { continue };
        if ty != expected {
            let why = format!("must be {expected} if {extension} is specified");
            let place = child("type");
            causes.push(if ty.is_empty() {
                Cause::required(place, &why)
            } else {
                Cause::invalid(place, &json!(ty), &why)
            });
        }
        if !known.contains(&kind) {
            causes.push(Cause::not_supported(child(extension), &json!(kind), known));
        }
    }
    let keys = texts(schema.get("x-kubernetes-list-map-keys"));
    let list = text("x-kubernetes-list-type");
    if !keys.is_empty() && list != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        let place = child("x-kubernetes-list-type");
        causes.push(list.map_or_else(
            || Cause::required(place.clone(), why),
            |kind| Cause::invalid(place.clone(), &json!(kind), why),
        ));
    }
    if list == Some("map") {
        list_map(schema, &keys, at, causes);
    }
    if let (Some(kind @ ("set" | "map")), Some(items)) = (list, schema.get("items")) {
        if items.get("nullable") == Some(&json!(true)) {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
            causes.push(Cause::forbidden(path::child(&child("items"), "nullable"), &why));
        }
        if kind == "set"
            && items.get("type") == Some(&json!("object"))
            && items.get("x-kubernetes-map-type") != Some(&json!("atomic"))
        {
            let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let shown = items.get("x-kubernetes-map-type").cloned().unwrap_or_default();
            let place = path::child(&child("items"), "x-kubernetes-map-type");
            causes.push(Cause {
                message: format!("Invalid value: {shown}: {why}"),
                ..Cause::invalid(place, &shown, why)
            });
        }
    }
}

fn list_map(schema: &Value, keys: &[String], at: &str, causes: &mut Vec<Cause>) {
    let keys_at = path::child(at, "x-kubernetes-list-map-keys");
    if keys.is_empty() {
        causes.push(Cause::required(keys_at.clone(), "must not be empty if x-kubernetes-list-type is map"));
    }
    let items_at = path::child(at, "items");
    let Some(items) = schema.get("items") else {
        causes.push(Cause::required(items_at, "must have a schema if x-kubernetes-list-type is map"));
        return;
    };
    let ty = items.get("type").and_then(Value::as_str).unwrap_or_default();
    if ty != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(Cause::invalid(path::child(&items_at, "type"), &json!(ty), why));
        return;
    }
    let required = texts(items.get("required"));
    for (index, key) in keys.iter().enumerate() {
        let property_at = path::key(&path::child(&items_at, "properties"), key);
        match items.get("properties").and_then(|properties| properties.get(key)) {
            None => {
                causes.push(Cause::invalid(
                    keys_at.clone(),
                    &json!(keys),
                    "entries must all be names of item properties",
                ));
            }
            Some(property) => {
                if matches!(property.get("type").and_then(Value::as_str), Some("array" | "object")) {
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    causes.push(Cause::invalid(path::child(&property_at, "type"), &json!(ty), why));
                }
                if !required.contains(key) && property.get("default").is_none() {
                    let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                    causes.push(Cause::required(path::child(&property_at, "default"), why));
                }
                if property.get("nullable") == Some(&json!(true)) {
                    let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                    causes.push(Cause::forbidden(path::child(&property_at, "nullable"), why));
                }
            }
        }
        if keys[..index].contains(key) {
            causes.push(Cause::invalid(keys_at.clone(), &json!(keys), "must not contain duplicate entries"));
        }
    }
}

/// Defaults must themselves be what the schema allows.
pub(super) fn defaults(schema: &Value, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    default_of(schema, at, &mut causes);
    causes
}

fn default_of(schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let node = Node::read(schema, Origin::Custom);
        let place = path::child(at, "default");
        let mut pruned = default.clone();
        if !prune::prune(&node, &mut pruned).is_empty() {
            causes.push(Cause::invalid(place.clone(), default, "must not have unknown fields"));
        }
        let mut found = Vec::new();
        validate::validate(&node, default, None, "", &mut found);
        if found.is_empty() {
            cel::check(&node, default, None, "", &mut found);
        }
        causes.extend(found.into_iter().map(|cause| {
            let field = if cause.field == "<nil>" { place.clone() } else { path::child(&place, &cause.field) };
            Cause { field, ..cause }
        }));
    }
    if let Some(items) = schema.get("items") {
        default_of(items, &path::child(at, "items"), causes);
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        default_of(property, &path::key(&path::child(at, "properties"), name), causes);
    }
}
