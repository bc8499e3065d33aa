//! What the broker's steps work on: the data they store, the memory they share, the systems they
//! call.

use std::collections::BTreeMap;

use secrecy::zeroize::Zeroize;
use serde::{Deserialize, Serialize};
use slipway_clients::Connections;
use slipway_engine::Domain;

/// The broker as the engine sees it.
#[derive(Debug, Clone, Copy)]
pub struct Broker;

impl Domain for Broker {
    type Data = Data;
    type Systems = Systems;
}

/// Outputs of steps, stored with the operation. Never a secret. A field may be added at any time:
/// operations stored before read it as its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// How to greet the instance; the output of `Hello_World`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<String>,
}

/// Settings that go into the cluster on top of the defaults. They live in stage memory only and
/// are wiped behind their stage: a value may be a secret, and nothing tells which.
#[derive(Default)]
pub struct Overrides(BTreeMap<String, String>);

impl Overrides {
    /// Sets one; the later wins.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        if let Some(mut old) = self.0.insert(key.into(), value.into()) {
            old.zeroize();
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The keys, in order; these are no secrets.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Zeroize for Overrides {
    fn zeroize(&mut self) {
        self.0.values_mut().for_each(Zeroize::zeroize);
        self.0.clear();
    }
}

/// What the steps call.
pub struct Systems {
    /// The outside systems; the client of one is `outside.client::<hello::Client>()`.
    pub outside: Connections,
}

#[cfg(test)]
mod tests {
    use slipway_model::JsonText;

    use super::*;

    #[test]
    fn data_of_an_older_program_are_read() {
        assert_eq!(JsonText::empty().to::<Data>().expect("data"), Data::default());
    }

    #[test]
    fn overrides_are_wiped() {
        let mut overrides = Overrides::default();
        overrides.set("greeting.text", "Hello");
        overrides.set("greeting.text", "Hello, ann!");
        assert_eq!(overrides.get("greeting.text"), Some("Hello, ann!"));
        overrides.zeroize();
        assert_eq!(overrides.keys().count(), 0);
    }
}
