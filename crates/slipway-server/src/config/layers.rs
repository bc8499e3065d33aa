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
            if is_of_others(rest) {
                continue;
            }
            let key = rest.replace("__", ".").to_lowercase();
            texts.set(&key, value).map_err(|key| ConfigError::unknown(&key, &format!("variable {variable}")))?;
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

/// Kubernetes sets the first in every pod beside a service named `slipway`; the others are for the
/// command line and for tests.
fn is_of_others(rest: &str) -> bool {
    rest == "PORT"
        || rest.starts_with("PORT_")
        || rest.starts_with("SERVICE_")
        || matches!(rest, "API_URL" | "API_TOKEN_FILE" | "PG_URL")
}

impl Provider for Texts {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.layer)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}
