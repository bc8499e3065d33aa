//! The scalar `Labels`: any JSON object.
//!
//! The GraphQL library lets a scalar be a number, a text or a switch, but not an object, neither in a
//! document nor in variables. So before a request reaches it, an object in the place of labels is
//! replaced by its own JSON text (`rewrite.rs`), and the scalar reads texts. A client sees objects only.

use std::fmt;

use juniper::{GraphQLScalar, ScalarValue};
use serde_json::{Map, Value};

/// A JSON object of free content.
#[derive(Debug, Clone, Default, PartialEq, GraphQLScalar)]
#[graphql(to_output_with = ScalarValue::from_displayable, from_input_with = from_input, parse_token(String))]
pub struct Labels(pub Map<String, Value>);

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Value::Object(self.0.clone()).fmt(f)
    }
}

fn from_input(text: &str) -> Result<Labels, Box<str>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(Labels(map)),
        _ => Err("expected an object".into()),
    }
}
