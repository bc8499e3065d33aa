//! What the rules found.
//!
//! A rule collects; whether the finds end as `422 Invalid` with causes or as `403 Forbidden` with one
//! sentence is decided by the gate they were found at.

use std::fmt;

use kube_sandbox::status::{Cause, Status};
use serde_json::Value;

use super::value::same;

/// Group of most Gardener kinds.
pub const CORE: &str = "core.gardener.cloud";

/// The problems that were found, in the order they were found.
#[derive(Debug, Default)]
pub struct Problems(Vec<Cause>);

impl Problems {
    /// Something must be there.
    pub fn required(&mut self, path: impl Into<String>, detail: &str) {
        self.0.push(Cause::required(path, detail));
    }

    /// A value is wrong.
    pub fn invalid(&mut self, path: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.0.push(Cause::invalid(path, &value.into(), detail));
    }

    /// A value does not belong here, whatever it is.
    pub fn forbidden(&mut self, path: impl Into<String>, detail: &str) {
        self.0.push(Cause::forbidden(path, detail));
    }

    /// A value is none of those that are known.
    pub fn unsupported(&mut self, path: impl Into<String>, value: &str, known: &[&str]) {
        self.0.push(Cause::not_supported(path, &value.into(), known));
    }

    /// A value is there twice.
    pub fn duplicate(&mut self, path: impl Into<String>, value: impl Into<Value>) {
        self.0.push(Cause::duplicate(path, &value.into()));
    }

    /// A value is too long.
    pub fn too_long(&mut self, path: impl Into<String>, most: usize) {
        self.0.push(Cause::too_long(path, most));
    }

    /// A number is below zero.
    pub fn non_negative(&mut self, path: impl Into<String>, value: &Value) {
        if value.as_f64().is_some_and(|number| number < 0.0) {
            self.invalid(path, value.clone(), "must be greater than or equal to 0");
        }
    }

    /// A value has changed that may not.
    pub fn immutable(&mut self, path: impl Into<String>, new: &Value, old: &Value) {
        if !same(new, old) {
            self.invalid(path, new.clone(), "field is immutable");
        }
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them in brackets, even a single one.
    pub fn bracketed(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(Cause::to_string).collect();
        format!("[{}]", lines.join(" "))
    }

    /// `422` with all causes, or nothing.
    pub fn into_invalid(self, group: &str, kind: &str, name: &str) -> Result<(), Status> {
        Status::unless_valid(group, kind, name, self.0)
    }

    /// `403` with all of it in one sentence, or nothing.
    pub fn into_forbidden(self, group: &str, resource: &str, name: &str) -> Result<(), Status> {
        if self.is_empty() { Ok(()) } else { Err(Status::forbidden(group, resource, name, &self.to_string())) }
    }
}

impl fmt::Display for Problems {
    /// As the real server joins them: alone as it is, several in brackets, the same one only once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = Vec::new();
        for line in self.0.iter().map(Cause::to_string) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        match &lines[..] {
            [alone] => f.write_str(alone),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_problems_are_one_sentence_and_none_is_no_refusal() {
        assert_eq!(Problems::default().into_forbidden(CORE, "shoots", "a"), Ok(()));
        let mut problems = Problems::default();
        problems.required("spec.region", "must specify a region");
        problems.unsupported("spec.purpose", "fun", &["a", "b"]);
        problems.unsupported("spec.purpose", "fun", &["a", "b"]);
        let status = problems.into_forbidden(CORE, "shoots", "a").expect_err("refused");
        assert_eq!(
            status.message,
            r#"shoots.core.gardener.cloud "a" is forbidden: [spec.region: Required value: must specify a region, spec.purpose: Unsupported value: "fun": supported values: "a", "b"]"#
        );
    }
}
