//! Which old item a new one replaces.
//!
//! Only lists that are maps tell: their keys say which items are the same. In all other lists an
//! item has no past.

use serde_json::Value;

use super::node::{ListType, Node};

/// The items of an old list, to be found by key.
pub(super) struct Items<'a> {
    keys: &'a [String],
    items: &'a [Value],
}

impl<'a> Items<'a> {
    /// The items of the list that stood at this node.
    pub(super) fn of(node: &'a Node, old: Option<&'a Value>) -> Self {
        match (&node.list, old) {
            (ListType::Map(keys), Some(Value::Array(items))) => Self { keys, items },
            _ => Self { keys: &[], items: &[] },
        }
    }

    /// The item with the same keys.
    pub(super) fn like(&self, item: &Value) -> Option<&'a Value> {
        self.items.iter().find(|old| self.keys.iter().all(|key| old.get(key) == item.get(key)))
    }
}
