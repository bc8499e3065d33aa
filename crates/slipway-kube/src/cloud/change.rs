//! What is wanted, laid over the document of a living cluster.
//!
//! What it names wins, what it does not name stays. Lists of named entries, as those of zones, are
//! joined by name, and no entry is ever lost. What the cloud cannot change is refused by its path.

use serde_json::Value;

use super::{
    Error,
    zones::{name_of, networks_of},
};
use crate::runtime::Raw;

/// Where we are: as people read it, and as the cloud's list of fixed members spells it.
struct Place<'a> {
    path: String,
    pattern: String,
    fixed: &'a [&'static str],
}

impl Place<'_> {
    fn member(&self, name: &str) -> Self {
        Self { path: format!("{}.{name}", self.path), pattern: format!("{}.{name}", self.pattern), ..*self }
    }

    fn entry(&self, name: &str) -> Self {
        Self { path: format!("{}[{name}]", self.path), pattern: format!("{}[]", self.pattern), ..*self }
    }

    fn is_fixed(&self) -> bool {
        let is_below =
            |fixed: &str| self.pattern.strip_prefix(fixed).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.fixed.iter().any(|fixed| is_below(fixed))
    }

    fn refuse(&self, message: String) -> Error {
        Error::Refused { path: self.path.clone(), message }
    }
}

/// Lays what is wanted over what is there.
pub(super) fn lay_over(living: &mut Raw, wanted: Raw, document: &str, fixed: &[&'static str]) -> Result<(), Error> {
    let place = Place { path: document.to_owned(), pattern: document.to_owned(), fixed };
    lay_members(living, wanted, &place)
}

fn lay_members(living: &mut Raw, wanted: Raw, at: &Place<'_>) -> Result<(), Error> {
    for (name, value) in wanted.into_iter().filter(|(_, value)| !value.is_null()) {
        let at = at.member(&name);
        match (living.get_mut(&name), value) {
            (Some(Value::Object(there)), Value::Object(value)) => lay_members(there, value, &at)?,
            (None, Value::Object(value)) => {
                let mut there = Raw::new();
                lay_members(&mut there, value, &at)?;
                living.insert(name, Value::Object(there));
            }
            (Some(Value::Array(there)), Value::Array(entries)) if is_named(there) && is_named(&entries) => {
                lay_entries(there, entries, &at)?;
            }
            (Some(there), value) if *there == value => {}
            (there, value) => {
                if at.is_fixed() {
                    let there = there.map_or_else(|| "unset".to_owned(), |there| there.to_string());
                    return Err(at.refuse(format!("cannot change from {there} to {value}; leave it as it is")));
                }
                living.insert(name, value);
            }
        }
    }
    Ok(())
}

fn is_named(entries: &[Value]) -> bool {
    entries.iter().all(|entry| entry.get("name").is_some())
}

fn lay_entries(living: &mut Vec<Value>, wanted: Vec<Value>, at: &Place<'_>) -> Result<(), Error> {
    for entry in wanted {
        let name = name_of(&entry);
        let at = at.entry(&name);
        match living.iter_mut().find(|there| name_of(there) == name) {
            Some(Value::Object(there)) => {
                let Value::Object(mut entry) = entry else { unreachable!("only objects have a name") };
                // It is the same name, perhaps once as a number and once as a text.
                entry.remove("name");
                lay_members(there, entry, &at)?;
            }
            _ => {
                let taken = networks_of(living);
                for network in networks_of(std::slice::from_ref(&entry)) {
                    if let Some(other) = taken.iter().find(|other| other.overlaps(network)) {
                        return Err(at.refuse(format!("{network} overlaps {other}, which another zone has")));
                    }
                }
                living.push(entry);
            }
        }
    }
    Ok(())
}
