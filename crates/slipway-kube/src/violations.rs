//! Everything that is wrong with a request, at once: who mends one field should not learn of the
//! next only afterwards.

mod text;

pub use text::is_label_value;

/// The rule of a field that cannot change.
pub const IMMUTABLE: &str = "immutable";

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, from the argument on: `config.clusterConfig.gardenerConfig.region`.
    pub path: String,
    /// Which rule: `V8`, or `immutable`.
    pub rule: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

/// What is wrong so far, and what was accepted without effect.
#[derive(Debug, Default)]
pub struct Violations {
    /// What is wrong.
    pub list: Vec<Violation>,
    /// What the caller should know although nothing is wrong.
    pub warnings: Vec<String>,
}

/// Longer texts of a request are cut where an error quotes them.
const QUOTED_MAX: usize = 80;

impl Violations {
    /// Notes that something is wrong.
    pub fn add(&mut self, path: impl Into<String>, rule: &'static str, message: impl Into<String>) {
        self.list.push(Violation { path: path.into(), rule, message: message.into() });
    }

    /// Notes that something is wrong unless it holds.
    pub fn require(&mut self, holds: bool, path: impl Into<String>, rule: &'static str, message: impl Into<String>) {
        if !holds {
            self.add(path, rule, message);
        }
    }

    /// Notes what the caller should know.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A text of a request as an error may quote it: short, and on one line.
pub fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_short_and_on_one_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert!(quoted(&"ä".repeat(1000)).chars().count() < 90);
    }
}
