//! OpenAPI documents about the kinds that are served: what `kubectl explain` prints, and what
//! `kubectl apply` asks before it dares to send `fieldValidation` or a strategic merge patch.
//!
//! Definitions of built-in kinds are taken over with all they refer to; those of custom resources are
//! made of their schemas. Paths are complete in what can be called and sparse in prose.

mod operations;
#[cfg(test)]
mod tests;
mod v2;

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::{Map, Value, json};

use super::{
    builtin_schema,
    schema::{
        Schema,
        node::{REFERENCE, reference},
    },
};

pub use v2::v2;

/// What a document says about one kind.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// API group, empty for the core.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Kind of its lists.
    pub list_kind: &'a str,
    /// Name in paths.
    pub plural: &'a str,
    /// Lives in a namespace.
    pub namespaced: bool,
    /// Served below the object: `status`, `scale`.
    pub subresources: &'a [&'a str],
    /// Its schema.
    pub schema: &'a Schema,
}

impl Served<'_> {
    /// `api/v1` or `apis/{group}/{version}`.
    fn path(&self) -> String {
        if self.group.is_empty() {
            format!("api/{}", self.version)
        } else {
            format!("apis/{}/{}", self.group, self.version)
        }
    }

    fn group_version_kind(&self, kind: &str) -> Value {
        json!({ "group": self.group, "version": self.version, "kind": kind })
    }

    /// The name of its definition: the one of Kubernetes, or the group backwards, version, kind.
    fn definition_name(&self) -> String {
        reference(self.schema.as_json()).map_or_else(
            || {
                let mut parts: Vec<&str> = self.group.split('.').rev().collect();
                parts.extend([self.version, self.kind]);
                parts.join(".")
            },
            str::to_owned,
        )
    }

    fn list_definition_name(&self) -> String {
        let name = self.definition_name();
        format!("{}{}", name.strip_suffix(self.kind).unwrap_or(&name), self.list_kind)
    }

    fn is_builtin(&self) -> bool {
        reference(self.schema.as_json()).is_some()
    }
}

/// `GET /openapi/v3`; `prefix` stands before each path, empty or `/clusters/name`.
pub fn v3_index(kinds: &[Served<'_>], prefix: &str) -> Value {
    let mut hashers = BTreeMap::<String, DefaultHasher>::new();
    for kind in kinds {
        let hasher = hashers.entry(kind.path()).or_default();
        (kind.kind, kind.plural, kind.namespaced, kind.subresources, kind.schema.digest()).hash(hasher);
    }
    let paths = hashers.into_iter().map(|(path, hasher)| {
        let url = format!("{prefix}/openapi/v3/{path}?hash={:016X}", hasher.finish());
        (path, json!({ "serverRelativeURL": url }))
    });
    json!({ "paths": paths.collect::<Map<_, _>>() })
}

/// `GET /openapi/v3/api/v1` and `GET /openapi/v3/apis/{group}/{version}`; nothing if none of the kinds is in it.
pub fn v3_document(kinds: &[Served<'_>], group: &str, version: &str) -> Option<Value> {
    let kinds: Vec<Served<'_>> =
        kinds.iter().filter(|kind| kind.group == group && kind.version == version).copied().collect();
    if kinds.is_empty() {
        return None;
    }
    let paths: Map<String, Value> = kinds.iter().flat_map(|kind| operations::paths(kind)).collect();
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths,
        "components": { "schemas": definitions(&kinds) },
    }))
}

/// The definitions of the kinds, their lists, and all they refer to.
fn definitions(kinds: &[Served<'_>]) -> Map<String, Value> {
    let mut all = Map::new();
    let mut wanted: BTreeSet<String> = [
        builtin_schema::OBJECT_META,
        builtin_schema::LIST_META,
        builtin_schema::STATUS,
        builtin_schema::DELETE_OPTIONS,
    ]
    .map(str::to_owned)
    .into();
    for kind in kinds {
        let name = kind.definition_name();
        if kind.is_builtin() {
            wanted.insert(name.clone());
        } else {
            all.insert(name.clone(), custom_definition(kind));
        }
        all.insert(kind.list_definition_name(), list_definition(kind, &name));
    }
    while let Some(name) = wanted.pop_first() {
        if let Some(definition) = builtin_schema::definition(&name)
            && !all.contains_key(&name)
        {
            references(definition, &mut wanted);
            all.insert(name, definition.clone());
        }
    }
    let patch = json!({ "type": "object", "description": "Patch gives a change in the form its media type names." });
    all.insert(operations::PATCH_DEFINITION.to_owned(), patch);
    all
}

/// All names a definition refers to.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(REFERENCE));
            found.extend(target.map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn refer(name: &str) -> Value {
    json!({ "$ref": format!("{REFERENCE}{name}") })
}

/// Types, values and metadata are those of every object.
fn common_properties(metadata: &str) -> Map<String, Value> {
    let common = json!({
        "apiVersion": {
            "type": "string",
            "description": "The version of the schema this object is written in: group and version. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
        },
        "kind": {
            "type": "string",
            "description": "The kind of this object, in CamelCase. It cannot be changed. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
        },
        "metadata": {
            "description": "Standard metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
            "allOf": [refer(metadata)],
        },
    });
    common.as_object().cloned().unwrap_or_default()
}

fn custom_definition(kind: &Served<'_>) -> Value {
    let mut definition = kind.schema.as_json().clone();
    definition["x-kubernetes-group-version-kind"] = json!([kind.group_version_kind(kind.kind)]);
    let properties = definition.as_object_mut().map(|fields| fields.entry("properties").or_insert_with(|| json!({})));
    if let Some(Value::Object(properties)) = properties {
        properties.extend(common_properties(builtin_schema::OBJECT_META));
    }
    definition
}

fn list_definition(kind: &Served<'_>, name: &str) -> Value {
    let mut properties = common_properties(builtin_schema::LIST_META);
    let items =
        json!({ "type": "array", "items": refer(name), "description": format!("The {} of this list.", kind.plural) });
    properties.insert("items".to_owned(), items);
    json!({
        "type": "object",
        "description": format!("{} is a list of {}.", kind.list_kind, kind.kind),
        "required": ["items"],
        "properties": properties,
        "x-kubernetes-group-version-kind": [kind.group_version_kind(kind.list_kind)],
    })
}
