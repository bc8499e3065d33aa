//! OpenAPI documents.

use serde_json::{Value, json};

use super::schema::Schema;

/// What a document says about one kind.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// API group, empty for the core.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Kind of its lists.
    pub list_kind: &'a str,
    /// Name in paths.
    pub plural: &'a str,
    /// Lives in a namespace.
    pub namespaced: bool,
    /// Served below the object: `status`, `scale`.
    pub subresources: &'a [&'a str],
    /// Its schema.
    pub schema: &'a Schema,
}

/// `GET /openapi/v3`; `prefix` stands before each path, empty or `/clusters/name`.
pub fn v3_index(_kinds: &[Served<'_>], _prefix: &str) -> Value {
    json!({ "paths": {} })
}

/// `GET /openapi/v3/api/v1` and `GET /openapi/v3/apis/{group}/{version}`; nothing if none of the kinds is in it.
pub fn v3_document(_kinds: &[Served<'_>], _group: &str, _version: &str) -> Option<Value> {
    None
}

/// `GET /openapi/v2` as JSON.
pub fn v2(_kinds: &[Served<'_>]) -> Value {
    json!({ "swagger": "2.0", "paths": {}, "definitions": {} })
}
