//! Fields that stand twice in a JSON text.
//!
//! A parsed object no longer shows them, so strict decoding has to read the text once more.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Paths of fields that occur twice, in the order of their second occurrence, each once.
/// A text that is no JSON has none; parsing refuses it elsewhere.
pub fn duplicate_fields(raw: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = serde_json::Deserializer::from_slice(raw);
    // The error says the text is no JSON, which is not what is asked here.
    let _ = Walk { path: String::new(), found: &mut found }.deserialize(&mut text);
    found
}

struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if !seen.insert(name) && !self.found.contains(&path) {
                self.found.push(path.clone());
            }
            map.next_value_seed(Walk { path, found: self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while list.next_element_seed(Walk { path: format!("{}[{index}]", self.path), found: self.found })?.is_some() {
            index += 1;
        }
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        IgnoredAny::visit_newtype_struct(IgnoredAny, deserializer).map(drop)
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<(), E> {
        Err(E::custom("JSON has no bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::duplicate_fields;

    #[test]
    fn each_doubled_field_is_named_once() {
        for (text, expected) in [
            (r#"{"a": 1, "b": {"a": 1}}"#, &[][..]),
            (r#"{"a": 1, "a": 2, "a": 3}"#, &["a"]),
            (r#"{"spec": {"list": [{"x": 1}, {"x": 1, "x": 2}]}, "spec": {}}"#, &["spec.list[1].x", "spec"]),
            (r#"{"a": 1, "a""#, &["a"]),
            ("no json", &[]),
        ] {
            assert_eq!(duplicate_fields(text.as_bytes()), expected, "{text}");
        }
    }
}
