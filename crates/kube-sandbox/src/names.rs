//! What names, labels and annotations may look like, in the words of the real server.

use serde_json::{Value, json};

use super::{kind::Naming, status::Cause};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LETTER_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// All annotations of an object together, keys and values: 256 KiB.
const ANNOTATIONS_LIMIT: usize = 262_144;

/// What is wrong with a name; nothing if it is right.
pub fn name(naming: Naming, name: &str) -> Vec<String> {
    match naming {
        Naming::Subdomain => subdomain(name),
        Naming::Label => bounded(name, 63, is_label(name), LABEL),
        Naming::LabelWithLetter => {
            let right = is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
            bounded(name, 63, right, LETTER_LABEL)
        }
        Naming::PathSegment => match name {
            "." | ".." => vec![format!("may not be '{name}'")],
            _ => ['/', '%']
                .iter()
                .filter(|one| name.contains(**one))
                .map(|one| format!("may not contain '{one}'"))
                .collect(),
        },
    }
}

/// What is wrong with a DNS subdomain.
pub fn subdomain(name: &str) -> Vec<String> {
    bounded(name, 253, name.split('.').all(is_label), SUBDOMAIN)
}

fn bounded(name: &str, max: usize, right: bool, rule: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > max {
        wrong.push(format!("must be no more than {max} bytes"));
    }
    if !right {
        wrong.push(rule.to_owned());
    }
    wrong
}

fn is_label(text: &str) -> bool {
    let inner = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    inner && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-')
}

fn is_word(text: &str) -> bool {
    let inner = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    inner && edge(text.chars().next()) && edge(text.chars().last())
}

/// What is wrong with a qualified name: `key` or `example.com/key`.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let (prefix, word) = match text.split('/').collect::<Vec<_>>()[..] {
        [word] => (None, word),
        [prefix, word] => (Some(prefix), word),
        _ => {
            let rule = QUALIFIED.replace("name part", "a qualified name");
            return vec![format!("{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")];
        }
    };
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => wrong.extend(subdomain(prefix).iter().map(|rule| format!("prefix part {rule}"))),
        None => {}
    }
    if word.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if word.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_word(word) {
        wrong.push(QUALIFIED.to_owned());
    }
    wrong
}

/// What is wrong with labels.
pub fn labels(field: &str, labels: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        causes.extend(qualified_name(key).iter().map(|rule| Cause::invalid(field, &json!(key), rule)));
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 {
            causes.push(Cause::invalid(field, value, "must be no more than 63 bytes"));
        }
        if !text.is_empty() && !is_word(text) {
            causes.push(Cause::invalid(field, value, LABEL_VALUE));
        }
    }
    causes
}

/// What is wrong with annotations.
pub fn annotations(field: &str, annotations: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        causes.extend(qualified_name(&key.to_lowercase()).iter().map(|rule| Cause::invalid(field, &json!(key), rule)));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long(field, ANNOTATIONS_LIMIT));
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_kind() {
        for (naming, good, bad) in [
            (Naming::Subdomain, "a.b-1", "A"),
            (Naming::Label, "1a", "a.b"),
            (Naming::LabelWithLetter, "a1", "1a"),
            (Naming::PathSegment, "system:Node", "a/b"),
        ] {
            assert!(name(naming, good).is_empty(), "{naming:?} {good}");
            assert_eq!(name(naming, bad).len(), 1, "{naming:?} {bad}");
        }
        assert_eq!(name(Naming::Label, &"a".repeat(64)), ["must be no more than 63 bytes"]);
    }

    #[test]
    fn keys_and_values_of_labels_are_checked() {
        assert!(labels("l", &json!({ "example.com/a_B": "", "x": "1.a" })).is_empty());
        for wrong in [json!({ "/a": "" }), json!({ "a b": "" }), json!({ "a": "-" }), json!({ "a/b/c": "" })] {
            assert!(!labels("l", &wrong).is_empty(), "{wrong}");
        }
        assert!(!annotations("a", &json!({ "a": "x".repeat(ANNOTATIONS_LIMIT) })).is_empty());
    }
}
