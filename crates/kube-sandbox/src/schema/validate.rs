//! Values against a schema, with the sentences of the real server.
//!
//! The real server checks with one library and rewrites its findings into Kubernetes' causes; both
//! halves show in the text (`spec.size: Invalid value: "string": spec.size in body must be of type
//! integer: "string"`), and clients and tests read it, so it is kept to the letter.
//!
//! An update may keep what was already wrong: whatever equals its old value is not looked at again.
//! Otherwise a schema that became stricter would lock its objects, finalizers included.

use serde_json::{Number, Value, json};

use super::{
    checks::{Bound, Checks, Pattern},
    correlate, format,
    node::{Node, Type},
};
use crate::status::Cause;

/// All that is wrong with a value. `old` is what stood in its place.
pub(super) fn validate(node: &Node, value: &Value, old: Option<&Value>, at: &str, causes: &mut Vec<Cause>) {
    if old == Some(value) {
        return;
    }
    if let Some(cause) = wrong_type(node, value, at) {
        causes.push(cause);
        if value.is_null() {
            enumeration(&node.checks, value, at, causes);
            return;
        }
    } else if value.is_null() {
        enumeration(&node.checks, value, at, causes);
        return;
    }
    combined(node, value, at, causes);
    match value {
        Value::String(text) => string(node, text, at, causes),
        Value::Number(number) => numeric(node, number, at, causes),
        Value::Array(items) => array(node, items, old, at, causes),
        Value::Object(_) | Value::Null | Value::Bool(_) => {}
    }
    enumeration(&node.checks, value, at, causes);
    if let Value::Object(_) = value {
        object(node, value, old, at, causes);
    }
}

fn field(at: &str) -> String {
    // The path of the root is the one Go prints for a missing path.
    if at.is_empty() { "<nil>".to_owned() } else { at.to_owned() }
}

fn wrong_type(node: &Node, value: &Value, at: &str) -> Option<Cause> {
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let right = match (node.ty, value) {
        (_, Value::Null) => node.nullable || (node.ty == Type::Any && !node.int_or_string),
        (Type::Any, _) if node.int_or_string => value.is_string() || (value.is_number() && whole),
        (Type::Any, _)
        | (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String, Value::String(_))
        | (Type::Number, Value::Number(_))
        | (Type::Boolean, Value::Bool(_)) => true,
        (Type::Integer, Value::Number(_)) => whole,
        _ => false,
    };
    if right {
        return None;
    }
    // The format is what is missed, where there is one and the value could not even be a text of it.
    let formatted = node.format.as_deref().filter(|name| !node.int_or_string && format::is_checked(node.ty, name));
    let (expected, found) = match (formatted, value) {
        (Some(name), Value::Number(number)) => (name, if number.is_f64() { "float64" } else { "int64" }),
        (Some(name), Value::Bool(_) | Value::Object(_)) => (name, ""),
        (_, Value::Null) => (type_name(node), "null"),
        (_, Value::Bool(_)) => (type_name(node), "boolean"),
        (_, Value::Number(number)) => (type_name(node), if number.is_f64() { "number" } else { "integer" }),
        (_, Value::String(_)) => (type_name(node), "string"),
        (_, Value::Array(_)) => (type_name(node), "array"),
        (_, Value::Object(_)) => (type_name(node), "object"),
    };
    let detail = format!("{at} in body must be of type {expected}: \"{found}\"");
    Some(Cause::type_invalid(field(at), &json!(found), &detail))
}

fn type_name(node: &Node) -> &'static str {
    if node.int_or_string { "integer,string" } else { node.ty.as_str() }
}

