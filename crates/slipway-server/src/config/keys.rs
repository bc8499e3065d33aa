//! The table of configuration keys: the reference page is made from it, a wrong key is compared
//! with it, and a test holds it against the types that read the values.

use std::{borrow::Cow, fmt::Write, sync::LazyLock};

use slipway_clients::UsedBy;

use super::systems;

/// One key.
pub struct Key {
    /// Dotted name; `<id>` stands for a name the operator chooses.
    pub name: Cow<'static, str>,
    /// The default as text; none if there is none.
    pub default: Option<Cow<'static, str>>,
    /// Its value may not be printed, nor given by a flag that every user of the machine can read.
    pub is_secret: bool,
    /// What it does, and why one would change it.
    pub about: Cow<'static, str>,
}

const fn key(name: &'static str, default: &'static str, about: &'static str) -> Key {
    Key {
        name: Cow::Borrowed(name),
        default: Some(Cow::Borrowed(default)),
        is_secret: false,
        about: Cow::Borrowed(about),
    }
}

const fn without_default(name: &'static str, about: &'static str) -> Key {
    Key { name: Cow::Borrowed(name), default: None, is_secret: false, about: Cow::Borrowed(about) }
}

const fn secret(name: &'static str, about: &'static str) -> Key {
    Key { name: Cow::Borrowed(name), default: None, is_secret: true, about: Cow::Borrowed(about) }
}

/// Our own keys, in the order of the reference page; those of outside systems follow them.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    secret("database.url", "Required. `postgres://user:password@host:5432/name` for any number of replicas, or `sqlite:path` for one."),
    key("database.max_connections", "8", "PostgreSQL connections of this replica, 2 to 1000; one more listens for hints. Four to eight are enough for two cores. SQLite has one writer and ignores it."),
    without_default("secrets.active_key", "Required. Id of the key that encrypts new secrets; older ones are encrypted anew under it in the background."),
    secret("secrets.keys.<id>", "At least one. A key of 32 bytes as 64 hexadecimal digits (`openssl rand -hex 32`), in quotes when it stands in a file. Keep an old key until nothing is encrypted with it. Ids given by environment are lower case."),
    key("listen", "127.0.0.1:8080", "Address and port of the API. Port 0 takes any free one."),
    secret("auth.token", "The bearer token of the operator API: 16 to 4096 printable characters without spaces. This or `auth.token_file` is required."),
    without_default("auth.token_file", "A file with the token, read at start; white space around it is cut off."),
    key("engine.heartbeat", "1s", "How often this replica says that it lives. Must be less than `engine.lease`; less than half of it bears a lost one."),
    key("engine.lease", "2.5s", "A replica whose heartbeat stands still for this long is given up, and its operations are taken over."),
    key("engine.poll", "1s", "How often to look for due operations when nobody gives a hint: the safety net."),
    key("engine.park_memory_max", "1m", "Waits up to this long keep lease and stage memory, so the stage need not start over."),
    key("engine.grace", "10s", "How long a stop waits for running steps and requests."),
    key("engine.group_max", "256", "How many finished steps are written in one transaction at most, 1 to 10000."),
    key("engine.retention", "336h", "How long the flight recorder remembers ended operations."),
    key("engine.slots.provision", "64", "Provisionings whose steps run at the same time, 1 to 10000. Waiting ones do not count."),
    key("engine.slots.deprovision", "64", "The same for deprovisionings."),
    key("engine.slots.update", "64", "The same for updates."),
    key("engine.slots.upgrade", "64", "The same for upgrades."),
    key("operation.timeout", "24h", "Upper bound for the budget of an operation; its process may allow less. Counts for operations accepted from now on."),
    key("steps.disabled", "[]", "Names of steps that are not run. By environment or flag: separated by commas."),
    key("log.format", "text", "`text` for people, `json` for collectors. Logs go to standard error."),
    key("log.level", "info", "`error`, `warn`, `info`, `debug` or `trace`, also per part: `info,slipway_engine=debug`."),
];

