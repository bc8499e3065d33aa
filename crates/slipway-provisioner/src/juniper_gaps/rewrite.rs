//! Replaces an object in the place of labels by its JSON text, and a whole number that no field can take by
//! a word that the library refuses with the field's name: it stops at such a number and does not say where.
//!
//! Labels have three places: the field `labels` in a document, the default of a variable of type `Labels`, and
//! the values of variables. A name followed by a colon and a brace is only ever a value in GraphQL,
//! so nothing else can be taken for one.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::tokens::{Kind, Token, tokens};

/// The field and the scalar.
const FIELD: &str = "labels";
const SCALAR: &str = "Labels";

/// Deeper objects are left to the library, which refuses them.
const DEPTH_MAX: usize = 32;

/// Labels with a variable inside: they cannot be written as one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("labels with a variable inside are not supported: give the whole object as one variable, or none of it")]
pub(super) struct Unrewritable;

/// The document and its variables with labels as texts.
pub(super) fn rewrite<'a>(
    query: &'a str,
    variables: &mut Option<Value>,
    tokens_max: usize,
) -> Result<Cow<'a, str>, Unrewritable> {
    let tokens = tokens(query, tokens_max + 1);
    if let Some(Value::Object(values)) = variables {
        rewrite_variables(values, &tokens);
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < tokens.len() {
        match object_at(&tokens, at) {
            Some(begin) => match parse(&tokens, begin, 0)? {
                Some((value, end)) => {
                    out.push_str(&query[copied..tokens[begin].start]);
                    out.push_str(&Value::String(value.to_string()).to_string());
                    copied = tokens[end - 1].end();
                    at = end;
                }
                None => at = begin + 1,
            },
            None => {
                if is_too_large(&tokens[at]) {
                    out.push_str(&query[copied..tokens[at].start]);
                    out.push('_');
                    out.push_str(tokens[at].text.trim_start_matches('-'));
                    copied = tokens[at].end();
                }
                at += 1;
            }
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(query));
    }
    out.push_str(&query[copied..]);
    Ok(Cow::Owned(out))
}

/// Whether this is a whole number outside of what GraphQL calls an `Int`.
fn is_too_large(token: &Token<'_>) -> bool {
    let digits = token.text.strip_prefix('-').unwrap_or(token.text);
    let is_number = token.kind == Kind::Word && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && token.text.parse::<i32>().is_err()
}

/// Where an object of labels begins, if the token here announces one.
fn object_at(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let is = |ahead: usize, text: &str| tokens.get(at + ahead).is_some_and(|token| token.is(text));
    if is(0, FIELD) && is(1, ":") && is(2, "{") {
        return Some(at + 2);
    }
    let after_type = if is(1, "!") { 2 } else { 1 };
    (is(0, SCALAR) && is(after_type, "=") && is(after_type + 1, "{")).then_some(at + after_type + 1)
}

/// The value that begins here, and the token after it; none if it is not well formed.
fn parse(tokens: &[Token<'_>], at: usize, depth: usize) -> Result<Option<(Value, usize)>, Unrewritable> {
    let Some(token) = tokens.get(at).filter(|_| depth < DEPTH_MAX) else { return Ok(None) };
    let closes = |at: usize, mark: &str| tokens.get(at).is_some_and(|token| token.is(mark));
    match (token.kind, token.text) {
        (Kind::Mark, "$") => Err(Unrewritable),
        (Kind::Mark, "{") => {
            let (mut map, mut at) = (Map::new(), at + 1);
            while !closes(at, "}") {
                let Some(key) = tokens.get(at).filter(|key| key.kind == Kind::Word && closes(at + 1, ":")) else {
                    return Ok(None);
                };
                let Some((value, next)) = parse(tokens, at + 2, depth + 1)? else { return Ok(None) };
                map.insert(key.text.to_owned(), value);
                at = next;
            }
            Ok(Some((Value::Object(map), at + 1)))
        }
        (Kind::Mark, "[") => {
            let (mut list, mut at) = (Vec::new(), at + 1);
            while !closes(at, "]") {
                let Some((value, next)) = parse(tokens, at, depth + 1)? else { return Ok(None) };
                list.push(value);
                at = next;
            }
            Ok(Some((Value::Array(list), at + 1)))
        }
        (Kind::Mark, _) => Ok(None),
        (kind, text) => Ok(scalar(kind, text).map(|value| (value, at + 1))),
    }
}

fn scalar(kind: Kind, text: &str) -> Option<Value> {
    match kind {
        // A quoted text is JSON but for tabs, which GraphQL takes as they are.
        Kind::Text => serde_json::from_str(&text.replace('\t', "\\t")).ok(),
        Kind::Block => Some(Value::String(text[3..text.len() - 3].replace("\\\"\"\"", "\"\"\""))),
        // Numbers and the three words read as JSON; any other name is a word of some enum.
        Kind::Word => match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(_) if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                Some(Value::String(text.to_owned()))
            }
            Err(_) => None,
        },
        Kind::Mark => None,
    }
}