/// allOf, anyOf, oneOf and not. Their own sentences have no place in the object; what the closest
/// alternative missed follows them.
fn combined(node: &Node, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let checks = &node.checks;
    let findings = |node: &Node| {
        let mut found = Vec::new();
        validate(node, value, None, at, &mut found);
        found
    };
    let general = |detail: String| Cause::invalid("<nil>", &json!(""), &detail);
    let spells_type = node.int_or_string && is_int_or_string(&checks.any_of);
    if !checks.any_of.is_empty() && !spells_type {
        let all: Vec<_> = checks.any_of.iter().map(findings).collect();
        if !all.iter().any(Vec::is_empty) {
            causes.push(general(format!("{at:?} must validate at least one schema (anyOf)")));
            causes.extend(closest(&checks.any_of, value, all));
        }
    }
    if !checks.one_of.is_empty() {
        let all: Vec<_> = checks.one_of.iter().map(findings).collect();
        let valid = all.iter().filter(|found| found.is_empty()).count();
        if valid != 1 {
            let why =
                if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
            causes.push(general(format!("{at:?} must validate one and only one schema (oneOf). {why}")));
            if valid == 0 {
                causes.extend(closest(&checks.one_of, value, all));
            }
        }
    }
    if !checks.all_of.is_empty() {
        let all: Vec<_> = checks.all_of.iter().map(findings).collect();
        let valid = all.iter().filter(|found| found.is_empty()).count();
        causes.extend(all.iter().flatten().cloned());
        if valid != all.len() {
            let why = if valid == 0 { ". None validated" } else { "" };
            causes.push(general(format!("{at:?} must validate all the schemas (allOf){why}")));
        }
    }
    if checks.not.as_deref().is_some_and(|not| findings(not).is_empty()) {
        causes.push(general(format!("{at:?} must not validate the schema (not)")));
    }
}

/// The usual way to write int-or-string, which the type has said already.
fn is_int_or_string(any_of: &[Node]) -> bool {
    matches!(any_of, [a, b] if a.ty == Type::Integer && b.ty == Type::String)
}

/// The findings of the alternative that looked at most, the first of equals.
fn closest(alternatives: &[Node], value: &Value, findings: Vec<Vec<Cause>>) -> Vec<Cause> {
    let mut best: Option<(usize, Vec<Cause>)> = None;
    for (node, found) in alternatives.iter().zip(findings) {
        let looks = looks(node, value);
        if best.as_ref().is_none_or(|(most, _)| looks > *most) {
            best = Some((looks, found));
        }
    }
    best.map(|(_, found)| found).unwrap_or_default()
}

/// How much a schema looks at in a value; numbers are looked at twice.
fn looks(node: &Node, value: &Value) -> usize {
    let below = match value {
        Value::Object(fields) => {
            fields.iter().filter_map(|(name, value)| Some(looks(node.properties.get(name)?, value))).sum()
        }
        Value::Array(items) => node.items.as_ref().map_or(0, |child| items.iter().map(|item| looks(child, item)).sum()),
        Value::Number(_) => 1,
        Value::Null | Value::Bool(_) | Value::String(_) => 0,
    };
    1 + below
}

/// Of length and pattern only the first miss is told.
fn string(node: &Node, text: &str, at: &str, causes: &mut Vec<Cause>) {
    let checks = &node.checks;
    let length = text.chars().count() as u64;
    let misses = |pattern: &&Pattern| !pattern.regex.as_ref().is_some_and(|regex| regex.is_match(text));
    if let Some(max) = checks.max_length.filter(|max| length > *max) {
        causes.push(Cause::too_long(field(at), usize::try_from(max).unwrap_or(usize::MAX)));
    } else if let Some(min) = checks.min_length.filter(|min| length < *min) {
        let detail = format!("{at} in body should be at least {min} chars long");
        causes.push(Cause::invalid(field(at), &json!(text), &detail));
    } else if let Some(pattern) = checks.pattern.as_ref().filter(misses) {
        let detail = format!("{at} in body should match '{}'", pattern.text);
        causes.push(Cause::invalid(field(at), &json!(text), &detail));
    }
    let has_format = matches!(node.ty, Type::String | Type::Any);
    if let Some(name) = node.format.as_deref().filter(|name| has_format && !format::fits(name, text)) {
        let detail = format!("{at} in body must be of type {name}: {text:?}");
        causes.push(Cause::type_invalid(field(at), &json!(text), &detail));
    }
}

