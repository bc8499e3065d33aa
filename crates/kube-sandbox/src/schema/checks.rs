//! What a schema asks of a value beyond its type.

use regex::Regex;
use serde_json::{Map, Value};

use super::node::{Node, Origin, texts};

/// The value validations of one level.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(super) required: Vec<String>,
    pub(super) allowed: Option<Vec<Value>>,
    pub(super) pattern: Option<Pattern>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<Value>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) unique_items: bool,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
}

/// A pattern and its text, which stands in the refusal.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) regex: Option<Regex>,
}

/// A limit of a number.
#[derive(Debug)]
pub(super) struct Bound {
    /// As it was written, for the refusal.
    pub(super) shown: Value,
    pub(super) value: f64,
    /// The limit itself is outside.
    pub(super) exclusive: bool,
}

impl Checks {
    /// Whether a field must be there.
    pub(super) fn requires(&self, field: &str) -> bool {
        self.required.iter().any(|required| required == field)
    }

    pub(super) fn read(schema: &Map<String, Value>, origin: Origin) -> Self {
        let count = |name: &str| schema.get(name).and_then(Value::as_u64);
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
        let bound = |name: &str, exclusive: &str| {
            let shown = schema.get(name)?;
            Some(Bound { shown: shown.clone(), value: shown.as_f64()?, exclusive: flag(exclusive) })
        };
        let nodes = |name: &str| match schema.get(name).and_then(Value::as_array) {
            // A definition wrapped in allOf is a reference, not a check.
            Some(all) => {
                all.iter().filter(|one| one.get("$ref").is_none()).map(|one| Node::read(one, origin)).collect()
            }
            None => Vec::new(),
        };
        Self {
            required: texts(schema.get("required")),
            allowed: schema.get("enum").and_then(Value::as_array).cloned(),
            pattern: schema
                .get("pattern")
                .and_then(Value::as_str)
                .map(|text| Pattern { text: text.to_owned(), regex: Regex::new(text).ok() }),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiple_of: schema.get("multipleOf").cloned(),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            unique_items: flag("uniqueItems"),
            all_of: nodes("allOf"),
            any_of: nodes("anyOf"),
            one_of: nodes("oneOf"),
            not: schema.get("not").map(|not| Box::new(Node::read(not, origin))),
        }
    }
}
