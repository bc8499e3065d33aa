//! The three kinds of patch that are not apply.
//!
//! All take an object and give a new one. Errors carry the cause for us; what the client sees of an
//! [`PatchError::Unprocessable`] patch is one fixed sentence, as at the real server.

mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

pub use json::json;
pub use merge::merge;
pub use strategic::strategic;

use super::status::{Details, Status};

/// Why a patch was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is wrong: 400 BadRequest.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object: 422 Invalid.
    #[error("{0}")]
    Unprocessable(String),
    /// Too many operations: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The real server stumbles here and answers 500 with this text.
    #[error("{0}")]
    Stumbled(String),
}

impl From<PatchError> for Status {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::Malformed(message) => Self::bad_request(message),
            PatchError::Unprocessable(_) => {
                let message = "the server rejected our request due to an error in our request";
                let mut status = Self::new(422, "Invalid", message);
                status.details = Some(Box::new(Details::default()));
                status
            }
            PatchError::TooLarge(message) => {
                Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {message}"))
            }
            PatchError::Stumbled(message) => Self::new(500, "", message),
        }
    }
}

/// A type of JSON as Go's decoder names it.
fn json_type(value: &serde_json::Value) -> &'static str {
    use serde_json::Value;
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
