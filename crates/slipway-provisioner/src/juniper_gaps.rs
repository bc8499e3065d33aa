//! What we do around the GraphQL library because it does not do it itself, and why. Nothing else in the provisioner
//! makes up for it: whoever changes the library or its version reads this folder and runs its tests.
//!
//! | Gap of juniper | What it would do to a client | Made up for in |
//! |---|---|---|
//! | a scalar cannot be an object | labels could not be written as JSON | [`labels`], [`rewrite`], [`tokens`] |
//! | a whole number beyond 32 bits is refused without its field | nobody knows which field is wrong | [`rewrite`] |
//! | it panics at a variable with a default and an unknown type | a mistake looks like a defect of ours, and is repeated | [`unknown_types`] |
//! | the path of a wrong field stands only in its sentence | clients cannot point at the field | [`explain`] |
//! | its own errors carry no code | clients would try again for ever | [`add_code`] |

mod explain;
mod labels;
mod rewrite;
mod tokens;
mod unknown_types;

use juniper::{DefaultScalarValue, ExecutionError, GraphQLError, InputValue, ScalarValue, SchemaType, Variables};
use serde_json::{Value, json};
use slipway_model::Reason;

pub use self::labels::Labels;
use crate::errors::ApiError;

/// A document that the library can be given.
#[derive(Debug)]
pub struct Prepared {
    /// Its text.
    pub query: String,
    /// Its variables.
    pub variables: Variables,
}

/// Makes a document fit for the library, or says what is wrong with it.
pub fn prepare<S: ScalarValue>(
    query: &str,
    mut variables: Option<Value>,
    schema: &SchemaType<S>,
    tokens_max: usize,
) -> Result<Prepared, ApiError> {
    let query = rewrite::rewrite(query, &mut variables, tokens_max)
        .map_err(|problem| ApiError::field("config.runtimeInput.labels", "schema", problem.to_string()))?
        .into_owned();
    check_types(&query, schema)?;
    Ok(Prepared { query, variables: read_variables(variables)? })
}

/// Refuses a document in which a variable has a type that the schema does not have.
pub(crate) fn check_types<S: ScalarValue>(query: &str, schema: &SchemaType<S>) -> Result<(), ApiError> {
    unknown_types::check_types(query, schema)
        .map_err(|unknown| ApiError::field(&unknown.variable, "schema", unknown.to_string()))
}

fn read_variables(given: Option<Value>) -> Result<Variables, ApiError> {
    let wrong = || ApiError::field("variables", "schema", "must be a JSON object, or null");
    match given {
        None | Some(Value::Null) => Ok(Variables::new()),
        Some(object @ Value::Object(_)) => {
            let value: InputValue = serde_json::from_value(object).map_err(|_| wrong())?;
            let map = value.to_object_value().ok_or_else(wrong)?;
            Ok(map.into_iter().map(|(key, value)| (key.into(), value.clone())).collect())
        }
        Some(_) => Err(wrong()),
    }
}

/// The errors of a document that was not executed, as they go under `errors`.
pub(crate) fn explain_errors(error: &GraphQLError) -> Vec<Value> {
    explain::explain(error)
}

/// An error of an executed document as it goes under `errors`. Those of resolvers carry their code; one of the
/// library's own would not.
pub(crate) fn add_code(error: &ExecutionError<DefaultScalarValue>) -> Value {
    let mut body = serde_json::to_value(error).unwrap_or_else(|_| json!({ "message": error.error().message() }));
    if body["extensions"]["error_code"].is_null() {
        body["extensions"] = ApiError::bad(Reason::Validation, "").extensions();
    }
    body
}
