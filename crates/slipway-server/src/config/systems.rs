//! Settings of the outside systems: which there are, the clients' table says, so a new system brings its
//! keys, their checks and their place in the reference with its row.

use std::{collections::BTreeMap, fmt, fs};

use figment2::{
    Error, Figment, Metadata, Profile, Provider,
    error::Kind,
    value::{Dict, Map},
};
use secrecy::{ExposeSecret, SecretString};
use slipway_clients::{
    BaseUrl, ConnectionSettings, Credentials, Login, OutsideSystem, SYSTEMS, SettingsBySystem, UsedBy,
    oauth::ClientCredentials,
};

use super::{ConfigError, duration::DurationText, raw};

/// The texts of one section, by setting.
pub(crate) type Section = BTreeMap<&'static str, SecretString>;

/// A setting that is no good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadSetting {
    /// With its section.
    pub(crate) key: String,
    /// What is wrong, and what to do.
    pub(crate) problem: String,
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl From<BadSetting> for ConfigError {
    fn from(bad: BadSetting) -> Self {
        Self::new(&bad.key, bad.problem)
    }
}

/// The systems that a service of ours uses.
pub(crate) fn used_by(user: UsedBy) -> impl Iterator<Item = &'static OutsideSystem> {
    SYSTEMS.iter().filter(move |system| system.used_by.contains(&user))
}

/// What a section says of its system; none where it does not say where that is.
pub(crate) fn read_section(
    system: &OutsideSystem,
    section: &Section,
) -> Result<Option<ConnectionSettings>, BadSetting> {
    let bad = |setting: &str, problem: String| BadSetting { key: format!("{}.{setting}", system.name), problem };
    let text = |setting: &str| section.get(setting).map(ExposeSecret::expose_secret);
    let required =
        |setting: &str, what: &str| text(setting).ok_or_else(|| bad(setting, format!("is missing; give {what}")));
    let address = |setting: &str, text: &str| {
        text.parse::<BaseUrl>().map_err(|error| bad(setting, format!("is no good: {error}")))
    };
    let secret = |setting: &str, file: &str| match (section.get(setting), text(file)) {
        (Some(_), Some(_)) => {
            Err(bad(setting, format!("is given together with {}.{file}; give one of them", system.name)))
        }
        (Some(secret), None) => Ok(secret.clone()),
        (None, Some(path)) => match fs::read_to_string(path) {
            Ok(text) => Ok(SecretString::from(text.trim())),
            Err(error) => Err(bad(file, format!("{path} cannot be read: {error}"))),
        },
        (None, None) => Err(bad(file, format!("is missing; give the file with our secret at {}", system.title))),
    };
    if section.keys().all(|setting| ["timeout", "max_in_flight"].contains(setting)) {
        return Ok(None);
    }
    let url = address("url", required("url", &format!("the address of {}", system.about))?)?;
    let credentials = match system.login {
        Login::None => Credentials::None,
        Login::Basic => Credentials::Basic {
            user: required("user", &format!("our user at {}", system.title))?.to_owned(),
            password: secret("password", "password_file")?,
        },
        Login::Token => Credentials::Token(secret("token", "token_file")?),
        Login::ClientCredentials { .. } => Credentials::Client(ClientCredentials {
            url: address("token_url", required("token_url", "the address where tokens are")?)?,
            client_id: required("client_id", "our id there")?.to_owned(),
            client_secret: secret("client_secret", "client_secret_file")?,
        }),
    };
    let mut settings = ConnectionSettings::new(system, url, credentials);
    if let Some(text) = text("timeout") {
        let timeout = text.parse::<DurationText>().map_err(|error| bad("timeout", format!("is wrong: {error}")))?;
        settings.timeout = timeout.get();
        if settings.timeout.is_zero() {
            return Err(bad("timeout", "is zero; no call could ever succeed".to_owned()));
        }
    }
    if let Some(text) = text("max_in_flight") {
        let within = text.parse().ok().filter(|count| (1..=1000).contains(count));
        settings.in_flight = within.ok_or_else(|| bad("max_in_flight", format!("is {text}, but must be 1 to 1000")))?;
    }
    Ok(Some(settings))
}

/// The broker's systems, from the layers of a configuration.
pub(super) fn read(layers: &Figment, explain: impl Fn(&Error) -> ConfigError) -> Result<SettingsBySystem, ConfigError> {
    let mut all = SettingsBySystem::new();
    for system in used_by(UsedBy::Broker) {
        let Ok(value) = layers.find_value(system.name) else { continue };
        let Some(given) = value.as_dict() else {
            return Err(ConfigError::new(system.name, "must be a section; docs/configuration.md lists its keys"));
        };
        let known = system.settings();
        if let Some(unknown) = given.keys().find(|key| !known.iter().any(|setting| setting.name == **key)) {
            let key = format!("{}.{unknown}", system.name);
            return Err(explain(&Error::from(Kind::UnknownField(key, &[]))));
        }
        let mut section = Section::new();
        for setting in known.into_iter().filter(|setting| given.contains_key(setting.name)) {
            let key = format!("{}.{}", system.name, setting.name);
            let text = if setting.is_number {
                layers.extract_inner_lossy::<u64>(&key).map(|number| number.to_string().into())
            } else {
                layers.extract_inner_lossy::<raw::Secret>(&key).map(|raw::Secret(text)| text)
            };
            section.insert(setting.name, text.map_err(|error| explain(&error))?);
        }
        if let Some(settings) = read_section(system, &section)? {
            all.insert(system.name, settings);
        }
    }
    Ok(all)
}

/// A layer with nothing but the sections of the broker's systems, or without them.
pub(super) struct Part<'a> {
    pub(super) layer: &'a dyn Provider,
    pub(super) of_systems: bool,
}

impl Provider for Part<'_> {
    fn metadata(&self) -> Metadata {
        self.layer.metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let mut data = self.layer.data()?;
        for dict in data.values_mut() {
            dict.retain(|key, _| used_by(UsedBy::Broker).any(|system| system.name == key.as_str()) == self.of_systems);
        }
        Ok(data)
    }
}
