//! Strategic merge patch: a merge patch that knows which items of a list are the same.
//!
//! Only kinds with types have it, for those say by which key a list merges. Directives inside the
//! patch say the rest: `$patch` (replace, delete), `$deleteFromPrimitiveList/x`,
//! `$setElementOrder/x`, `$retainKeys`. A map is merged in that order: directive of the map itself,
//! keys to retain, ordered lists, the other fields.

use serde_json::{Map, Value};

use super::PatchError;
use crate::schema::{
    Schema,
    node::{Node, PatchStrategy},
};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

/// The object with the patch laid over it.
pub fn strategic(object: &Value, patch: &Value, schema: &Schema) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        let found = super::json_type(patch);
        let message = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
        return Err(PatchError::Malformed(message));
    };
    let original = object.as_object().cloned().unwrap_or_default();
    merge_map(original, patch.clone(), Some(schema.root())).map(Value::Object)
}

type Fields = Map<String, Value>;

fn malformed(message: &str) -> PatchError {
    PatchError::Malformed(message.to_owned())
}

/// What the schema says about a field, and the schema of its value.
fn strategy<'a>(node: Option<&'a Node>, name: &str) -> (Option<&'a Node>, PatchStrategy) {
    let Some(node) = node else { return (None, PatchStrategy::default()) };
    let child = node.field(name).or_else(|| node.each());
    let said = node.overrides.get(name).map(|said| said.patch.clone());
    (child, said.or_else(|| child.map(|child| child.patch.clone())).unwrap_or_default())
}

fn merge_map(mut original: Fields, mut patch: Fields, node: Option<&Node>) -> Result<Fields, PatchError> {
    match patch.remove(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => return Ok(patch),
        Some(Value::String(directive)) if directive == "delete" => return Ok(Fields::new()),
        Some(other) => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            patch.insert(PATCH.to_owned(), other);
            let message = format!("unknown patch type: {text} in map: {}", go(&Value::Object(patch)));
            return Err(PatchError::Stumbled(message));
        }
    }
    retain_keys(&mut original, &mut patch)?;
    ordered_lists(&mut original, &mut patch, node)?;
    for (key, value) in patch {
        if let Some(name) = key.strip_prefix(DELETE_FROM) {
            delete_from(&mut original, name, &value);
            continue;
        }
        if value.is_null() {
            original.remove(&key);
            continue;
        }
        let (child, strategy) = strategy(node, &key);
        let merged = match (original.remove(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if !strategy.replace => {
                Some(Value::Object(merge_map(old, new, child)?))
            }
            (Some(Value::Array(old)), Value::Array(new)) if strategy.merge => {
                let items = child.and_then(|child| child.items.as_deref());
                Some(Value::Array(merge_list(old, new, items, strategy.merge_key.as_deref())?))
            }
            (Some(Value::Array(_)), new @ Value::Array(_)) => Some(new),
            (_, new) => plain(new),
        };
        original.extend(merged.map(|merged| (key, merged)));
    }
    Ok(original)
}

/// The patch names all fields that may stay; others go.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || malformed("invalid patch format of retainKeys");
    let Value::Array(keys) = keys else { return Err(wrong()) };
    let retained = |name: &str| keys.iter().any(|key| key == name);
    let is_directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !retained(name)) {
        return Err(wrong());
    }
    original.retain(|name, _| retained(name));
    Ok(())
}

/// Lists whose order the patch gives are merged with it and then put in that order.
fn ordered_lists(original: &mut Fields, patch: &mut Fields, node: Option<&Node>) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let name = directive.trim_start_matches(SET_ORDER).to_owned();
        let list = |value: Option<Value>| match value {
            Some(Value::Array(items)) => Ok(Some(items)),
            None => Ok(None),
            Some(other) => {
                Err(PatchError::Stumbled(format!("expected a []interface {{}}, but received a {}", go_type(&other))))
            }
        };
        let order = list(patch.remove(&directive))?.unwrap_or_default();
        let old = list(original.get(&name).cloned())?;
        let new = list(patch.get(&name).cloned())?;
        let (child, strategy) = strategy(node, &name);
        let key = strategy.merge_key.as_deref();
        check_order(new.as_deref().unwrap_or_default(), &order, key)?;
        let items = child.and_then(|child| child.items.as_deref());
        let server_order = old.clone().unwrap_or_default();
        let merged = match (old, new) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(plain).collect(),
            (Some(old), Some(new)) if strategy.merge => merge_list(old, new, items, key)?,
            (Some(_), Some(new)) => new,
        };
        original.insert(name.clone(), Value::Array(in_order(merged, &order, &server_order, key)));
        patch.remove(&name);
    }
    Ok(())
}

