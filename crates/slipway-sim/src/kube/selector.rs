//! Label and field selectors.

use serde_json::Value;

/// A selector that cannot be read: 400 BadRequest with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

/// `app=web,tier in (a,b),!old`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {}

impl LabelSelector {
    /// Reads the text of a `labelSelector` parameter.
    pub fn parse(_text: &str) -> Result<Self, SelectorError> {
        Ok(Self {})
    }

    /// Whether the labels of this object fit.
    pub fn matches(&self, _object: &Value) -> bool {
        true
    }

    /// Whether everything fits.
    pub fn is_empty(&self) -> bool {
        true
    }
}

/// `metadata.name=web,status.phase!=Failed`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {}

impl FieldSelector {
    /// Reads the text of a `fieldSelector` parameter; `supported` are the fields that may be asked for.
    pub fn parse(_text: &str, _supported: &[&str]) -> Result<Self, SelectorError> {
        Ok(Self {})
    }

    /// Whether the fields of this object fit.
    pub fn matches(&self, _object: &Value) -> bool {
        true
    }

    /// Whether everything fits.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// The value a field must have, if the selector names exactly one: lets a list go straight to the object.
    pub fn exact(&self, _field: &str) -> Option<&str> {
        None
    }
}
