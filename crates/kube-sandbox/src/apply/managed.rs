//! `metadata.managedFields`: who owns which fields.

use serde_json::{Value, json};

use super::{Manager, Operation, set::Set};

/// What one manager owns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) set: Set,
}

impl Entry {
    /// An empty one for whoever writes now.
    pub(super) fn of(manager: &Manager<'_>) -> Self {
        let name = if manager.name.is_empty() { "unknown" } else { manager.name };
        Self {
            manager: name.to_owned(),
            operation: manager.operation,
            api_version: manager.api_version.to_owned(),
            subresource: manager.subresource.to_owned(),
            time: None,
            set: Set::default(),
        }
    }

    /// The same manager. An applier is the same in every version, an updater is not.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    fn decode(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let operation = match text("operation").as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        if text("apiVersion").is_empty() || text("fieldsType") != "FieldsV1" {
            return None;
        }
        Some(Self {
            manager: text("manager"),
            operation,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: entry.get("time").and_then(Value::as_str).map(str::to_owned),
            set: Set::decode(entry.get("fieldsV1").unwrap_or(&Value::Null)),
        })
    }

    fn encode(&self) -> Value {
        let mut entry = json!({
            "manager": self.manager, "operation": self.operation.as_str(), "apiVersion": self.api_version,
            "fieldsType": "FieldsV1", "fieldsV1": self.set.encode(),
        });
        if let Some(time) = &self.time {
            entry["time"] = json!(time);
        }
        if !self.subresource.is_empty() {
            entry["subresource"] = json!(self.subresource);
        }
        entry
    }

    /// As conflicts name it.
    pub(super) fn shown(&self) -> String {
        let mut shown = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            shown.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            // The real server loses the time on the way here.
            shown.push_str(&format!(" using {}", self.api_version));
        }
        shown
    }
}

/// The entries of an object; none if one of them cannot be read, since the rest would then lie.
pub(super) fn decode(object: Option<&Value>) -> Vec<Entry> {
    let entries = object.and_then(|object| object.pointer("/metadata/managedFields")).and_then(Value::as_array);
    entries.and_then(|entries| entries.iter().map(Entry::decode).collect()).unwrap_or_default()
}

/// A client that writes `[{}]` asks for all entries to be forgotten. So does an empty list, but only
/// for built-in kinds: in custom resources the real server cannot tell it from nothing.
pub(super) fn is_reset(object: &Value, is_builtin: bool) -> bool {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    match entries.map(Vec::as_slice) {
        Some([]) => is_builtin,
        Some([Value::Object(one)]) => one.is_empty(),
        _ => false,
    }
}

/// Writes the entries in their order: appliers first, then by time, then by name.
pub(super) fn encode(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.set.is_empty());
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| (entry.operation.as_str(), entry.time.clone());
        key(a).cmp(&key(b)).then_with(|| {
            let rest = |entry: &Entry| (entry.manager.clone(), entry.api_version.clone(), entry.subresource.clone());
            rest(a).cmp(&rest(b))
        })
    });
    remove(object);
    if entries.is_empty() {
        return;
    }
    if let Value::Object(fields) = object {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Value::Object(metadata) = metadata {
            metadata.insert("managedFields".to_owned(), entries.iter().map(Entry::encode).collect());
        }
    }
}

/// Takes the entries away.
pub(super) fn remove(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// More updaters than this are folded into one; appliers never are.
const MOST_UPDATERS: usize = 10;

/// Folds the oldest updaters of each version into `ancient-changes`.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let updaters = |entries: &[Entry]| entries.iter().filter(|entry| entry.operation == Operation::Update).count();
    while updaters(entries) > MOST_UPDATERS {
        let mut oldest: Vec<usize> =
            (0..entries.len()).filter(|at| entries[*at].operation == Operation::Update).collect();
        oldest.sort_by_key(|at| (entries[*at].time.clone(), entries[*at].manager.clone()));
        // The two oldest of the same version become one.
        let pair = oldest.iter().enumerate().find_map(|(rank, first)| {
            let version = &entries[*first].api_version;
            let second = oldest[rank + 1..].iter().find(|at| entries[**at].api_version == *version)?;
            Some((*first, *second))
        });
        let Some((first, second)) = pair else { return };
        let younger = entries.remove(first.max(second));
        let older = entries.remove(first.min(second));
        let (younger, older) = if first < second { (younger, older) } else { (older, younger) };
        let mut folded = Entry {
            manager: "ancient-changes".to_owned(),
            subresource: String::new(),
            time: younger.time.clone(),
            set: younger.set.union(&older.set),
            ..older
        };
        if let Some(at) = entries.iter().position(|entry| entry.is(&folded)) {
            folded.set = folded.set.union(&entries.remove(at).set);
        }
        entries.push(folded);
    }
}
