//! The scalar `Labels`: any JSON object.
//!
//! The GraphQL library lets a scalar be a number, a text or a switch, but not an object, neither in a
//! document nor in variables. So before a request reaches it, an object in the place of labels is
//! replaced by its own JSON text ([`rewrite`]), and the scalar reads texts. A client sees objects only.

mod rewrite;

use juniper::{GraphQLScalar, InputValue, Scalar, ScalarValue};
use serde_json::{Map, Value};

pub use rewrite::rewrite;

/// A JSON object of free content.
#[derive(Debug, Clone, Default, PartialEq, GraphQLScalar)]
#[graphql(name = "Labels", with = self, to_output_with = to_output, from_input_with = from_input, parse_token(String))]
pub struct Labels(pub Map<String, Value>);

fn to_output<S: ScalarValue>(labels: &Labels) -> S {
    S::from_displayable(&Value::Object(labels.0.clone()))
}

fn from_input<S: ScalarValue>(input: &Scalar<S>) -> Result<Labels, &'static str> {
    let text = input.try_as_str().ok_or("expected an object")?;
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(Labels(map)),
        _ => Err("expected an object"),
    }
}
