//! Structural schemas.

use serde_json::Value;

use super::status::Cause;

/// A structural OpenAPI v3 schema, of a custom resource or of a built-in kind.
#[derive(Debug)]
pub struct Schema {
    json: Value,
}

impl Schema {
    /// From `spec.versions[].schema.openAPIV3Schema` of a CustomResourceDefinition; the causes' fields are relative to it.
    pub fn from_crd(open_api_v3_schema: &Value) -> Result<Self, Vec<Cause>> {
        Ok(Self { json: open_api_v3_schema.clone() })
    }

    /// Anything goes.
    pub fn open() -> Self {
        Self { json: serde_json::json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }) }
    }

    /// Removes fields the schema does not know, and names them as strict decoding does: `spec.foo`.
    pub fn prune(&self, _object: &mut Value) -> Vec<String> {
        Vec::new()
    }

    /// Fills in defaults.
    pub fn default(&self, _object: &mut Value) {}

    /// All that is wrong with the object; `old` is what it replaces, for transition rules.
    pub fn validate(&self, _object: &Value, _old: Option<&Value>) -> Vec<Cause> {
        Vec::new()
    }

    /// The schema as it is published in OpenAPI documents.
    pub fn as_json(&self) -> &Value {
        &self.json
    }
}

/// Paths of fields that occur twice in a JSON text, as strict decoding names them.
pub fn duplicate_fields(_raw: &[u8]) -> Vec<String> {
    Vec::new()
}
