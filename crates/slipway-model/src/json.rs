//! JSON kept as text, for the data that steps store.

use std::fmt;

/// The text of one JSON object. The engine parses it once per claim and the databases take it as
/// it is, so nothing in between builds a tree.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// `{}`.
    pub fn empty() -> Self {
        Self("{}".to_owned())
    }

    /// Serializes a value that is an object.
    pub fn of<T: serde::Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        Self::parse(serde_json::to_string(value)?)
    }

    /// Takes text that must be one JSON object.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        if text.trim_start().starts_with('{') {
            serde_json::from_str::<&serde_json::value::RawValue>(&text)?;
            return Ok(Self(text));
        }
        Err(serde::de::Error::custom("expected a JSON object"))
    }

    /// The value inside.
    pub fn to<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_objects_are_taken() {
        assert!(JsonText::parse(r#" {"a":1}"#.to_owned()).is_ok());
        for bad in ["[]", "{", "1", "", r#"{"a":1} x"#] {
            assert!(JsonText::parse(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
