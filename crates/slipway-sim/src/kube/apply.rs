//! Server-side apply.

use serde_json::Value;

use super::{schema::Schema, status::Cause};

/// Who writes, and how.
#[derive(Debug, Clone, Copy)]
pub struct Manager<'a> {
    /// `fieldManager` of the request, or what stands for it.
    pub name: &'a str,
    /// Apply for an apply patch, Update for everything else.
    pub operation: Operation,
    /// The version the object was written in.
    pub api_version: &'a str,
    /// `status`, `scale`, or empty.
    pub subresource: &'a str,
    /// Now, RFC 3339 in seconds.
    pub time: &'a str,
}

/// How fields came to be owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Everything else.
    Update,
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own the fields: 409 Conflict with these causes.
    #[error("{message}")]
    Conflict {
        /// The message of the Status.
        message: String,
        /// One for each field and manager.
        causes: Vec<Cause>,
    },
    /// 400 BadRequest.
    #[error("{0}")]
    BadRequest(String),
    /// The applied object does not fit the schema: 500 InternalError, as the real server answers.
    #[error("{0}")]
    Untyped(String),
}

/// The object after an apply, with its managed fields.
pub fn apply(
    _live: Option<&Value>,
    applied: &Value,
    _manager: &Manager<'_>,
    _force: bool,
    _schema: &Schema,
) -> Result<Value, ApplyError> {
    Ok(applied.clone())
}

/// Writes ownership into `new` after a create, update or patch.
pub fn track_update(_old: Option<&Value>, _new: &mut Value, _manager: &Manager<'_>, _schema: &Schema) {}
