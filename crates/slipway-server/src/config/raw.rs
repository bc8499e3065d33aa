//! The configuration as it is written: what each key may look like on its own. What the values
//! mean together is decided in `settings.rs`. Sections of outside systems are read in `systems.rs`.

use std::{collections::BTreeMap, fmt, net::SocketAddr};

use secrecy::SecretString;
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use slipway_model::time::{hours, millis, mins, secs};

use super::duration::DurationText;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    pub(super) database: Database,
    pub(super) secrets: Secrets,
    pub(super) listen: SocketAddr,
    pub(super) auth: Auth,
    pub(super) engine: Engine,
    pub(super) operation: Operation,
    pub(super) steps: Steps,
    pub(super) log: Log,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Database {
    pub(super) url: Option<Secret>,
    pub(super) max_connections: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Secrets {
    pub(super) active_key: Option<String>,
    pub(super) keys: BTreeMap<String, Secret>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Auth {
    pub(super) token: Option<Secret>,
    pub(super) token_file: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Engine {
    pub(super) heartbeat: DurationText,
    pub(super) lease: DurationText,
    pub(super) poll: DurationText,
    pub(super) park_memory_max: DurationText,
    pub(super) grace: DurationText,
    pub(super) group_max: usize,
    pub(super) retention: DurationText,
    pub(super) slots: Slots,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Slots {
    pub(super) provision: usize,
    pub(super) deprovision: usize,
    pub(super) update: usize,
    pub(super) upgrade: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Operation {
    pub(super) timeout: DurationText,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Steps {
    pub(super) disabled: Names,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Log {
    pub(super) format: LogFormat,
    pub(super) level: String,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For collectors.
    Json,
}

impl Default for Raw {
    fn default() -> Self {
        Self {
            database: Database::default(),
            secrets: Secrets::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            auth: Auth::default(),
            engine: Engine::default(),
            operation: Operation::default(),
            steps: Steps::default(),
            log: Log::default(),
        }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self { url: None, max_connections: 8 }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            heartbeat: DurationText::of(secs(1)),
            lease: DurationText::of(millis(2500)),
            poll: DurationText::of(secs(1)),
            park_memory_max: DurationText::of(mins(1)),
            grace: DurationText::of(secs(10)),
            group_max: 256,
            retention: DurationText::of(hours(336)),
            slots: Slots::default(),
        }
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self { provision: 64, deprovision: 64, update: 64, upgrade: 64 }
    }
}

impl Default for Operation {
    fn default() -> Self {
        Self { timeout: DurationText::of(hours(24)) }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".to_owned() }
    }
}

/// A value that does not print, not even when it is of the wrong type.
#[derive(Debug, Clone)]
pub(super) struct Secret(pub(super) SecretString);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOnly;
        impl Visitor<'_> for TextOnly {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text; put it in quotes")
            }

            fn visit_str<E>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret(SecretString::from(text)))
            }
        }
        deserializer.deserialize_str(TextOnly)
    }
}

/// A list of names; from the environment and from flags it comes as one text with commas.
#[derive(Debug, Default)]
pub(super) struct Names(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrText;
        impl<'de> Visitor<'de> for ListOrText {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names")
            }

            fn visit_str<E>(self, text: &str) -> Result<Names, E> {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Ok(Names(names.map(str::to_owned).collect()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(ListOrText)
    }
}
