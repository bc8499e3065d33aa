//! Label and field selectors, with the parser and the complaints of the real server.

mod field;
mod label;

pub use field::FieldSelector;
pub use label::LabelSelector;

use super::status::Status;

/// A selector that cannot be read: 400 BadRequest with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

impl From<SelectorError> for Status {
    fn from(error: SelectorError) -> Self {
        Self::bad_request(error.0)
    }
}
