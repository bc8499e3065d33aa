//! The three kinds of patch.

use serde_json::Value;

use super::schema::Schema;

/// Why a patch was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is wrong: 400 BadRequest.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object: 422 Invalid.
    #[error("{0}")]
    Unprocessable(String),
}

/// RFC 6902.
pub fn json(object: &Value, _patch: &Value) -> Result<Value, PatchError> {
    Ok(object.clone())
}

/// RFC 7386.
pub fn merge(object: &Value, _patch: &Value) -> Result<Value, PatchError> {
    Ok(object.clone())
}

/// Kubernetes' strategic merge patch.
pub fn strategic(object: &Value, _patch: &Value, _schema: &Schema) -> Result<Value, PatchError> {
    Ok(object.clone())
}
