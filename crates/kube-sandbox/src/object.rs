//! An object as it is kept: its JSON text, and the few facts the server looks up by.
//!
//! A tree of values costs five to ten times the text, and most objects are read far less often
//! than they are kept. So the text is the object, and it is parsed when somebody needs the inside.
//! The resource version is not part of the kept text: it is known only when the writer orders the
//! writes, so the text has a gap for it.

use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What stands before the gap.
const METADATA: &[u8] = b"\"metadata\":{\"resourceVersion\":\"";

/// Name of an object within its kind, in the order of lists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// Namespace; empty for cluster-wide kinds.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
}

impl Name {
    /// A name; the namespace is empty for cluster-wide kinds.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// What the server looks up without parsing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its uid.
    pub uid: Box<str>,
    /// Its labels.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// uids of its owners.
    pub owners: Box<[Box<str>]>,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// It has finalizers.
    pub finalizers: bool,
}

/// An object that has no resource version yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Draft {
    text: Box<[u8]>,
    gap: usize,
    facts: Facts,
}

/// A kept object.
#[derive(Debug)]
pub struct Stored {
    /// Its resource version.
    pub version: u64,
    draft: Draft,
}

impl Draft {
    /// Writes an object down; its resource version, if it has one, is left out.
    pub fn of(object: &Value) -> Self {
        let empty = Map::new();
        let fields = object.as_object().unwrap_or(&empty);
        let metadata = fields.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        let mut text = Vec::with_capacity(512);
        text.push(b'{');
        for key in ["apiVersion", "kind"] {
            if let Some(value) = fields.get(key) {
                member(&mut text, key, value);
                text.push(b',');
            }
        }
        text.extend_from_slice(METADATA);
        let gap = text.len();
        text.push(b'"');
        for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
            text.push(b',');
            member(&mut text, key, value);
        }
        text.push(b'}');
        for (key, value) in fields.iter().filter(|(key, _)| !["apiVersion", "kind", "metadata"].contains(&key.as_str()))
        {
            text.push(b',');
            member(&mut text, key, value);
        }
        text.push(b'}');
        Self { text: text.into(), gap, facts: Facts::of(metadata) }
    }

    /// Reads a text back that [`Draft::text`] gave.
    pub fn read(text: Vec<u8>, gap: usize) -> Result<Self, serde_json::Error> {
        let head: Head = serde_json::from_slice(&text)?;
        Ok(Self { text: text.into(), gap, facts: head.metadata.into() })
    }

    /// The text with the gap, and where the gap is.
    pub fn text(&self) -> (&[u8], usize) {
        (&self.text, self.gap)
    }

    /// What may be looked up.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Gives it its version.
    pub fn at(self, version: u64) -> Stored {
        Stored { version, draft: self }
    }
}

impl Stored {
    /// What may be looked up.
    pub fn facts(&self) -> &Facts {
        &self.draft.facts
    }

    /// The text with the gap, and where the gap is.
    pub fn text(&self) -> (&[u8], usize) {
        self.draft.text()
    }

    /// Appends the object as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (text, gap) = self.draft.text();
        out.reserve(text.len() + 20);
        out.extend_from_slice(&text[..gap]);
        out.extend_from_slice(self.version.to_string().as_bytes());
        out.extend_from_slice(&text[gap..]);
    }

    /// The same without version and kind: an item of a list of built-in objects, where the list says them for all.
    pub fn write_bare(&self, out: &mut Vec<u8>) {
        let (text, gap) = self.draft.text();
        out.push(b'{');
        out.extend_from_slice(&text[gap - METADATA.len()..gap]);
        out.extend_from_slice(self.version.to_string().as_bytes());
        out.extend_from_slice(&text[gap..]);
    }

    /// The object, parsed.
    pub fn value(&self) -> Value {
        let mut value: Value =
            serde_json::from_slice(&self.draft.text).expect("the text was written by us from an object");
        value["metadata"]["resourceVersion"] = Value::String(self.version.to_string());
        value
    }

    /// The labels, as an object that has nothing else: what a label selector looks at.
    pub fn labels(&self) -> Value {
        let labels: Map<String, Value> =
            self.facts().labels.iter().map(|(key, value)| (key.to_string(), Value::from(&**value))).collect();
        serde_json::json!({ "metadata": { "labels": labels } })
    }

    /// The same content, whatever its version.
    pub fn is_same(&self, draft: &Draft) -> bool {
        self.draft.text.len().cmp(&draft.text.len()) == Ordering::Equal && self.draft.text == draft.text
    }

    /// The last state of an object that is gone; its version is that of the deletion.
    pub fn gone(&self, version: u64) -> Self {
        let Draft { text, gap, facts } = &self.draft;
        let facts = Facts {
            uid: facts.uid.clone(),
            labels: facts.labels.clone(),
            owners: facts.owners.clone(),
            deleting: facts.deleting,
            finalizers: facts.finalizers,
        };
        Self { version, draft: Draft { text: text.clone(), gap: *gap, facts } }
    }
}

fn member(text: &mut Vec<u8>, key: &str, value: &Value) {
    // Writing JSON into memory cannot fail: keys are strings and there is always room.
    serde_json::to_writer(&mut *text, key).expect("a string becomes JSON");
    text.push(b':');
    serde_json::to_writer(text, value).expect("a value becomes JSON");
}

impl Facts {
    fn of(metadata: &Map<String, Value>) -> Self {
        let list = |key: &str| metadata.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let labels = metadata.get("labels").and_then(Value::as_object);
        Self {
            uid: metadata.get("uid").and_then(Value::as_str).unwrap_or_default().into(),
            labels: labels
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
                .collect(),
            owners: list("ownerReferences").iter().filter_map(|one| Some(one.get("uid")?.as_str()?.into())).collect(),
            deleting: metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()),
            finalizers: !list("finalizers").is_empty(),
        }
    }
}

/// The part of a text that becomes [`Facts`]; the rest is skipped, not parsed.
#[derive(Deserialize)]
struct Head {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: Box<str>,
    labels: Option<std::collections::BTreeMap<Box<str>, Box<str>>>,
    owner_references: Option<Vec<Owner>>,
    deletion_timestamp: Option<serde::de::IgnoredAny>,
    finalizers: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
struct Owner {
    #[serde(default)]
    uid: Box<str>,
}

impl From<Metadata> for Facts {
    fn from(metadata: Metadata) -> Self {
        Self {
            uid: metadata.uid,
            labels: metadata.labels.unwrap_or_default().into_iter().collect(),
            owners: metadata.owner_references.unwrap_or_default().into_iter().map(|owner| owner.uid).collect(),
            deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.is_some_and(|all| !all.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_comes_back_with_its_version_and_its_facts() {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "data": { "a": "\u{1f600}\"" },
            "metadata": { "name": "s", "uid": "u", "labels": { "a": "b" }, "resourceVersion": "7",
                "ownerReferences": [{ "uid": "o" }], "finalizers": ["x"], "deletionTimestamp": "2026-01-01T00:00:00Z" },
        });
        let draft = Draft::of(&object);
        let (text, gap) = draft.text();
        assert_eq!(Draft::read(text.to_vec(), gap).expect("own text"), draft);
        let stored = draft.at(12345);
        let mut text = Vec::new();
        stored.write(&mut text);
        let mut wanted = object;
        wanted["metadata"]["resourceVersion"] = json!("12345");
        assert_eq!(serde_json::from_slice::<Value>(&text).expect("JSON"), wanted);
        assert_eq!(stored.value(), wanted);
        assert!(stored.facts().deleting && stored.facts().finalizers && *stored.facts().owners == ["o".into()]);
    }
}
