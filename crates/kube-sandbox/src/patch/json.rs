//! JSON patch, RFC 6902, with the liberties of the library the real server uses.
//!
//! Two of them are relied upon: `test` of an absent field against null succeeds (finalizer helpers
//! write it), and `replace` of an absent field of an object adds it.

use serde_json::{Map, Value};

use super::PatchError;

/// More operations are refused.
const MOST_OPERATIONS: usize = 10_000;

/// The object after all operations.
pub fn json(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let wrong = |found: &Value, expected: &str| {
        let found = super::json_type(found);
        let message = format!("error decoding patch: json: cannot unmarshal {found} into Go value of type {expected}");
        PatchError::Malformed(message)
    };
    let operations = match patch {
        Value::Array(operations) => operations,
        Value::Null => return Ok(object.clone()),
        other => return Err(wrong(other, "[]handlers.jsonPatchOp")),
    };
    if let Some(other) = operations.iter().find(|operation| !operation.is_object()) {
        return Err(wrong(other, "handlers.jsonPatchOp"));
    }
    if operations.len() > MOST_OPERATIONS {
        let count = operations.len();
        let message = format!("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {count}");
        return Err(PatchError::TooLarge(message));
    }
    let mut object = object.clone();
    for operation in operations {
        run(&mut object, operation).map_err(PatchError::Unprocessable)?;
    }
    Ok(object)
}

fn run(object: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let kind = text("op").unwrap_or("unknown");
    let missing = |field: &str| format!("{kind} operation failed to decode {field}: missing value");
    let path = || text("path").ok_or_else(|| missing("path"));
    let from = || text("from").ok_or_else(|| missing("from"));
    let value = || operation.get("value").cloned().unwrap_or_default();
    match kind {
        "add" => add(object, path()?, value(), kind),
        "remove" => remove(object, path()?, kind).map(drop),
        "replace" => replace(object, path()?, value()),
        "test" => test(object, path()?, &value()),
        "move" => {
            let moved = remove(object, from()?, kind)?;
            add(object, path()?, moved, kind)
        }
        "copy" => {
            let copied = find(object, from()?, kind)?.read(from()?)?.cloned().unwrap_or_default();
            add(object, path()?, copied, kind)
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// The container a path ends in, and the last step.
enum Slot<'a> {
    Field(&'a mut Map<String, Value>, String),
    Item(&'a mut Vec<Value>, String),
}

fn find<'a>(object: &'a mut Value, path: &str, kind: &str) -> Result<Slot<'a>, String> {
    let lost = || format!("{kind} operation does not apply: doc is missing path: {path:?}: missing value");
    let mut steps: Vec<String> =
        path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let last = steps.pop().ok_or_else(lost)?;
    let mut at = object;
    for step in steps {
        at = match at {
            Value::Object(fields) => fields.get_mut(&step).ok_or_else(lost)?,
            Value::Array(items) => {
                let index = index(&step, items.len()).map_err(|_| lost())?;
                items.get_mut(index).ok_or_else(lost)?
            }
            _ => return Err(lost()),
        };
    }
    match at {
        Value::Object(fields) => Ok(Slot::Field(fields, last)),
        Value::Array(items) => Ok(Slot::Item(items, last)),
        _ => Err(lost()),
    }
}

/// The index of an item; negative ones count from the end.
fn index(step: &str, length: usize) -> Result<usize, String> {
    let number: i64 = step.parse().map_err(|_| format!("value was not a proper array index: '{step}'"))?;
    let lost = || format!("Unable to access invalid index: {number}: invalid index referenced");
    let number = if number < 0 { number + i64::try_from(length).unwrap_or(i64::MAX) } else { number };
    usize::try_from(number).map_err(|_| lost()).and_then(|index| if index < length { Ok(index) } else { Err(lost()) })
}

impl Slot<'_> {
    fn read(&self, path: &str) -> Result<Option<&Value>, String> {
        match self {
            Self::Field(fields, name) => Ok(fields.get(name)),
            Self::Item(items, step) => index(step, items.len())
                .map(|index| items.get(index))
                .map_err(|error| format!("error in test for path: '{path}': {error}")),
        }
    }
}

fn add(object: &mut Value, path: &str, value: Value, kind: &str) -> Result<(), String> {
    match find(object, path, kind)? {
        Slot::Field(fields, name) => {
            fields.insert(name, value);
        }
        Slot::Item(items, step) if step == "-" => items.push(value),
        Slot::Item(items, step) => {
            let index =
                index(&step, items.len() + 1).map_err(|error| format!("error in add for path: '{path}': {error}"))?;
            items.insert(index, value);
        }
    }
    Ok(())
}

fn remove(object: &mut Value, path: &str, kind: &str) -> Result<Value, String> {
    let wrong = |error: String| format!("error in {kind} for path: '{path}': {error}");
    match find(object, path, kind)? {
        Slot::Field(fields, name) => {
            let lost = || wrong(format!("Unable to remove nonexistent key: {name}: missing value"));
            fields.remove(&name).ok_or_else(lost)
        }
        Slot::Item(items, step) => index(&step, items.len()).map(|index| items.remove(index)).map_err(wrong),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    match find(object, path, "replace")? {
        Slot::Field(fields, name) => {
            fields.insert(name, value);
        }
        Slot::Item(items, step) => {
            let lost = |_| format!("replace operation does not apply: doc is missing key: {path}: missing value");
            let index = index(&step, items.len()).map_err(lost)?;
            items[index] = value;
        }
    }
    Ok(())
}

fn test(object: &mut Value, path: &str, expected: &Value) -> Result<(), String> {
    let found = if path.is_empty() { Some(object.clone()) } else { find(object, path, "test")?.read(path)?.cloned() };
    let equal = found.unwrap_or_default() == *expected;
    if equal { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
}
