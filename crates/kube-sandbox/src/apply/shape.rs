//! What apply needs to know of a schema: which values are one, and which are made of parts.

use serde_json::{Map, Value};

use super::set::{Element, Named, Set};
use crate::schema::node::{Additional, ListType, Node, Type};

/// The shape of one value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape<'a> {
    /// As a schema has it; the flag says that the field makes its map atomic or not, whatever the map's own schema says.
    Node(&'a Node, Option<bool>),
    /// Nobody knows: maps are made of parts, lists are one value.
    Deduced,
    /// Nobody knows, and it is all one value.
    Untyped,
}

/// How one value merges.
pub(super) enum Atom<'a> {
    /// As a whole.
    Leaf,
    /// Item by item.
    List(List<'a>),
    /// Field by field.
    Map(Fields<'a>),
}

/// A list made of items.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) keys: &'a ListType,
    pub(super) element: Shape<'a>,
}

/// A map made of fields.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Shape<'a>);

/// Why an item of a list has no identity.
pub(super) type Nameless = String;

impl<'a> Shape<'a> {
    /// How a value of this shape merges.
    pub(super) fn atom(self, value: &Value) -> Atom<'a> {
        match (value, self) {
            (Value::Object(_), Shape::Deduced) => Atom::Map(Fields(self)),
            (Value::Object(_), Shape::Node(node, atomic)) if matches!(node.ty, Type::Object | Type::Any) => {
                if atomic.unwrap_or(node.atomic_map) { Atom::Leaf } else { Atom::Map(Fields(self)) }
            }
            (Value::Array(_), Shape::Node(node, _)) if matches!(node.ty, Type::Array | Type::Any) => match &node.list {
                ListType::Atomic => Atom::Leaf,
                keys => Atom::List(List { keys, element: self.element() }),
            },
            _ => Atom::Leaf,
        }
    }

    /// The shape of the items of a list.
    pub(super) fn element(self) -> Shape<'a> {
        match self {
            Shape::Node(node, _) => node.items.as_deref().map_or(Shape::Untyped, |items| Shape::Node(items, None)),
            Shape::Deduced | Shape::Untyped => Shape::Untyped,
        }
    }

    /// The shape of a field; nothing if there can be no such field. `open` is set below
    /// `x-kubernetes-preserve-unknown-fields`, which opens everything under it.
    pub(super) fn field(self, name: &str, open: bool) -> Option<Shape<'a>> {
        let node = match self {
            Shape::Node(node, _) => node,
            other => return Some(other),
        };
        if let Some(child) = node.field(name) {
            return Some(Shape::Node(child, node.overrides.get(name).and_then(|said| said.atomic_map)));
        }
        match &node.additional {
            Additional::Each(child) => Some(Shape::Node(child, None)),
            Additional::Anything => Some(Shape::Deduced),
            Additional::Nothing if open || node.preserve_unknown || node.properties.is_empty() => Some(Shape::Deduced),
            Additional::Nothing => None,
        }
    }
}

impl<'a> Fields<'a> {
    /// The shape of a field; what the schema does not know is taken as it comes.
    pub(super) fn field(self, name: &str) -> Shape<'a> {
        self.0.field(name, true).unwrap_or(Shape::Deduced)
    }

    /// The field has a name in the schema; other names are data.
    pub(super) fn names(self, name: &str) -> bool {
        matches!(self.0, Shape::Node(node, _) if node.field(name).is_some())
    }
}

impl List<'_> {
    /// What tells an item from the others.
    pub(super) fn identity(&self, item: &Value) -> Result<Element, Nameless> {
        match self.keys {
            ListType::Map(keys) => self.keyed(item, keys),
            ListType::Set | ListType::Atomic => match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                scalar => Ok(Element::Value(scalar.to_string())),
            },
        }
    }

    fn keyed(&self, item: &Value, keys: &[String]) -> Result<Element, Nameless> {
        let Value::Object(fields) = item else {
            let what = if item.is_null() { "a null element" } else { "non-map elements" };
            return Err(format!("associative list with keys may not have {what}"));
        };
        let default = |key: &String| match self.element {
            Shape::Node(node, _) => node.field(key)?.default.clone(),
            Shape::Deduced | Shape::Untyped => None,
        };
        let found: Map<String, Value> = keys
            .iter()
            .filter_map(|key| Some((key.clone(), fields.get(key).cloned().or_else(|| default(key))?)))
            .collect();
        if found.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(Element::Key(Value::Object(found).to_string()))
    }

    /// The same, where a list is taken as it is: an item without identity is known by its place.
    pub(super) fn identities(&self, items: &[Value]) -> Vec<Element> {
        items.iter().enumerate().map(|(index, item)| self.identity(item).unwrap_or(Element::Index(index))).collect()
    }
}

impl Named for Shape<'_> {
    fn is_named(&self, element: &Element) -> bool {
        matches!((self, element), (Shape::Node(node, _), Element::Field(name)) if node.field(name).is_some())
    }

    fn descend(&self, element: &Element, then: &mut dyn FnMut(&dyn Named) -> Set) -> Set {
        match element {
            Element::Field(name) => then(&self.field(name, true).unwrap_or(Shape::Deduced)),
            Element::Key(_) | Element::Value(_) | Element::Index(_) => then(&self.element()),
        }
    }
}

/// Values that are the same although one is written `1` and the other `1.0`.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Null and empty say the same about parts: there are none.
pub(super) fn is_hollow(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(_) => false,
    }
}