fn rewrite_variables(values: &mut Map<String, Value>, tokens: &[Token<'_>]) {
    for window in tokens.windows(4) {
        let [dollar, name, colon, scalar] = window else { continue };
        if dollar.is("$")
            && colon.is(":")
            && scalar.is(SCALAR)
            && let Some(value) = values.get_mut(name.text).filter(|value| value.is_object())
        {
            *value = Value::String(value.to_string());
        }
    }
    values.values_mut().for_each(rewrite_fields);
}

/// Recursion is safe: the JSON parser has refused anything deep.
fn rewrite_fields(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(rewrite_fields),
        Value::Object(map) => {
            for (key, value) in map {
                if key == FIELD && value.is_object() {
                    *value = Value::String(value.to_string());
                } else {
                    rewrite_fields(value);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(query: &str) -> String {
        rewrite(query, &mut None, 1000).expect("no variables").into_owned()
    }

    #[test]
    fn an_object_in_a_document_becomes_a_text() {
        assert_eq!(
            document("{a(i: {labels: { x: \"1\", y: [true, null, 2.5, Word], z: {}, }, b: 1})}"),
            r#"{a(i: {labels: "{\"x\":\"1\",\"y\":[true,null,2.5,\"Word\"],\"z\":{}}", b: 1})}"#
        );
        assert_eq!(document("query($l: Labels! = {a: 1}) {x}"), r#"query($l: Labels! = "{\"a\":1}") {x}"#);
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for query in [
            "{labels: status {id}}",
            "{a(x: \"labels: {b: 1}\")}",
            "{a(labels: {b: })}",
            "{a(labels: {b: 1)}",
            "{a} # labels: {b: 1}",
            "{a(labels: $labels)}",
            "{ä(labels: \"x\")}",
        ] {
            assert_eq!(document(query), query);
        }
        let deep = format!("{{a(labels: {}{})}}", "{a:".repeat(100), "}".repeat(100));
        assert_eq!(document(&deep), deep);
    }

    #[test]
    fn a_whole_number_that_is_too_large_is_a_word_that_no_field_takes() {
        assert_eq!(
            document("{a(x: 2147483647, y: 2147483648, z: [-99999999999], t: \"99999999999\")}"),
            "{a(x: 2147483647, y: _2147483648, z: [_99999999999], t: \"99999999999\")}"
        );
    }

    #[test]
    fn a_variable_inside_is_refused() {
        assert_eq!(rewrite("{a(labels: {b: $c})}", &mut None, 100), Err(Unrewritable));
    }

    #[test]
    fn variables_are_rewritten_where_labels_stand() {
        let mut values = Some(json!({"l": {"a": 1}, "other": {"a": 1}, "config": [{"labels": {"labels": {}}}]}));
        rewrite("query($l: Labels, $other: Foo, $config: Bar) {x}", &mut values, 100).expect("fine");
        let expected = json!({"l": "{\"a\":1}", "other": {"a": 1}, "config": [{"labels": "{\"labels\":{}}"}]});
        assert_eq!(values, Some(expected));
    }
}