fn numeric(node: &Node, number: &Number, at: &str, causes: &mut Vec<Cause>) {
    let checks = &node.checks;
    let Some(value) = number.as_f64() else { return };
    if node.ty == Type::Integer
        && let Some(kind) = out_of_range(node.format.as_deref(), number)
    {
        let detail = format!("Checked value must be of type integer {kind} in {at}");
        causes.push(Cause::invalid("<nil>", &json!(""), &detail));
    }
    let mut wrong = |detail: String| {
        causes.push(Cause::invalid(field(at), &Value::Number(number.clone()), &format!("{at} in body {detail}")));
    };
    if let Some(factor) = &checks.multiple_of {
        let quotient = value / factor.as_f64().unwrap_or(1.0);
        if quotient.fract() != 0.0 {
            wrong(format!("should be a multiple of {}", shown(factor)));
        }
    }
    let below = |bound: &Bound| if bound.exclusive { value <= bound.value } else { value < bound.value };
    if let Some(bound) = checks.minimum.as_ref().filter(|bound| below(bound)) {
        let or_equal = if bound.exclusive { "" } else { " or equal to" };
        wrong(format!("should be greater than{or_equal} {}", shown(&bound.shown)));
    }
    let above = |bound: &Bound| if bound.exclusive { value >= bound.value } else { value > bound.value };
    if let Some(bound) = checks.maximum.as_ref().filter(|bound| above(bound)) {
        let or_equal = if bound.exclusive { "" } else { " or equal to" };
        wrong(format!("should be less than{or_equal} {}", shown(&bound.shown)));
    }
}

/// The kind of integer a number does not fit.
fn out_of_range(format: Option<&str>, number: &Number) -> Option<&'static str> {
    let whole =
        number.as_i64().or_else(|| number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64));
    match format {
        Some("int32") => whole.is_none_or(|whole| i32::try_from(whole).is_err()).then_some("with format int32"),
        Some("int64") => whole.is_none().then_some("with format int64"),
        _ => whole.is_none().then_some("(default format)"),
    }
}

/// A number as Go prints it: no decimals where there are none.
fn shown(number: &Value) -> String {
    number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string())
}

fn array(node: &Node, items: &[Value], old: Option<&Value>, at: &str, causes: &mut Vec<Cause>) {
    let checks = &node.checks;
    if let Some(child) = &node.items {
        let old = correlate::Items::of(node, old);
        for (index, item) in items.iter().enumerate() {
            validate(child, item, old.like(item), &format!("{at}[{index}]"), causes);
        }
    }
    let count = items.len();
    if let Some(min) = checks.min_items.filter(|min| (count as u64) < *min) {
        let detail = format!("{at} in body should have at least {min} items");
        causes.push(Cause::invalid(field(at), &json!(count), &detail));
    }
    if let Some(max) = checks.max_items.filter(|max| count as u64 > *max) {
        causes.push(Cause::too_many(field(at), count, usize::try_from(max).unwrap_or(usize::MAX)));
    }
    if checks.unique_items && items.iter().enumerate().any(|(index, item)| items[..index].contains(item)) {
        causes.push(Cause::invalid(field(at), &json!(""), &format!("{at} in body shouldn't contain duplicates")));
    }
}

fn enumeration(checks: &Checks, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let Some(allowed) = checks.allowed.as_ref().filter(|allowed| !allowed.contains(value)) else { return };
    let allowed: Vec<String> =
        allowed.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    causes.push(Cause::not_supported(field(at), value, &allowed));
}

fn object(node: &Node, value: &Value, old: Option<&Value>, at: &str, causes: &mut Vec<Cause>) {
    let Value::Object(fields) = value else { return };
    let checks = &node.checks;
    let count = fields.len();
    if let Some(min) = checks.min_properties.filter(|min| (count as u64) < *min) {
        let detail = format!("{at} in body should have at least {min} properties");
        causes.push(Cause::invalid(field(at), &json!(count), &detail));
    }
    if let Some(max) = checks.max_properties.filter(|max| count as u64 > *max) {
        causes.push(Cause::too_many(field(at), count, usize::try_from(max).unwrap_or(usize::MAX)));
    }
    for (name, value) in fields {
        let Some(child) = node.properties.get(name).map(|child| &**child).or_else(|| node.each()) else { continue };
        let old = old.and_then(|old| old.get(name));
        validate(child, value, old, &super::path::child(at, name), causes);
    }
    for name in checks.required.iter().filter(|name| !fields.contains_key(*name)) {
        causes.push(Cause::required(super::path::child(at, name), ""));
    }
}
