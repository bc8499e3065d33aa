//! A Shoot while it is being written.

use serde_json::{Map, Value};

use super::Note;

/// A Shoot while it is being written, and what could not be.
#[derive(Debug)]
pub(super) struct Draft {
    value: Value,
    notes: Vec<Note>,
}

impl Default for Draft {
    fn default() -> Self {
        Self { value: Value::Object(Map::new()), notes: Vec::new() }
    }
}

impl Draft {
    /// Writes a value at a path, making the objects on the way.
    pub(super) fn set(&mut self, path: &str, value: impl Into<Value>) {
        let mut at = &mut self.value;
        for name in path.split('.') {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            let Value::Object(map) = at else { unreachable!("made one above") };
            // Looked up first: an entry would need a new text even where the object is there.
            if !map.contains_key(name) {
                map.insert(name.to_owned(), Value::Null);
            }
            at = map.get_mut(name).expect("inserted above");
        }
        *at = value.into();
    }

    /// Writes a value if there is one.
    pub(super) fn set_some(&mut self, path: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(path, value);
        }
    }

    /// What is written at a path.
    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        at(&self.value, path)
    }

    /// Remembers a wish that is not fulfilled.
    pub(super) fn note(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.notes.push(Note { path: path.into(), message: message.into() });
    }

    /// What is written so far.
    #[cfg(test)]
    pub(super) fn snapshot(&self) -> Value {
        self.value.clone()
    }

    /// The document, and what could not be written.
    pub(super) fn finish(self) -> (Value, Vec<Note>) {
        (self.value, self.notes)
    }
}

/// What stands at a path, null as if it were absent.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |at, name| at.get(name)).filter(|value| !value.is_null())
}

/// A text that says something: absent and empty are the same.
pub(super) fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

/// Puts an entry in the place of the one with the same key, or at the end.
pub(super) fn upsert(list: &mut Vec<Value>, key: &str, entry: Value) {
    match list.iter_mut().find(|old| old.get(key) == entry.get(key)) {
        Some(old) => *old = entry,
        None => list.push(entry),
    }
}

/// A list of the living Shoot, to go on from.
pub(super) fn list(existing: Option<&Value>) -> Vec<Value> {
    existing.and_then(Value::as_array).cloned().unwrap_or_default()
}
