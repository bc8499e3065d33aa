//! Label and field selectors, with the parser and the complaints of the real server.

mod field;
mod label;
pub(crate) mod names;

pub use field::FieldSelector;
pub use label::LabelSelector;

use super::status::Status;

/// A selector that cannot be read: 400 BadRequest with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

impl From<SelectorError> for Status {
    fn from(error: SelectorError) -> Self {
        Self::bad_request(error.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{FieldSelector, LabelSelector};

    #[test]
    fn every_recorded_answer_of_a_real_server_is_ours_too() {
        let recorded: Value = serde_json::from_str(include_str!("../testdata/selector.json")).expect("a recording");
        for (kind, parse) in [
            ("labels", (|text| LabelSelector::parse(text).map(drop)) as fn(&str) -> Result<(), super::SelectorError>),
            ("fields", |text| FieldSelector::parse_plain(text).map(drop)),
        ] {
            for row in recorded[kind].as_array().expect("rows") {
                let text = row[0].as_str().expect("a selector");
                let ours = parse(text).map_err(|error| error.0);
                assert_eq!(ours.err().as_deref(), row[2].as_str(), "{kind} {text}");
            }
        }
    }
}
