//! Reads bodies, queries and path segments, and names the field that is wrong. A value is never
//! repeated in the answer: it may be a secret that was put into the wrong field.

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request, rejection::BytesRejection},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::problem::Problem;

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = axum::body::Bytes::from_request(request, state).await.map_err(unread)?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| explain::<T>(&bytes, &error))
    }
}

fn unread(rejection: BytesRejection) -> Problem {
    use axum::response::IntoResponse as _;
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::TooLong;
    }
    tracing::debug!(status = %rejection.into_response().status(), "a body could not be read");
    Problem::BadInput("the body could not be read to its end; send it again".to_owned())
}

/// Finds the field to blame and says what it should be.
fn explain<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(bytes) else {
        return Problem::BadInput("the body must be one JSON object; check its commas, quotes and braces".to_owned());
    };
    let said = error.to_string();
    let named = |prefix: &str| said.strip_prefix(prefix)?.split('`').next();
    if let Some(name) = named("unknown field `") {
        let known = said.split_once("expected ").map_or("", |(_, known)| known);
        let known = known.split(" at line").next().unwrap_or("").trim_start_matches("one of ").replace('`', "");
        return Problem::field(name, format!("is not known; the fields are {known}"));
    }
    if let Some(name) = named("missing field `") {
        return Problem::field(name, "is missing; give it");
    }
    if let Some(name) = named("duplicate field `") {
        return Problem::field(name, "is given twice; give it once");
    }
    // A value of the wrong type: without the field to blame, the complaint is another one.
    let complaint = |fields: &Map<String, Value>| {
        serde_json::from_value::<T>(Value::Object(fields.clone())).err().map(|error| error.to_string())
    };
    let before = complaint(&fields);
    let blamed = fields.keys().find(|name| {
        let mut without = fields.clone();
        without.remove(*name);
        complaint(&without) != before
    });
    let expected = said.rsplit_once("expected ").map_or("something else", |(_, expected)| expected);
    let expected = expected.split(" at line").next().unwrap_or(expected);
    Problem::field(blamed.map_or("?", String::as_str), format!("has the wrong type; it must be {expected}"))
}

/// A query of texts. Unknown and repeated names are refused.
pub(super) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(pairs)) => Ok(Self(pairs)),
            Err(_) => Err(Problem::BadInput("the query cannot be read; write name=value&name=value".to_owned())),
        }
    }
}

impl Query {
    /// The values of the known names, in their order; an empty value counts as none.
    pub(super) fn take<const N: usize>(self, known: [&str; N]) -> Result<[Option<String>; N], Problem> {
        let mut values = [const { None }; N];
        for (name, value) in self.0 {
            let Some(index) = known.iter().position(|known| *known == name) else {
                let known = known.join(", ");
                return Err(Problem::field(&name, format!("is not known; the fields are {known}")));
            };
            if values[index].is_some() {
                return Err(Problem::field(&name, "is given twice; give it once"));
            }
            values[index] = Some(value).filter(|value| !value.is_empty());
        }
        Ok(values)
    }
}

/// The `{id}` of the path.
pub(super) struct Id<T>(pub(super) T);

impl<T: std::str::FromStr<Err = slipway_model::text::BadText>, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => text,
            Err(_) => return Err(Problem::field("id", "is not readable text; check the path")),
        };
        text.parse().map(Self).map_err(|error| Problem::field("id", error.problem))
    }
}

/// A text of the model, in a field.
pub(super) fn parse<T: std::str::FromStr<Err = slipway_model::text::BadText>>(
    name: &str,
    text: &str,
) -> Result<T, Problem> {
    text.parse().map_err(|error: slipway_model::text::BadText| Problem::field(name, error.problem))
}

/// A number from 1 to `max`, or the default.
pub(super) fn limit(text: Option<String>, default: usize, max: usize) -> Result<usize, Problem> {
    let Some(text) = text else { return Ok(default) };
    match text.parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => Err(Problem::field("limit", format!("must be a number from 1 to {max}; leave it out for {default}"))),
    }
}

/// A sentence that goes on record.
pub(super) fn sentence(name: &str, text: &str, max: usize) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::field(name, "is empty; it goes on record, so say something"));
    }
    if text.chars().count() > max || text.chars().any(char::is_control) {
        return Err(Problem::field(name, format!("must be one line of at most {max} characters; shorten it")));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_clients::broker::wire::StartOperation;

    fn refused(body: &str) -> String {
        let error = serde_json::from_str::<StartOperation>(body).err().expect("wrong");
        match explain::<StartOperation>(body.as_bytes(), &error) {
            Problem::BadInput(sentence) => sentence,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_wrong_field_is_named_and_its_value_is_not_repeated() {
        for (body, sentence) in [
            ("", "the body must be one JSON object; check its commas, quotes and braces"),
            ("[]", "the body must be one JSON object; check its commas, quotes and braces"),
            (r#"{"process":"hello"}"#, "field instance_id: is missing; give it"),
            (r#"{"process":7,"instance_id":"a"}"#, "field process: has the wrong type; it must be a string"),
            (
                r#"{"process":"p","instance_id":["hunter2"]}"#,
                "field instance_id: has the wrong type; it must be a string",
            ),
            (
                r#"{"process":"p","instance_id":"a","secrets":"hunter2"}"#,
                "field secrets: has the wrong type; it must be a map",
            ),
            (
                r#"{"process":"p","instance_id":"a","x":"hunter2"}"#,
                "field x: is not known; the fields are process, instance_id, operation_id, by, secrets",
            ),
            (r#"{"process":"p","process":"p"}"#, "field process: is given twice; give it once"),
        ] {
            assert_eq!(refused(body), sentence, "{body}");
        }
    }
}
