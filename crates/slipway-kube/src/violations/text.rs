//! Texts of a request that end up as names in a cloud, in Gardener or in a label: checked for what
//! all of those take, so that a name cannot break out of the place it is written to.

use super::{Violations, quoted};

/// A name in a cloud or in Gardener: letters, digits, `.`, `_`, `-`; at most 63 of them, because most
/// of them become labels.
pub fn is_label_value(text: &str) -> bool {
    let ends_well = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        && ends_well(text.bytes().next())
        && ends_well(text.bytes().next_back())
}

/// The name of a Kubernetes object: lower-case letters, digits, `.` and `-`, at most 253.
fn is_object_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A text that is for people: anything but control characters, of a sane length.
fn is_free_text(text: &str, max: usize) -> bool {
    text.chars().count() <= max && !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

impl Violations {
    /// The text must be a name in a cloud.
    pub fn word(&mut self, path: &str, text: &str) {
        self.require(
            is_label_value(text),
            path,
            "text",
            format!(
                "{} must be 1 to 63 letters, digits, dots, dashes or underscores, with a letter or digit at both ends",
                quoted(text)
            ),
        );
    }

    /// The same, if there is one; an empty text is none.
    pub fn word_if(&mut self, path: &str, text: Option<&String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.word(path, text);
        }
    }

    /// The text must be the name of a Kubernetes object.
    pub fn object_name(&mut self, path: &str, text: &str) {
        self.require(
            is_object_name(text),
            path,
            "text",
            format!("{} must be a Kubernetes name: 1 to 253 lower-case letters, digits, dashes or dots", quoted(text)),
        );
    }

    /// The text is for people.
    pub fn free_text(&mut self, path: &str, text: &str, max: usize) {
        self.require(
            is_free_text(text, max),
            path,
            "text",
            format!("must have at most {max} characters and no control characters"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_their_place() {
        for good in ["n1-standard-4", "Standard_LRS", "a", "europe-west1"] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a b", "a/b", "a\"}", "a\nb", "$(id)", "'; drop table", "ä", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
        for bad in ["", ".", "a..b", "A", "a_b", "../etc", "a/b", &"x".repeat(254)] {
            assert!(!is_object_name(bad), "{bad}");
        }
        assert!(is_object_name("my-secret.v1"));
        assert!(!is_free_text("a\0b", 10));
    }
}
