//! The older form of the documents, for clients that still ask for it: one for all groups.

use serde_json::{Map, Value, json};

use super::{Served, definitions, operations};
use crate::schema::node::REFERENCE;

/// `GET /openapi/v2` as JSON.
pub fn v2(kinds: &[Served<'_>]) -> Value {
    let definitions: Map<String, Value> =
        definitions(kinds).into_iter().map(|(name, definition)| (name, older(definition))).collect();
    let paths: Map<String, Value> =
        kinds.iter().flat_map(operations::paths).map(|(path, item)| (path, older_path(item))).collect();
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths,
        "definitions": definitions,
    })
}

/// What OpenAPI v2 does not know.
const UNKNOWN: &[&str] = &["nullable", "oneOf", "anyOf", "not", "default"];

fn older(schema: Value) -> Value {
    match schema {
        Value::Object(mut fields) => {
            // A reference with a description had to be wrapped in v3; here both stand side by side.
            if let Some(Value::Array(all)) = fields.remove("allOf")
                && let [Value::Object(only)] = &all[..]
            {
                fields.extend(only.clone());
            }
            let is_schema = fields.get("properties").is_some() || fields.get("type").is_some_and(Value::is_string);
            let is_wrapped = fields.get("format").is_some_and(|format| format == "int-or-string");
            let mut older: Map<String, Value> = fields
                .into_iter()
                .filter(|(name, _)| !((is_schema || is_wrapped) && UNKNOWN.contains(&name.as_str())))
                .map(|(name, value)| match value {
                    Value::String(target) if name == "$ref" => {
                        (name, json!(target.replace(REFERENCE, "#/definitions/")))
                    }
                    value => (name, older_value(value)),
                })
                .collect();
            if is_wrapped {
                older.insert("type".to_owned(), json!("string"));
            }
            Value::Object(older)
        }
        other => other,
    }
}

fn older_value(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(older).collect(),
        other => older(other),
    }
}

fn older_path(item: Value) -> Value {
    let Value::Object(item) = item else { return item };
    let operations = item.into_iter().map(|(name, value)| match value {
        Value::Array(parameters) => (name, parameters.into_iter().map(older_parameter).collect()),
        operation => (name, older_operation(operation)),
    });
    Value::Object(operations.collect())
}

fn older_parameter(mut parameter: Value) -> Value {
    if let Some(fields) = parameter.as_object_mut()
        && let Some(schema) = fields.remove("schema")
    {
        fields.insert("type".to_owned(), schema.get("type").cloned().unwrap_or_else(|| json!("string")));
    }
    parameter
}

fn older_operation(operation: Value) -> Value {
    let Value::Object(mut fields) = operation else { return operation };
    let mut parameters: Vec<Value> = match fields.remove("parameters") {
        Some(Value::Array(parameters)) => parameters.into_iter().map(older_parameter).collect(),
        _ => Vec::new(),
    };
    fields.insert("produces".to_owned(), json!(["application/json"]));
    if let Some(Value::Object(content)) =
        fields.remove("requestBody").and_then(|mut body| body.get_mut("content").map(Value::take))
    {
        fields.insert("consumes".to_owned(), content.keys().cloned().collect());
        let schema = content.into_iter().next().map(|(_, mut media)| older(media["schema"].take()));
        parameters.push(json!({ "name": "body", "in": "body", "required": true, "schema": schema }));
    }
    fields.insert("parameters".to_owned(), Value::Array(parameters));
    if let Some(Value::Object(responses)) = fields.get_mut("responses") {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            if let Some(mut content) = response.remove("content") {
                response.insert("schema".to_owned(), older(content["application/json"]["schema"].take()));
            }
        }
    }
    Value::Object(fields)
}
