//! The configuration as it is used: checked together, so that whoever holds [`Settings`] need not
//! ask again.

use std::{collections::BTreeMap, net::SocketAddr, ops::RangeInclusive, path::PathBuf, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use slipway_clients::SettingsBySystem;
use slipway_engine::{EngineConfig, Slots};

use super::{
    ConfigError, LogFormat,
    raw::{self, Raw},
};

/// Everything a server needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The database.
    pub database: Database,
    /// Keys for secrets at rest.
    pub keys: Keys,
    /// Where the API listens.
    pub listen: SocketAddr,
    /// The bearer token of the operator API.
    pub token: SecretString,
    /// The engine.
    pub engine: EngineConfig,
    /// Upper bound for the budget of an operation.
    pub operation_timeout: Duration,
    /// Steps that are not run.
    pub disabled_steps: Vec<String>,
    /// The outside systems of the broker.
    pub systems: SettingsBySystem,
    /// Log lines.
    pub log: Log,
}

/// Which database.
#[derive(Debug, Clone)]
pub enum Database {
    /// Any number of replicas.
    Postgres {
        /// With user and password.
        url: SecretString,
        /// Connections of this replica.
        max_connections: u32,
    },
    /// One process.
    Sqlite {
        /// The file.
        path: PathBuf,
    },
}

/// Named keys of 32 bytes as hexadecimal text.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Encrypts new secrets.
    pub active: String,
    /// All keys.
    pub by_id: BTreeMap<String, SecretString>,
}

/// How log lines are written.
#[derive(Debug, Clone)]
pub struct Log {
    /// For people or for collectors.
    pub format: LogFormat,
    /// Which lines.
    pub level: String,
}

impl Settings {
    pub(super) fn of(raw: Raw, systems: SettingsBySystem) -> Result<Self, ConfigError> {
        // Without `..`: a new key must be handled here.
        let Raw { database, secrets, listen, auth, engine, operation, steps, log } = raw;
        if operation.timeout.get().is_zero() {
            return Err(ConfigError::new("operation.timeout", "is zero; nothing could ever succeed"));
        }
        Ok(Self {
            database: database_of(database)?,
            keys: keys_of(secrets)?,
            listen,
            token: token_of(auth)?,
            engine: engine_of(engine)?,
            operation_timeout: operation.timeout.get(),
            disabled_steps: steps.disabled.0,
            systems,
            log: log_of(log)?,
        })
    }
}

fn database_of(raw: raw::Database) -> Result<Database, ConfigError> {
    let raw::Database { url, max_connections } = raw;
    let max_connections = within("database.max_connections", max_connections, 2..=1000)?;
    let key = "database.url";
    let Some(raw::Secret(url)) = url else {
        return Err(ConfigError::new(key, "is missing; give postgres://user:password@host:5432/name or sqlite:path"));
    };
    let text = url.expose_secret();
    if let Some(path) = text.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path.contains(['?', '\0']) {
            return Err(ConfigError::new(key, "names no file; write sqlite:path/to/slipway.db"));
        }
        return Ok(Database::Sqlite { path: PathBuf::from(path) });
    }
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Ok(Database::Postgres { url, max_connections });
    }
    Err(ConfigError::new(key, "is neither postgres://user:password@host:5432/name nor sqlite:path"))
}

fn keys_of(raw: raw::Secrets) -> Result<Keys, ConfigError> {
    let raw::Secrets { active_key, keys } = raw;
    let Some(active) = active_key else {
        return Err(ConfigError::new("secrets.active_key", "is missing; give the id of one of secrets.keys"));
    };
    for (id, raw::Secret(key)) in &keys {
        let text = key.expose_secret();
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let problem = format!(
                "must be 64 hexadecimal digits, but has {} characters; make one with: openssl rand -hex 32",
                text.chars().count()
            );
            return Err(ConfigError::new(&format!("secrets.keys.{id}"), problem));
        }
    }
    if !keys.contains_key(&active) {
        let known: Vec<_> = keys.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "no key at all".to_owned() } else { format!("only {}", known.join(", ")) };
        return Err(ConfigError::new("secrets.active_key", format!("is {active:?}, but secrets.keys has {known}")));
    }
    Ok(Keys { active, by_id: keys.into_iter().map(|(id, raw::Secret(key))| (id, key)).collect() })
}

fn token_of(raw: raw::Auth) -> Result<SecretString, ConfigError> {
    let raw::Auth { token, token_file } = raw;
    let (key, token) = match (token, token_file) {
        (Some(_), Some(_)) => {
            return Err(ConfigError::new("auth.token", "is given together with auth.token_file; give one of them"));
        }
        (None, None) => {
            return Err(ConfigError::new(
                "auth.token",
                "is missing, and so is auth.token_file; the API is never open: give one of them",
            ));
        }
        (Some(raw::Secret(token)), None) => ("auth.token", token),
        (None, Some(path)) => match std::fs::read_to_string(&path) {
            Ok(text) => ("auth.token_file", SecretString::from(text.trim())),
            Err(error) => {
                return Err(ConfigError::new("auth.token_file", format!("{path} cannot be read: {error}")));
            }
        },
    };
    let text = token.expose_secret();
    if !(16..=4096).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigError::new(
            key,
            "must hold 16 to 4096 printable ASCII characters without spaces; make one with: openssl rand -hex 32",
        ));
    }
    Ok(token)
}

fn engine_of(raw: raw::Engine) -> Result<EngineConfig, ConfigError> {
    let raw::Engine { heartbeat, lease, poll, park_memory_max, grace, group_max, retention, slots } = raw;
    for (key, duration) in [
        ("engine.heartbeat", heartbeat),
        ("engine.lease", lease),
        ("engine.poll", poll),
        ("engine.grace", grace),
        ("engine.retention", retention),
    ] {
        if duration.get().is_zero() {
            return Err(ConfigError::new(key, "is zero; it must be longer"));
        }
    }
    if heartbeat >= lease {
        return Err(ConfigError::new(
            "engine.heartbeat",
            format!("is {heartbeat}, but must be shorter than engine.lease, which is {lease}"),
        ));
    }
    let raw::Slots { provision, deprovision, update, upgrade } = slots;
    let count = |class: &str, count| within(&format!("engine.slots.{class}"), count, 1..=10_000);
    Ok(EngineConfig {
        slots: Slots {
            provision: count("provision", provision)?,
            deprovision: count("deprovision", deprovision)?,
            update: count("update", update)?,
            upgrade: count("upgrade", upgrade)?,
        },
        heartbeat: heartbeat.get(),
        lease: lease.get(),
        poll: poll.get(),
        park_memory_max: park_memory_max.get(),
        grace: grace.get(),
        group_max: within("engine.group_max", group_max, 1..=10_000)?,
        retention: retention.get(),
        ..EngineConfig::default()
    })
}

fn log_of(raw: raw::Log) -> Result<Log, ConfigError> {
    let raw::Log { format, level } = raw;
    match level.parse::<tracing_subscriber::filter::Targets>() {
        Ok(_) => Ok(Log { format, level }),
        Err(_) => Err(ConfigError::new(
            "log.level",
            format!("is {level:?}, but must look like info or info,slipway_engine=debug"),
        )),
    }
}

fn within<N: PartialOrd + std::fmt::Display + Copy>(
    key: &str,
    number: N,
    range: RangeInclusive<N>,
) -> Result<N, ConfigError> {
    if range.contains(&number) {
        return Ok(number);
    }
    Err(ConfigError::new(key, format!("is {number}, but must be {} to {}", range.start(), range.end())))
}
