//! The layers a value can come from: file, environment, flags. Each value remembers its layer, so
//! that a message can say where to look.

use figment2::{
    Error, Metadata, Profile, Provider,
    value::{Dict, Map, Value},
};

use super::{ConfigError, keys};

/// Prefix of all variables.
const PREFIX: &str = "SLIPWAY_";

/// Where the configuration is to be read from. The environment is passed in, because it is shared
/// by all threads and tests must not touch it.
#[derive(Debug, Default, Clone)]
pub struct Sources {
    /// The YAML file.
    pub file: Option<std::path::PathBuf>,
    /// Environment variables; those of others are passed over.
    pub environment: Vec<(String, String)>,
    /// Keys and values from flags.
    pub flags: Vec<(String, String)>,
}

/// Texts by key: the environment, or the flags.
pub(super) struct Texts {
    layer: &'static str,
    values: Dict,
}

impl Texts {
    pub(super) fn environment(variables: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut texts = Self { layer: "environment", values: Dict::new() };
        for (variable, value) in variables {
            let Some(rest) = variable.strip_prefix(PREFIX) else { continue };
            let key = rest.replace("__", ".").to_lowercase();
            match texts.set(&key, value) {
                Err(_) if is_of_commands(rest) || is_of_kubernetes(rest, value) => {}
                other => other.map_err(|key| ConfigError::unknown(&key, &format!("variable {variable}")))?,
            }
        }
        Ok(texts)
    }

    pub(super) fn flags(flags: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut texts = Self { layer: "flags", values: Dict::new() };
        for (key, value) in flags {
            texts.set(key, value).map_err(|key| ConfigError::unknown(&key, "a flag"))?;
            if keys::find(key).is_some_and(|key| key.is_secret) {
                return Err(ConfigError::new(
                    key,
                    "is secret, and every user of the machine can read flags; use the file or the environment",
                ));
            }
        }
        Ok(texts)
    }

    /// Puts a text at a dotted key; gives the key back if there is no such key.
    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        if keys::find(key).is_none() {
            return Err(key.to_owned());
        }
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().unwrap_or(key);
        let mut dict = &mut self.values;
        for part in parts {
            let inner = dict.entry(part.to_owned()).or_insert_with(|| Value::from(Dict::new()));
            let Value::Dict(_, inner) = inner else { return Err(key.to_owned()) };
            dict = inner;
        }
        dict.insert(last.to_owned(), Value::from(text));
        Ok(())
    }
}

/// Those of the command line and of tests.
fn is_of_commands(rest: &str) -> bool {
    matches!(rest, "API_URL" | "API_TOKEN_FILE" | "PG_URL")
}

/// Kubernetes tells every pod of every Service of its namespace by variables that begin with the Service's name:
/// one of `slipway-broker` sets `SLIPWAY_BROKER_SERVICE_HOST`, `SLIPWAY_BROKER_PORT_8080_TCP_ADDR` and more.
fn is_of_kubernetes(rest: &str, value: &str) -> bool {
    let words: Vec<&str> = rest.split('_').collect();
    let is_address = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let has = |pair: [&str; 2]| words.windows(2).any(|two| two == pair);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let names_port =
        |three: &[&str]| three[0] == "PORT" && is_number(three[1]) && ["TCP", "UDP", "SCTP"].contains(&three[2]);
    has(["SERVICE", "HOST"])
        || has(["SERVICE", "PORT"])
        || words.windows(3).any(names_port)
        || (words.last() == Some(&"PORT") && is_address)
}

impl Provider for Texts {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.layer)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}
