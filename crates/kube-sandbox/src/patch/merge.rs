//! JSON merge patch, RFC 7386: nulls remove, objects merge, everything else replaces.

use serde_json::{Map, Value};

use super::PatchError;

/// The object with the patch laid over it.
pub fn merge(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        if patch.is_null() {
            return Err(PatchError::Malformed("Invalid JSON Patch".to_owned()));
        }
        let found = super::json_type(patch);
        let expected = "map[string]interface {}";
        let message = format!("error decoding patch: json: cannot unmarshal {found} into Go value of type {expected}");
        return Err(PatchError::Malformed(message));
    };
    let mut fields = object.as_object().cloned().unwrap_or_default();
    lay(&mut fields, patch);
    Ok(Value::Object(fields))
}

fn lay(fields: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (value, fields.get_mut(name)) {
            (Value::Null, _) => {
                fields.remove(name);
            }
            (Value::Object(below), Some(Value::Object(fields))) => lay(fields, below),
            (_, Some(Value::Object(_))) => {
                fields.insert(name.clone(), value.clone());
            }
            _ => {
                fields.insert(name.clone(), without_nulls(value));
            }
        }
    }
}

/// Nulls of something new would remove what is not there. The real server drops them from lists too.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).map(without_nulls).collect(),
        other => other.clone(),
    }
}