/// The patch's items must come in the order the patch demands.
fn check_order(new: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    let mut wanted = order.iter();
    let mut items = new.iter().filter(|item| item.get(PATCH).is_none());
    let in_step = items.all(|item| wanted.any(|wanted| is_same(item, wanted, key)));
    if order.is_empty() || in_step {
        return Ok(());
    }
    let (new, order) = (go(&Value::Array(new.to_vec())), go(&Value::Array(order.to_vec())));
    let message = format!("The order in patch list:\n{new}\n doesn't match $setElementOrder list:\n{order}\n");
    Err(PatchError::Stumbled(message))
}

fn delete_from(original: &mut Fields, name: &str, gone: &Value) {
    if let (Some(Value::Array(items)), Value::Array(gone)) = (original.get_mut(name), gone) {
        items.retain(|item| !gone.contains(item));
    }
}

fn merge_list(
    old: Vec<Value>,
    new: Vec<Value>,
    items: Option<&Node>,
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    if old.iter().chain(&new).any(Value::is_array) {
        return Err(PatchError::Unprocessable("lists of lists are not supported".to_owned()));
    }
    if !old.iter().chain(&new).any(Value::is_object) {
        let mut merged = Vec::<Value>::new();
        for item in old.iter().chain(&new) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Ok(in_order(merged, &new, &old, None));
    }
    let Some(key) = key else {
        return Err(PatchError::Stumbled("cannot merge lists without merge key".to_owned()));
    };
    let (mut merged, new) = special_items(old, new, key)?;
    let server_order = merged.clone();
    for item in &new {
        let id = item.get(key).ok_or_else(|| no_merge_key(item, key))?;
        match merged.iter().position(|other| other.get(key) == Some(id)) {
            Some(at) => {
                let (Value::Object(old), Value::Object(new)) = (merged[at].clone(), item.clone()) else { continue };
                merged[at] = Value::Object(merge_map(old, new, items)?);
            }
            None => merged.push(item.clone()),
        }
    }
    Ok(in_order(merged, &new, &server_order, Some(key)))
}

/// Items that are directives: one deletes an item, one replaces the list.
fn special_items(mut old: Vec<Value>, new: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut replace = false;
    let mut left = Vec::new();
    for item in new {
        match item.get(PATCH) {
            None => left.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let id = item.get(key).ok_or_else(|| no_merge_key(&item, key))?;
                    old.retain(|other| other.get(key) != Some(id));
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    let message = "merging lists cannot yet be specified in the patch".to_owned();
                    return Err(PatchError::Stumbled(message));
                }
                _ => {
                    let shown = directive.as_str().map_or_else(|| directive.to_string(), str::to_owned);
                    return Err(PatchError::Stumbled(format!("unknown patch type: {shown} in map: {}", go(&item))));
                }
            },
        }
    }
    Ok(if replace { (left, Vec::new()) } else { (old, left) })
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    PatchError::Stumbled(format!("map: {} does not contain declared merge key: {key}", go(item)))
}

fn is_same(a: &Value, b: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => a.get(key).is_some() && a.get(key) == b.get(key),
        None => a == b,
    }
}

/// The patch's items in the patch's order, the server's in the server's, the latter first where both
/// lists tell which comes first.
fn in_order(merged: Vec<Value>, patch_order: &[Value], server_order: &[Value], key: Option<&str>) -> Vec<Value> {
    let place = |order: &[Value], item: &Value| order.iter().position(|other| is_same(item, other, key));
    let (mut patched, mut server): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(patch_order, item).is_some());
    patched.sort_by_key(|item| place(patch_order, item));
    server.sort_by_key(|item| place(server_order, item));
    let (mut patched, mut server) = (patched.into_iter().peekable(), server.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let server_first = match (server.peek(), patched.peek()) {
            (None, None) => return all,
            (Some(server), Some(patched)) => {
                matches!((place(server_order, server), place(server_order, patched)), (Some(s), Some(p)) if s < p)
            }
            (server, _) => server.is_some(),
        };
        all.extend(if server_first { server.next() } else { patched.next() });
    }
}

/// What is new comes without its directives and nulls.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(kept.filter_map(|(name, value)| Some((name, plain(value)?))).collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(plain).collect()),
        other => Some(other),
    }
}

/// A value as Go prints it.
fn go(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}:{}", go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "map[string]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        _ => "float64",
    }
}
