//! The four walks of apply over objects: what is there, what differs, two into one, and less.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    set::{Element, Set},
    shape::{Atom, Fields, List, Shape, is_hollow, same},
};

/// The fields an object has, as an applier owns them.
pub(super) fn fields_of(shape: Shape<'_>, object: &Value) -> Set {
    let mut set = Set::default();
    collect(shape, object, &mut Vec::new(), &mut set);
    set
}

fn collect(shape: Shape<'_>, value: &Value, path: &mut Vec<Element>, set: &mut Set) {
    match (shape.atom(value), value) {
        (Atom::Map(fields), Value::Object(map)) => {
            for (name, value) in map {
                path.push(Element::Field(name.clone()));
                collect(fields.field(name), value, path, set);
                let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if is_empty || !fields.names(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Atom::List(list), Value::Array(items)) => {
            let identities = list.identities(items);
            for (identity, item) in identities.iter().zip(items) {
                path.push(identity.clone());
                // Of items that are there twice nobody owns the fields, only their being there.
                if identities.iter().filter(|other| *other == identity).count() == 1 {
                    collect(list.element, item, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
        _ => set.insert(path),
    }
}

/// How two objects differ. No field is in two of the sets.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

/// Compares two objects.
pub(super) fn compare(shape: Shape<'_>, old: &Value, new: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    differ(shape, Some(old), Some(new), &mut Vec::new(), &mut comparison);
    comparison
}

fn differ(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<Element>, out: &mut Comparison) {
    match parts(shape, old, new) {
        Parts::Maps(fields, old_map, new_map) => {
            let names: BTreeSet<&String> = old_map.into_iter().chain(new_map).flat_map(Map::keys).collect();
            for name in names {
                path.push(Element::Field(name.clone()));
                let (old, new) = (old_map.and_then(|map| map.get(name)), new_map.and_then(|map| map.get(name)));
                differ(fields.field(name), old, new, path, out);
                path.pop();
            }
        }
        Parts::Lists(list, old_items, new_items) => differ_items(list, old_items, new_items, path, out),
        Parts::Whole => {
            match (old, new) {
                (None, _) => out.added.insert(path),
                (_, None) => out.removed.insert(path),
                (Some(old), Some(new)) if !same(old, new) => {
                    // A value that changed its nature takes its parts along.
                    for (value, set) in [(old, &mut out.removed), (new, &mut out.added)] {
                        if !matches!(shape.atom(value), Atom::Leaf) && !is_hollow(Some(value)) {
                            collect(shape, value, path, set);
                        }
                    }
                    out.modified.insert(path);
                }
                (Some(_), Some(_)) => {}
            }
            return;
        }
    }
    match (old, new) {
        (None, _) => out.added.insert(path),
        (_, None) => out.removed.insert(path),
        (Some(_), Some(_)) => {}
    }
}

fn differ_items(list: List<'_>, old: &[Value], new: &[Value], path: &mut Vec<Element>, out: &mut Comparison) {
    let (old_ids, new_ids) = (list.identities(old), list.identities(new));
    let all: BTreeSet<&Element> = old_ids.iter().chain(&new_ids).collect();
    for id in all {
        let of = |ids: &[Element]| -> Vec<usize> {
            ids.iter().enumerate().filter(|(_, other)| *other == id).map(|(index, _)| index).collect()
        };
        path.push(id.clone());
        match (&of(&old_ids)[..], &of(&new_ids)[..]) {
            (before @ ([] | [_]), after @ ([] | [_])) => {
                let (before, after) = (before.first().map(|at| &old[*at]), after.first().map(|at| &new[*at]));
                differ(list.element, before, after, path, out);
            }
            (before @ [_, _, ..], after @ [_, _, ..]) => {
                let equal = before.len() == after.len()
                    && before.iter().zip(after).all(|(before, after)| same(&old[*before], &new[*after]));
                if !equal {
                    out.modified.insert(path);
                }
            }
            // Items that were there twice have no fields that could be compared.
            ([_, _, ..], after) => {
                if let Some(after) = after.first() {
                    differ(list.element, None, Some(&new[*after]), path, out);
                }
                out.removed.insert(path);
            }
            (before, _) => {
                if let Some(before) = before.first() {
                    differ(list.element, Some(&old[*before]), None, path, out);
                }
                out.added.insert(path);
            }
        }
        path.pop();
    }
}

/// Two values that are taken apart together, or not at all.
enum Parts<'a> {
    Maps(Fields<'a>, Option<&'a Map<String, Value>>, Option<&'a Map<String, Value>>),
    Lists(List<'a>, &'a [Value], &'a [Value]),
    Whole,
}

fn parts<'a>(shape: Shape<'a>, left: Option<&'a Value>, right: Option<&'a Value>) -> Parts<'a> {
    // Where neither has parts, the difference between null, empty and absent is what matters.
    if is_hollow(left) && is_hollow(right) {
        return Parts::Whole;
    }
    let part = |value: Option<&'a Value>| value.filter(|value| !value.is_null());
    match (part(left), part(right)) {
        (Some(one), None) | (None, Some(one)) => match (shape.atom(one), one) {
            (Atom::Map(fields), Value::Object(_)) => {
                Parts::Maps(fields, left.and_then(Value::as_object), right.and_then(Value::as_object))
            }
            (Atom::List(list), Value::Array(_)) => Parts::Lists(list, items(left), items(right)),
            _ => Parts::Whole,
        },
        (Some(left), Some(right)) => match (shape.atom(left), shape.atom(right)) {
            (Atom::Map(fields), Atom::Map(_)) => Parts::Maps(fields, left.as_object(), right.as_object()),
            (Atom::List(list), Atom::List(_)) => Parts::Lists(list, items(Some(left)), items(Some(right))),
            _ => Parts::Whole,
        },
        (None, None) => Parts::Whole,
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The applied object laid over the live one.
pub(super) fn merge(shape: Shape<'_>, live: &Value, applied: &Value) -> Value {
    merged(shape, Some(live), Some(applied)).unwrap_or_default()
}

fn merged(shape: Shape<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    match parts(shape, live, applied) {
        Parts::Whole => applied.or(live).cloned(),
        Parts::Maps(fields, live, applied) => {
            let names: BTreeSet<&String> = live.into_iter().chain(applied).flat_map(Map::keys).collect();
            let of = |map: Option<&Map<String, Value>>, name: &str| map.and_then(|map| map.get(name)).cloned();
            let all = names.into_iter().filter_map(|name| {
                let (live, applied) = (of(live, name), of(applied, name));
                Some((name.clone(), merged(fields.field(name), live.as_ref(), applied.as_ref())?))
            });
            Some(Value::Object(all.collect()))
        }
        Parts::Lists(list, live, applied) => Some(Value::Array(merge_items(list, live, applied))),
    }
}

/// Both lists' items, those of the applied list in its order, those only alive kept near their neighbours.
fn merge_items(list: List<'_>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let (live_ids, applied_ids) = (list.identities(live), list.identities(applied));
    let alive = |id: &Element| {
        let mut found = live_ids.iter().zip(live).filter(|(other, _)| *other == id).map(|(_, item)| item);
        // An item that is there twice is replaced, not merged.
        found.next().filter(|_| found.next().is_none())
    };
    let mut shared = applied_ids.iter().filter(|id| live_ids.contains(id)).collect::<std::collections::VecDeque<_>>();
    let mut next_shared = shared.pop_front();
    let mut done = BTreeSet::new();
    let mut out = Vec::new();
    let (mut l, mut a) = (0, 0);
    while l < live_ids.len() || a < applied_ids.len() {
        if let (Some(live_id), Some(applied_id)) = (live_ids.get(l), applied_ids.get(a)) {
            if live_id == applied_id {
                done.insert(live_id);
                out.extend(merged(list.element, alive(live_id), Some(&applied[a])));
                (l, a) = (l + 1, a + 1);
                next_shared = shared.pop_front();
                continue;
            }
            if applied_ids.contains(live_id) && next_shared.is_some_and(|next| next != live_id) {
                // Shared, but its turn comes later.
                l += 1;
                continue;
            }
        }
        if let Some(live_id) = live_ids.get(l) {
            if !applied_ids.contains(live_id) {
                out.push(live[l].clone());
                l += 1;
                continue;
            }
            if done.contains(live_id) {
                l += 1;
            }
        }
        if let Some(applied_id) = applied_ids.get(a) {
            done.insert(applied_id);
            out.extend(merged(list.element, alive(applied_id), Some(&applied[a])));
            a += 1;
            if next_shared == Some(applied_id) {
                next_shared = shared.pop_front();
            }
        }
    }
    out
}

/// The object without these fields; nothing if nothing is left.
pub(super) fn without(shape: Shape<'_>, value: &Value, set: &Set) -> Option<Value> {
    match (shape.atom(value), value) {
        (Atom::Map(fields), Value::Object(map)) => {
            let mut left = Map::new();
            for (name, value) in map {
                let element = Element::Field(name.clone());
                if set.has(&element) {
                    continue;
                }
                let value = match set.below(&element) {
                    Some(below) if !below.is_empty() => without(fields.field(name), value, below),
                    _ => Some(value.clone()),
                };
                left.extend(value.map(|value| (name.clone(), value)));
            }
            (!left.is_empty()).then_some(Value::Object(left))
        }
        (Atom::List(list), Value::Array(items)) => {
            let mut left = Vec::new();
            for (identity, item) in list.identities(items).into_iter().zip(items) {
                if set.has(&identity) {
                    continue;
                }
                left.extend(match set.below(&identity) {
                    Some(below) if !below.is_empty() => without(list.element, item, below),
                    _ => Some(item.clone()),
                });
            }
            (!left.is_empty()).then_some(Value::Array(left))
        }
        // Parts of a value that is one cannot go; the value goes.
        (Atom::Leaf, Value::Array(_) | Value::Object(_)) => None,
        _ => Some(value.clone()),
    }
}
