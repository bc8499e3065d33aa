//! Text that has been checked: the macro behind every name and id that is a string.

/// Why a text was refused: which word it should have been, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {text:?} {problem}")]
pub struct BadText {
    /// What the text was meant to be, for example `instance id`.
    pub what: &'static str,
    /// The refused text, cut to 80 characters.
    pub text: String,
    /// What is wrong and what would be right.
    pub problem: &'static str,
}

impl BadText {
    pub(crate) fn new(what: &'static str, text: &str, problem: &'static str) -> Self {
        Self { what, text: text.chars().take(80).collect(), problem }
    }
}

/// Declares a newtype over `String` whose only way in is a check.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $what:literal, example $example:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A value the tests parse, and documentation shows.
            pub const EXAMPLE: &'static str = $example;

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::text::BadText;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let check: fn(&str) -> Result<(), &'static str> = $check;
                match check(&text) {
                    Ok(()) => Ok(Self(text)),
                    Err(problem) => Err($crate::text::BadText::new($what, &text, problem)),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::text::BadText;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use checked_text;

/// One to `max` printable ASCII characters without spaces.
pub(crate) fn is_printable(text: &str, max: usize) -> bool {
    !text.is_empty() && text.len() <= max && text.bytes().all(|b| b.is_ascii_graphic())
}