/// Every key: our own, and those that the rows of the broker's outside systems bring.
pub fn all() -> impl Iterator<Item = &'static Key> {
    static OF_SYSTEMS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let keys = systems::used_by(UsedBy::Broker).flat_map(|system| {
            system.settings().into_iter().map(|setting| Key {
                name: format!("{}.{}", system.name, setting.name).into(),
                default: setting.default.map(Cow::Owned),
                is_secret: setting.is_secret,
                about: setting.about.into(),
            })
        });
        keys.collect()
    });
    KEYS.iter().chain(OF_SYSTEMS.iter())
}

impl Key {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("SLIPWAY_{}", self.name.replace('.', "__").to_uppercase())
    }

    /// Whether a dotted name is this key, whatever stands for `<id>`.
    pub fn is(&self, name: &str) -> bool {
        match self.name.strip_suffix("<id>") {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|id| !id.is_empty() && !id.contains('.')),
            None => self.name == name,
        }
    }
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.is(name))
}

/// The known key that is nearest to a wrong one, if any is near.
pub fn nearest(wrong: &str) -> Option<&'static str> {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    all()
        .map(|key| {
            // A key in the wrong section is as likely as a misspelt one.
            let elsewhere = if last(&key.name) == wrong.rsplit('.').next().unwrap_or(wrong) { 1 } else { usize::MAX };
            (distance(&key.name, wrong).min(elsewhere), &*key.name)
        })
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .map(|(_, name)| name)
}

/// Levenshtein's distance: insertions, removals and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The reference page `docs/configuration.md`.
pub fn reference() -> String {
    let mut page = String::from(
        "# Configuration of `slipway serve`\n\n\
         Made from the table of keys in `crates/slipway-server/src/config/keys.rs` and the table of outside systems in \
         `crates/slipway-clients/src/lib.rs`; `UPDATE=1 cargo test -p slipway-server` rewrites it.\n\n\
         Values come from three layers; a later one wins over an earlier one:\n\n\
         1. the YAML file given with `--config`,\n\
         2. environment variables: `SLIPWAY_`, then the key in upper case with `__` for each dot,\n\
         3. flags: `--listen`, and `--set key=value` for every key that is not secret.\n\n\
         Unknown keys are refused, and so are values that contradict each other; the message names the key and the layer.\n\
         `slipway config check` tells without starting anything. Durations are written like `1h30m`, `10s` or `250ms`.\n\
         Variables that Kubernetes makes for a service named `slipway` (`SLIPWAY_SERVICE_*`, `SLIPWAY_PORT*`), those of the\n\
         command line (`SLIPWAY_API_URL`, `SLIPWAY_API_TOKEN_FILE`) and of tests (`SLIPWAY_PG_URL`), are not configuration and are passed over.\n\n\
         | Key | Default | Variable | Meaning |\n|---|---|---|---|\n",
    );
    for key in all() {
        let default = key.default.as_ref().map_or_else(|| "none".to_owned(), |default| format!("`{default}`"));
        let secret = if key.is_secret { " **Secret**: never printed, and not accepted as a flag." } else { "" };
        let (name, variable, about) = (&key.name, key.variable(), &key.about);
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{name}` | {default} | `{variable}` | {about}{secret} |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_suggested_only_when_it_is_near() {
        assert_eq!(nearest("engine.heartbeet"), Some("engine.heartbeat"));
        assert_eq!(nearest("database.uri"), Some("database.url"));
        assert_eq!(nearest("heartbeat"), Some("engine.heartbeat"));
        assert_eq!(nearest("completely.different_thing"), None);
    }

    #[test]
    fn names_are_unique_and_every_key_says_what_it_does() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..index].iter().all(|other| other.name != key.name), "{} stands twice", key.name);
            assert!(key.about.ends_with('.'), "{}", key.name);
        }
        assert!(find("secrets.keys.k1").is_some_and(|key| key.is_secret));
    }
}
