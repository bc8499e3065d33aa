//! Sets of fields, and their form in `managedFields`: FieldsV1.
//!
//! A set is a tree of path elements. A path can be in the set itself (a *member*), can lead to paths
//! that are (a *child*), or both: owning a list item and owning the item's fields are two things.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A named field or a key of a map.
    Field(String),
    /// An item of a list that is a map, by its keys as a JSON object.
    Key(String),
    /// An item of a list that is a set, by its value as JSON.
    Value(String),
    /// An item of any list, by its place.
    Index(usize),
}

impl Element {
    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => format!("k:{keys}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        // JSON is read and written again, so that equal keys are equal texts.
        let canonical = |text: &str| serde_json::from_str::<Value>(text).ok().map(|value| value.to_string());
        match text.split_once(':')? {
            ("f", name) => Some(Self::Field(name.to_owned())),
            ("k", keys) => Some(Self::Key(canonical(keys)?)),
            ("v", value) => Some(Self::Value(canonical(value)?)),
            ("i", index) => Some(Self::Index(index.parse().ok()?)),
            _ => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A set of paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Set {
    members: BTreeSet<Element>,
    children: BTreeMap<Element, Set>,
}

impl Set {
    /// Reads FieldsV1; what is malformed is left out.
    pub(super) fn decode(fields: &Value) -> Self {
        let mut set = Self::default();
        for (text, below) in fields.as_object().into_iter().flatten() {
            let Some(element) = Element::decode(text) else { continue };
            let entries = below.as_object();
            // An empty object is the path itself; with a dot inside, the path and what is below.
            if entries.is_none_or(|entries| entries.is_empty() || entries.contains_key(".")) {
                set.members.insert(element.clone());
            }
            let below = Self::decode(below);
            if !below.is_empty() {
                set.children.insert(element, below);
            }
        }
        set
    }

    /// Writes FieldsV1.
    pub(super) fn encode(&self) -> Value {
        let mut fields = Map::new();
        for member in &self.members {
            fields.insert(member.encode(), Value::Object(Map::new()));
        }
        for (element, below) in &self.children {
            let mut below = below.encode();
            if self.members.contains(element) {
                below["."] = Value::Object(Map::new());
            }
            fields.insert(element.encode(), below);
        }
        Value::Object(fields)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Adds a path. The empty path, the object itself, belongs to nobody.
    pub(super) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether this element itself is in the set.
    pub(super) fn has(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// What of the set is below this element.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element)
    }

    /// Whether a path is in the set.
    pub(super) fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    pub(super) fn union(mut self, other: &Self) -> Self {
        self.members.extend(other.members.iter().cloned());
        for (element, below) in &other.children {
            let own = self.children.remove(element).unwrap_or_default();
            self.children.insert(element.clone(), own.union(below));
        }
        self
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        let below = |element: &Element, own: &Self| match other.children.get(element) {
            Some(theirs) => own.difference(theirs),
            None => own.clone(),
        };
        Self { members: self.members.difference(&other.members).cloned().collect(), children: self.map(below) }
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let below = |element: &Element, own: &Self| match other.children.get(element) {
            Some(theirs) => own.intersection(theirs),
            None => Self::default(),
        };
        Self { members: self.members.intersection(&other.members).cloned().collect(), children: self.map(below) }
    }

    fn map(&self, below: impl Fn(&Element, &Self) -> Self) -> BTreeMap<Element, Self> {
        let children = self.children.iter().map(|(element, own)| (element.clone(), below(element, own)));
        children.filter(|(_, below)| !below.is_empty()).collect()
    }

    /// The set with every path a member that leads to one and that `is_named` says is a field of its
    /// own: a struct is there as long as one of its fields is.
    pub(super) fn with_named_fields(&self, named: &dyn Named) -> Self {
        let mut set = Self { members: self.members.clone(), children: BTreeMap::new() };
        for (element, below) in &self.children {
            if named.is_named(element) {
                set.members.insert(element.clone());
            }
            let below = named.descend(element, &mut |inner| below.with_named_fields(inner));
            set.children.insert(element.clone(), below);
        }
        set
    }

    /// All paths, members before what is below them.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths: Vec<Vec<Element>> = self.members.iter().map(|member| vec![member.clone()]).collect();
        for (element, below) in &self.children {
            paths.extend(below.paths().into_iter().map(|path| [vec![element.clone()], path].concat()));
        }
        paths
    }
}

/// What a set must know about the shape of the object it speaks of.
pub(super) trait Named {
    /// The element is a field with a name of its own, not a key of a map or an item.
    fn is_named(&self, element: &Element) -> bool;
    /// Calls back with the shape below the element.
    fn descend(&self, element: &Element, then: &mut dyn FnMut(&dyn Named) -> Set) -> Set;
}

/// A path as conflicts print it: `.spec.ports[port=80,protocol="TCP"].name`.
pub(super) fn shown(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}
