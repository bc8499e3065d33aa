//! Errors of a document, as the library says them, with the path of the field they are about.
//!
//! The library names the fields it passed on its way, in its sentence only. They are read back from the
//! beginning of the sentence, before any text of the client's can stand in it.

use juniper::GraphQLError;
use serde_json::{Value, json};
use slipway_model::Reason;

use crate::errors::ApiError;

/// Longer sentences quote what the client sent; the beginning says enough.
const MESSAGE_MAX: usize = 600;

/// The errors of a document that was not executed, as they go under `errors`.
pub(super) fn explain(error: &GraphQLError) -> Vec<Value> {
    let listed = match serde_json::to_value(error) {
        Ok(Value::Array(list)) if !list.is_empty() => list,
        _ => vec![json!({ "message": error.to_string() })],
    };
    listed.into_iter().map(add_path).collect()
}

fn add_path(mut error: Value) -> Value {
    let message = error["message"].as_str().unwrap_or("the document cannot be read").to_owned();
    let short: String = message.chars().take(MESSAGE_MAX).collect();
    let said = match path(&message) {
        Some(path) => ApiError::field(&path, "schema", short.clone()),
        None => ApiError::bad(Reason::Validation, short.clone()),
    };
    error["message"] = short.into();
    error["extensions"] = said.extensions();
    error
}

/// The path in a sentence of the library.
fn path(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("Invalid value for argument \"") {
        let (argument, rest) = rest.split_once('"')?;
        let (_, rest) = rest.split_once("reason: ")?;
        return Some(literal_path(argument, rest));
    }
    let rest = message.strip_prefix("Variable \"$")?;
    let (variable, rest) = rest.split_once('"')?;
    let Some(rest) = rest.strip_prefix(" got invalid value. ") else { return Some(variable.to_owned()) };
    Some(variable_path(variable, rest))
}

/// `Error on "T" field "a": Error on "U" field "b": …`, and at its end perhaps the missing or unknown one.
fn literal_path(argument: &str, mut rest: &str) -> String {
    let mut path = argument.to_owned();
    let mut push = |field: &str| {
        path.push('.');
        path.push_str(field);
    };
    loop {
        if let Some((field, after)) = rest.strip_prefix("Error on \"").and_then(after_type).and_then(field_of) {
            push(field);
            rest = after;
        } else if let Some((field, _)) = rest.strip_prefix("Field \"").and_then(|rest| rest.split_once('"')) {
            push(field);
            return path;
        } else if let Some((_, names)) = rest.split_once(" is missing fields: \"").filter(|_| rest.starts_with('"')) {
            if let Some((field, _)) = names.split_once('"') {
                push(field);
            }
            return path;
        } else {
            return path;
        }
    }
}

/// What follows the name of a type.
fn after_type(rest: &str) -> Option<&str> {
    rest.split_once("\" field \"").map(|(_, rest)| rest)
}

fn field_of(rest: &str) -> Option<(&str, &str)> {
    rest.split_once("\": ")
}

/// `In field "a": In element #1: In field "b": …`
fn variable_path(variable: &str, mut rest: &str) -> String {
    let mut path = variable.to_owned();
    loop {
        if let Some((field, after)) = rest.strip_prefix("In field \"").and_then(field_of) {
            path.push('.');
            path.push_str(field);
            rest = after;
        } else if let Some((index, after)) = rest.strip_prefix("In element #").and_then(|rest| rest.split_once(": ")) {
            path.push_str(&format!("[{index}]"));
            rest = after;
        } else {
            return path;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_librarys_sentences() {
        for (message, expected) in [
            (
                "Invalid value for argument \"config\", reason: Error on \"ProvisionRuntimeInput!\" field \"clusterConfig\": Error on \"ClusterConfigInput!\" field \"gardenerConfig\": Field \"colour\" does not exist on type \"GardenerConfigInput\"",
                Some("config.clusterConfig.gardenerConfig.colour"),
            ),
            (
                "Invalid value for argument \"config\", reason: \"ProvisionRuntimeInput!\" is missing fields: \"runtimeInput\"",
                Some("config.runtimeInput"),
            ),
            (
                "Variable \"$config\" got invalid value. In field \"a\": In element #2: In field \"b\": Unknown field.",
                Some("config.a[2].b"),
            ),
            ("Variable \"$id\" of required type \"String!\" was not provided.", Some("id")),
            ("Unknown field \"x\" on type \"Query\"", None),
        ] {
            assert_eq!(path(message).as_deref(), expected, "{message}");
        }
    }
}
