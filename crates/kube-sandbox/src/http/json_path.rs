//! The part of JSONPath that printer columns use: fields, indexes, `[*]` and filters by one equality.

use serde_json::Value;

/// All values at a path.
pub fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('[') {
            let Some(end) = closing(tail) else { return Vec::new() };
            found = found.into_iter().flat_map(|value| inside(value, &tail[..end])).collect();
            rest = &tail[end + 1..];
        } else {
            let tail = rest.strip_prefix('.').unwrap_or(rest);
            let end = field_end(tail);
            let field = tail[..end].replace("\\.", ".");
            if !field.is_empty() {
                found = found.into_iter().filter_map(|value| value.get(&field)).collect();
            } else if !tail.starts_with('[') {
                return found;
            }
            rest = &tail[end..];
        }
    }
    found
}

/// Where a field name ends: at a dot or bracket that is not escaped.
fn field_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if !escaped => escaped = true,
            '.' | '[' if !escaped => return at,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Where a bracket closes, quotes respected.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, ']') => return Some(at),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
    }
    None
}

fn inside<'a>(value: &'a Value, what: &str) -> Vec<&'a Value> {
    let what = what.trim();
    let items = || value.as_array().into_iter().flatten();
    if what == "*" {
        return items().chain(value.as_object().into_iter().flat_map(|fields| fields.values())).collect();
    }
    if let Some(filter) = what.strip_prefix("?(").and_then(|filter| filter.strip_suffix(')')) {
        let Some((left, right)) = filter.split_once("==") else { return Vec::new() };
        let (path, wanted) = (left.trim().trim_start_matches('@'), unquoted(right.trim()));
        let fits = |item: &&Value| {
            find(item, path).first().is_some_and(|found| {
                let shown = found.as_str().map_or_else(|| found.to_string(), ToOwned::to_owned);
                shown == wanted
            })
        };
        return items().filter(fits).collect();
    }
    if let Ok(index) = what.parse::<i64>() {
        let count = value.as_array().map_or(0, Vec::len);
        let at = if index < 0 { count.checked_sub(index.unsigned_abs() as usize) } else { Some(index as usize) };
        return at.and_then(|at| value.get(at)).into_iter().collect();
    }
    value.get(unquoted(what)).into_iter().collect()
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(|letter| letter == '"' || letter == '\'')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_values() {
        let object = json!({ "a": { "b.c": 1, "d": [{ "n": "x", "v": 1 }, { "n": "y", "v": 2 }] } });
        for (path, wanted) in [
            (".a.b\\.c", json!([1])),
            (".a['b.c']", json!([1])),
            (".a.d[0].v", json!([1])),
            (".a.d[-1].v", json!([2])),
            (".a.d[*].v", json!([1, 2])),
            (".a.d[?(@.n==\"y\")].v", json!([2])),
            (".a.d[?(@.v==1)].n", json!(["x"])),
            (".a.nothing", json!([])),
        ] {
            assert_eq!(json!(find(&object, path)), wanted, "{path}");
        }
    }
}
