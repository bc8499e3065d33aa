//! `metadata.name=web,status.phase!=Failed`.

use serde_json::Value;

use super::SelectorError;

/// Which values an object's fields must have; all terms hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    is_equal: bool,
}

impl FieldSelector {
    /// Reads the text of a `fieldSelector` parameter; `supported` are the fields that may be asked for.
    pub fn parse(text: &str, supported: &[&str]) -> Result<Self, SelectorError> {
        Self::read(text, supported, |field| format!("field label not supported: {field}"))
    }

    /// The same for built-in kinds that have no fields of their own to select by, and another sentence for it.
    pub fn parse_plain(text: &str) -> Result<Self, SelectorError> {
        Self::read(text, &["metadata.name", "metadata.namespace"], |field| {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        })
    }

    fn read(text: &str, supported: &[&str], unknown: impl Fn(&str) -> String) -> Result<Self, SelectorError> {
        let mut terms = Vec::new();
        for part in split(text).into_iter().filter(|part| !part.is_empty()) {
            let lost = || SelectorError(format!("invalid selector: '{text}'; can't understand '{part}'"));
            // The first sign counts, and of two at the same place the longer.
            let at = part.find(['=', '!']).ok_or_else(lost)?;
            let (field, rest) = part.split_at(at);
            let (value, is_equal) = if let Some(value) = rest.strip_prefix("!=") {
                (value, false)
            } else if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
                (value, true)
            } else {
                return Err(lost());
            };
            if !supported.contains(&field) {
                return Err(SelectorError(unknown(field)));
            }
            terms.push(Term { field: field.to_owned(), value: unescape(value)?, is_equal });
        }
        Ok(Self { terms })
    }

    /// Whether the fields of this object fit. An absent field is an empty text.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| {
            let found = term.field.split('.').try_fold(object, |at, name| at.get(name));
            let found = match found {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            (found == term.value) == term.is_equal
        })
    }

    /// Whether everything fits.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value a field must have, if the selector says one: lets a list go straight to the object.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.is_equal && term.field == field).map(|term| term.value.as_str())
    }
}

/// At commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(text: &str) -> Result<String, SelectorError> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(SelectorError(format!("invalid field selector: invalid escape sequence: {sequence}")));
                }
            },
            ',' | '=' => {
                // The real server prints the number of the character.
                let message = format!("invalid field selector: unescaped character in value: {}", letter as u32);
                return Err(SelectorError(message));
            }
            other => plain.push(other),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELDS: &[&str] = &["metadata.name", "metadata.namespace", "status.phase", "spec.unschedulable"];

    #[test]
    fn selectors_choose_by_fields() {
        let object =
            json!({ "metadata": { "name": "a" }, "status": { "phase": "x,y" }, "spec": { "unschedulable": true } });
        for (text, expected) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,metadata.namespace=", true),
            ("metadata.name!=a", false),
            ("metadata.name=b", false),
            (r"status.phase=x\,y", true),
            ("spec.unschedulable=true", true),
        ] {
            let selector = FieldSelector::parse(text, FIELDS).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(selector.matches(&object), expected, "{text}");
        }
        let selector = FieldSelector::parse("metadata.name=a", FIELDS).expect("a selector");
        assert_eq!((selector.exact("metadata.name"), selector.exact("status.phase")), (Some("a"), None));
    }

    #[test]
    fn wrong_selectors_are_refused_in_the_words_of_the_real_server() {
        for (text, expected) in [
            ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
            ("spec.colour=red", "field label not supported: spec.colour"),
            (r"metadata.name=a\b", r"invalid field selector: invalid escape sequence: \b"),
            ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ] {
            assert_eq!(FieldSelector::parse(text, FIELDS), Err(SelectorError(expected.to_owned())), "{text}");
        }
    }
}
