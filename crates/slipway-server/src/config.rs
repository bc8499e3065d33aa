//! Configuration: a file, the environment and flags become one checked [`Settings`], or one
//! sentence that names the key, the layer it came from, and what would be right.
//!
//! Everything is refused that is not understood: a misspelt key that is silently ignored is an
//! incident later. No message shows the value of a secret.

mod duration;
pub mod keys;
mod layers;
mod raw;
mod settings;
pub(crate) mod systems;

use figment2::{
    Figment, Provider,
    error::{Actual, Kind},
    providers::Format,
};
use serde_saphyr::figment2::Yaml;

pub use duration::{BadDuration, DurationText};
pub use layers::Sources;
pub use raw::LogFormat;
pub use settings::{Database, Keys, Log, Settings};

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("configuration: {0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// A problem of one key.
    pub fn new(key: &str, problem: impl AsRef<str>) -> Self {
        Self(format!("{key} {}", problem.as_ref()))
    }

    fn unknown(key: &str, layer: &str) -> Self {
        let hint = match keys::nearest(key) {
            Some(near) => format!("did you mean {near}?"),
            None => "docs/configuration.md lists all keys".to_owned(),
        };
        Self(format!("there is no key {key} (from {layer}); {hint}"))
    }
}

/// Reads and checks a configuration.
pub fn load(sources: &Sources) -> Result<Settings, ConfigError> {
    let mut layers: Vec<Box<dyn Provider>> = Vec::new();
    if let Some(path) = &sources.file {
        // Read here and not by the provider: that one looks for the file in parent folders too,
        // and passes over a missing one.
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError(format!("the file {} cannot be read: {error}", path.display())))?;
        if !text.trim().is_empty() {
            layers.push(Box::new(Yaml::string(&text)));
        }
    }
    layers.push(Box::new(layers::Texts::environment(&sources.environment)?));
    layers.push(Box::new(layers::Texts::flags(&sources.flags)?));
    let part = |of_systems| {
        let merge = |all: Figment, layer: &dyn Provider| all.merge(systems::Part { layer, of_systems });
        layers.iter().fold(Figment::new(), |all, layer| merge(all, &**layer))
    };
    let raw = part(false).extract_lossy::<raw::Raw>().map_err(|error| explain(&error, sources))?;
    let systems = systems::read(&part(true), |error| explain(error, sources))?;
    Settings::of(raw, systems)
}

/// Words for an error of the layers. `figment2` would print the value, which may be a secret.
fn explain(error: &figment2::Error, sources: &Sources) -> ConfigError {
    let file = || sources.file.as_ref().map_or_else(|| "file".to_owned(), |path| format!("file {}", path.display()));
    let layer = match error.metadata.as_ref().map(|metadata| metadata.name.as_ref()) {
        Some(layer @ ("environment" | "flags")) => layer.to_owned(),
        Some(_) | None => file(),
    };
    let key = error.path.join(".");
    let is_secret = keys::find(&key).is_some_and(|key| key.is_secret);
    let found = |actual: &Actual| if is_secret { "something else".to_owned() } else { actual.to_string() };
    let problem = match &error.kind {
        Kind::UnknownField(name, _) => {
            let key = if key.ends_with(name.as_str()) || key.is_empty() {
                if key.is_empty() { name.clone() } else { key }
            } else {
                format!("{key}.{name}")
            };
            return ConfigError::unknown(&key, &layer);
        }
        Kind::InvalidType(actual, expected) | Kind::InvalidValue(actual, expected) => {
            format!("is {}, but must be {expected}", found(actual))
        }
        Kind::UnknownVariant(name, known) => format!("is {name:?}, but must be {}", known.join(" or ")),
        Kind::Message(message) if key.is_empty() => {
            return ConfigError(format!("the {layer} is not readable as YAML: {}", message.replace('\n', " ")));
        }
        Kind::Message(message) if is_secret => {
            let _ = message;
            "cannot be read".to_owned()
        }
        Kind::Message(message) => format!("is wrong: {message}"),
        other => format!("is wrong: {other}"),
    };
    ConfigError(format!("{key} {problem} (from {layer})"))
}

#[cfg(test)]
mod tests;
