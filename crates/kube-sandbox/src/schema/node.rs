//! One level of a schema, read once from JSON into what the walks over objects ask for.
//!
//! Every walk (pruning, defaults, validation, apply, strategic patch) goes down an object and this
//! tree side by side. Children are either owned or shared by name: the definitions of the built-in
//! kinds refer to one another, and one of them, the schema of schemas, to itself.

use std::{collections::BTreeMap, ops::Deref};

use serde_json::{Map, Value};

use super::{cel::Rule, checks::Checks};
use crate::builtin_schema;

/// JSON types a schema can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    /// None given: anything.
    Any,
    /// A map or struct.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
}

impl Type {
    /// As the schema spells it; empty where none is given.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    fn read(schema: &Map<String, Value>) -> Self {
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => Self::Object,
            Some("array") => Self::Array,
            Some("string") => Self::String,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            _ => Self::Any,
        }
    }
}

/// What makes two items of a list the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListType {
    /// Nothing: the list is one value.
    Atomic,
    /// Their value.
    Set,
    /// The values of these fields.
    Map(Vec<String>),
}

/// What fields beside the named ones an object may have.
#[derive(Debug)]
pub(crate) enum Additional {
    /// None.
    Nothing,
    /// Any, unseen.
    Anything,
    /// Any name, with a value like this.
    Each(Child),
}

/// How a strategic merge patch treats a field; only built-in kinds have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    /// Items are merged, not replaced.
    pub(crate) merge: bool,
    /// Fields the patch does not name in `$retainKeys` go.
    pub(crate) retain_keys: bool,
    /// Objects are replaced, not merged.
    pub(crate) replace: bool,
    /// What tells items apart; none for a list of scalars.
    pub(crate) merge_key: Option<String>,
}

/// A child of a node.
#[derive(Debug)]
pub(crate) enum Child {
    /// Its own.
    Own(Box<Node>),
    /// A definition of the built-in kinds, by name.
    Named(String),
}

impl Deref for Child {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            Self::Own(node) => node,
            Self::Named(name) => builtin_schema::node(name),
        }
    }
}

/// One level of a schema.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) ty: Type,
    pub(crate) format: Option<String>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Child>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Child>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(crate) preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`, and the root of every custom resource.
    pub(crate) embedded: bool,
    /// `x-kubernetes-int-or-string`.
    pub(crate) int_or_string: bool,
    pub(crate) list: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub(crate) atomic_map: bool,
    /// What the list or map itself says about strategic merge.
    pub(crate) patch: PatchStrategy,
    /// Relationship of maps and patch strategy where a property refers to a shared definition.
    pub(crate) overrides: BTreeMap<String, Override>,
    /// Of a built-in kind.
    pub(crate) builtin: bool,
    pub(crate) checks: Checks,
    pub(crate) rules: Vec<Rule>,
}

/// What a property says about a definition it refers to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Override {
    pub(crate) atomic_map: Option<bool>,
    pub(crate) patch: PatchStrategy,
}

/// Where a schema comes from, for the points in which the two kinds differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A CustomResourceDefinition: an object without fields is an empty object.
    Custom,
    /// A built-in kind: an object without fields is raw JSON.
    Builtin,
}

/// Where references of OpenAPI v3 documents point.
pub(crate) const REFERENCE: &str = "#/components/schemas/";

impl Node {
    /// Reads a schema; what is malformed is taken as absent, since [`super::structural`] has refused it before.
    pub(crate) fn read(schema: &Value, origin: Origin) -> Self {
        let empty = Map::new();
        let schema = schema.as_object().unwrap_or(&empty);
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
        let properties: BTreeMap<String, Child> = schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|all| all.iter().map(|(name, property)| (name.clone(), child(property, origin))).collect())
            .unwrap_or_default();
        let additional = match schema.get("additionalProperties") {
            Some(each @ Value::Object(_)) => Additional::Each(child(each, origin)),
            Some(Value::Bool(true)) => Additional::Anything,
            _ => Additional::Nothing,
        };
        let ty = Type::read(schema);
        let raw = origin == Origin::Builtin
            && matches!(ty, Type::Object | Type::Any)
            && properties.is_empty()
            && matches!(additional, Additional::Nothing);
        let int_or_string =
            flag("x-kubernetes-int-or-string") || schema.get("format").is_some_and(|format| format == "int-or-string");
        Self {
            ty: if int_or_string { Type::Any } else { ty },
            format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
            // Go takes a null for nothing, so built-in kinds do.
            nullable: flag("nullable") || origin == Origin::Builtin,
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            additional,
            items: schema.get("items").map(|items| child(items, origin)),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields") || raw,
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string,
            list: list_type(schema),
            atomic_map: schema.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic"),
            patch: patch_strategy(schema),
            overrides: overrides(schema),
            builtin: origin == Origin::Builtin,
            checks: Checks::read(schema, origin),
            rules: Rule::read_all(schema),
            properties,
        }
    }

    /// Anything goes.
    pub(crate) fn open() -> Self {
        Self::read(&serde_json::json!({ "x-kubernetes-preserve-unknown-fields": true }), Origin::Custom)
    }

    /// The schema of a field; resources know their three common fields without being told.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        if self.embedded {
            match name {
                "metadata" => return Some(builtin_schema::object_meta()),
                "apiVersion" | "kind" => return Some(builtin_schema::type_meta_field()),
                _ => {}
            }
        }
        self.properties.get(name).map(|child| &**child)
    }

    /// The schema of values whose name is not given, where it is known.
    pub(crate) fn each(&self) -> Option<&Node> {
        match &self.additional {
            Additional::Each(child) => Some(child),
            Additional::Nothing | Additional::Anything => None,
        }
    }
}

fn child(schema: &Value, origin: Origin) -> Child {
    match reference(schema) {
        Some(name) if origin == Origin::Builtin => Child::Named(name.to_owned()),
        _ => Child::Own(Box::new(Node::read(schema, origin))),
    }
}

/// The name a schema refers to, alone or wrapped so that it can have a description.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    let direct =
        schema.get("$ref").or_else(|| match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([one]) => one.get("$ref"),
            _ => None,
        });
    direct?.as_str()?.strip_prefix(REFERENCE)
}

fn list_type(schema: &Map<String, Value>) -> ListType {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(texts(schema.get("x-kubernetes-list-map-keys"))),
        _ => ListType::Atomic,
    }
}

fn patch_strategy(schema: &Map<String, Value>) -> PatchStrategy {
    let strategy = schema.get("x-kubernetes-patch-strategy").and_then(Value::as_str).unwrap_or_default();
    PatchStrategy {
        merge: strategy.split(',').any(|one| one == "merge"),
        retain_keys: strategy.split(',').any(|one| one == "retainKeys"),
        replace: strategy == "replace",
        merge_key: schema.get("x-kubernetes-patch-merge-key").and_then(Value::as_str).map(str::to_owned),
    }
}

fn overrides(schema: &Map<String, Value>) -> BTreeMap<String, Override> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return BTreeMap::new() };
    let said = |property: &Value| {
        reference(property)?;
        let property = property.as_object()?;
        let atomic_map = property.get("x-kubernetes-map-type").map(|kind| kind == "atomic");
        let patch = patch_strategy(property);
        (atomic_map.is_some() || patch != PatchStrategy::default()).then_some(Override { atomic_map, patch })
    };
    properties.iter().filter_map(|(name, property)| Some((name.clone(), said(property)?))).collect()
}

/// The strings of a JSON list.
pub(crate) fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
