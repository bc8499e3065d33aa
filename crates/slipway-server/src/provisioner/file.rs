//! What an operator sets about the provisioner: one YAML file. Secrets stand in files of their own, and
//! everything that is not understood is refused.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, de::Error as _};
use slipway_clients::{ConnectionSettings, Credentials, SettingsBySystem, UsedBy, reconciler};
use slipway_model::ports::{Clock, Transport};
use slipway_provisioner::{
    Deadlines, Settings,
    auth::{Issuer, KeySet, Keys, TENANT_CLAIM},
};

use crate::config::systems::{BadSetting, Section, read_section, used_by};

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct FileError {
    key: String,
    problem: String,
}

impl FileError {
    fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }
}

impl From<BadSetting> for FileError {
    fn from(bad: BadSetting) -> Self {
        Self::new(bad.key, bad.problem)
    }
}

/// The file.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct File {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where its figures are for Prometheus, under `/metrics`; nowhere if this is null.
    pub metrics: Option<SocketAddr>,
    /// What holds for requests.
    pub settings: Settings,
    /// How long stages may take.
    pub deadlines: Deadlines,
    /// The Reconciler's address: another way to write the section `reconciler`.
    pub reconciler_url: Option<String>,
    /// The release channel of the Lifecycle Manager.
    pub channel: String,
    /// Whose tokens are taken.
    pub issuers: Vec<IssuerFile>,
    /// Services of brokers whose address begins like this are removed before their cluster.
    pub cleanup_prefix: String,
    /// The outside systems, a section each. Without a Director there is no registry of runtimes; without a
    /// Reconciler the Lifecycle Manager installs Kyma. No other key is taken.
    #[serde(flatten, deserialize_with = "read_systems")]
    pub systems: SettingsBySystem,
}

impl Default for File {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            metrics: Some(SocketAddr::from(([127, 0, 0, 1], 9000))),
            settings: Settings::default(),
            deadlines: Deadlines::default(),
            reconciler_url: None,
            channel: "regular".to_owned(),
            issuers: Vec::new(),
            cleanup_prefix: "https://service-manager.".to_owned(),
            systems: SettingsBySystem::new(),
        }
    }
}

/// Whose tokens are taken.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerFile {
    /// What its tokens have as `iss`.
    pub name: String,
    /// What its tokens must have among `aud`.
    pub audience: String,
    /// What stands before the subject in an identity.
    #[serde(default)]
    pub prefix: String,
    /// The claim of its tokens that says for which tenants they are good.
    #[serde(default = "usual_claim")]
    pub tenant_claim: String,
    /// The file with its keys, as JWKS.
    #[serde(default)]
    pub jwks_file: Option<PathBuf>,
    /// Where its keys are, as JWKS.
    #[serde(default)]
    pub jwks_url: Option<String>,
}

fn usual_claim() -> String {
    TENANT_CLAIM.to_owned()
}

impl File {
    /// Reads it.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let named = |problem: String| FileError::new(path.display().to_string(), problem);
        let text = fs::read_to_string(path).map_err(|error| named(format!("cannot be read: {error}")))?;
        // What follows the first line of the reader's complaint is a picture of the place.
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let mut file: Self = serde_saphyr::from_str(&text).map_err(|error| named(first(&error.to_string())))?;
        if let Some(url) = file.reconciler_url.take() {
            let url = url.parse().map_err(|error| FileError::new("reconciler_url", format!("is no good: {error}")))?;
            let (name, settings) = ConnectionSettings::of::<reconciler::Client>(url, Credentials::None);
            if file.systems.insert(name, settings).is_some() {
                return Err(named("reconciler_url is given together with reconciler; give one of them".to_owned()));
            }
        }
        // A relative path is meant from where the file stands, whatever the working directory is.
        for keys in file.issuers.iter_mut().filter_map(|issuer| issuer.jwks_file.as_mut()) {
            *keys = path.parent().unwrap_or(Path::new("")).join(&*keys);
        }
        if file.issuers.is_empty() {
            return Err(named("issuers is empty; name at least one, or nobody can come in".to_owned()));
        }
        Ok(file)
    }

    pub(super) fn issuers(&self, wire: &Arc<dyn Transport>, clock: &Arc<dyn Clock>) -> Result<Vec<Issuer>, FileError> {
        self.issuers.iter().map(|issuer| issuer.open(wire, clock)).collect()
    }
}

/// Reads whatever is no other key of the file: sections of outside systems, or mistakes.
fn read_systems<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SettingsBySystem, D::Error> {
    let mut all = SettingsBySystem::new();
    for (name, given) in BTreeMap::<String, serde_json::Value>::deserialize(deserializer)? {
        let Some(system) = used_by(UsedBy::Provisioner).find(|system| system.name == name) else {
            return Err(D::Error::custom(format!("there is no key {name}; docs/provisioner.md lists all keys")));
        };
        let given = match given {
            serde_json::Value::Null => continue,
            serde_json::Value::Object(given) => given,
            _ => return Err(D::Error::custom(format!("{name} must be a section; docs/provisioner.md lists its keys"))),
        };
        let (known, mut section) = (system.settings(), Section::new());
        for (key, value) in given {
            let Some(setting) = known.iter().find(|setting| setting.name == key) else {
                return Err(D::Error::custom(format!(
                    "there is no key {name}.{key}; docs/provisioner.md lists all keys"
                )));
            };
            let text = match value {
                _ if setting.is_secret => Err(format!("stands in a file of its own; give {name}.{key}_file")),
                serde_json::Value::String(text) => Ok(text),
                serde_json::Value::Number(number) if setting.is_number => Ok(number.to_string()),
                _ if setting.is_number => Err("must be a whole number".to_owned()),
                _ => Err("must be text; put it in quotes".to_owned()),
            };
            let text = text.map_err(|problem| D::Error::custom(format!("{name}.{key} {problem}")))?;
            section.insert(setting.name, text.into());
        }
        if let Some(settings) = read_section(system, &section).map_err(D::Error::custom)? {
            all.insert(system.name, settings);
        }
    }
    Ok(all)
}

impl IssuerFile {
    fn open(&self, wire: &Arc<dyn Transport>, clock: &Arc<dyn Clock>) -> Result<Issuer, FileError> {
        let wrong = |problem: String| FileError::new(format!("issuers, {}", self.name), problem);
        let keys = match (&self.jwks_file, &self.jwks_url) {
            (Some(path), None) => {
                let text =
                    fs::read(path).map_err(|error| wrong(format!("{} cannot be read: {error}", path.display())))?;
                let keys =
                    KeySet::parse(&text).map_err(|error| wrong(format!("{} is no JWKS: {error}", path.display())))?;
                Keys::Known(Arc::new(keys))
            }
            (None, Some(url)) => {
                let url = url.parse().map_err(|_| wrong("jwks_url is no address".to_owned()))?;
                Keys::fetched(wire.clone(), url, clock.clone())
            }
            _ => return Err(wrong("give either jwks_file or jwks_url".to_owned())),
        };
        let Self { name, audience, prefix, .. } = self.clone();
        Ok(Issuer { name, audience, prefix, tenant_claim: self.tenant_claim.clone(), keys })
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_file_is_read_and_what_is_wrong_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("provisioner.yaml");
        let load = |text: &str| {
            fs::write(&path, text).expect("written");
            File::load(&path)
        };
        let issuer =
            "issuers:\n- name: https://issuer.example\n  audience: slipway\n  jwks_url: https://issuer.example/keys\n";
        let file =
            load(&format!("{issuer}settings:\n  project: dev\ndeadlines:\n  installation: 7200\n")).expect("a file");
        assert_eq!((file.settings.project.as_str(), file.deadlines.installation.as_secs()), ("dev", 7200));
        assert!(file.systems.is_empty(), "no registry, and the Lifecycle Manager installs");
        assert_eq!(file.issuers[0].tenant_claim, "tenants");
        let bound = load(&format!("{issuer}  tenant_claim: accounts\nsettings:\n  tenants: {{ ann: [acme] }}\n"))
            .expect("a file");
        assert_eq!(
            (bound.issuers[0].tenant_claim.as_str(), bound.settings.tenants["ann"][0].as_str()),
            ("accounts", "acme")
        );
        let keys = issuer.replace("jwks_url: https://issuer.example/keys", "jwks_file: keys.json");
        let keys = load(&keys).expect("a file").issuers[0].jwks_file.clone();
        assert_eq!(keys, Some(folder.path().join("keys.json")), "from where the file stands");
        let empty = load("listen: 127.0.0.1:0\n").expect_err("nobody can come in").to_string();
        assert!(empty.contains("issuers is empty"), "{empty}");
        let misspelt = load(&format!("{issuer}directr: 1\n")).expect_err("unknown").to_string();
        assert!(misspelt.contains("directr"), "{misspelt}");
    }

    #[test]
    fn outside_systems_are_read_as_their_table_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, secret) = (folder.path().join("provisioner.yaml"), folder.path().join("secret"));
        fs::write(&secret, "hunter2-hunter2\n").expect("written");
        let load = |text: &str| {
            let issuers =
                "issuers:\n- { name: https://i.example, audience: slipway, jwks_url: https://i.example/keys }\n";
            fs::write(&path, format!("{issuers}{text}")).expect("written");
            File::load(&path).map_err(|error| error.to_string())
        };
        let director =
            "url: https://director.example/graphql, token_url: https://director.example/token, client_id: slipway";
        let with_secret = format!("director: {{ {director}, client_secret_file: {} }}\n", secret.display());
        let file = load(&format!("{with_secret}reconciler_url: https://reconciler.example\n")).expect("a file");
        assert_eq!(file.systems.keys().copied().collect::<Vec<_>>(), ["director", "reconciler"]);
        let Credentials::Client(client) = &file.systems["director"].credentials else { panic!("client credentials") };
        assert_eq!(client.client_secret.expose_secret(), "hunter2-hunter2");
        assert!(!format!("{file:?}").contains("hunter2"), "a secret does not show itself");
        assert!(load("director: null\n").expect("a file").systems.is_empty());
        let reconciler = "reconciler: { url: https://reconciler.example, timeout: 5s, max_in_flight: 4 }\n";
        let file = load(reconciler).expect("a file");
        assert_eq!((file.systems["reconciler"].timeout.as_secs(), file.systems["reconciler"].in_flight), (5, 4));
        for (text, sentence) in [
            (format!("director: {{ {director} }}\n"), "director.client_secret_file: is missing; give the file with"),
            (
                format!("director: {{ {director}, client_secret: hunter2 }}\n"),
                "director.client_secret stands in a file",
            ),
            ("director: { client_id: slipway }\n".to_owned(), "director.url: is missing; give the address of"),
            ("reconciler: { url: nowhere }\n".to_owned(), "reconciler.url: is no good: an address must look like"),
            ("reconciler: { url: 5 }\n".to_owned(), "reconciler.url must be text; put it in quotes"),
            ("reconciler: { urll: http://r }\n".to_owned(), "there is no key reconciler.urll"),
            (format!("{reconciler}reconciler_url: http://r\n"), "reconciler_url is given together with reconciler"),
            ("reconciler: http://r\n".to_owned(), "reconciler must be a section"),
            ("hello: { url: http://h }\n".to_owned(), "there is no key hello"),
        ] {
            let error = load(&text).expect_err(&text);
            assert!(error.contains(sentence) && !error.contains("hunter2"), "{error}");
        }
    }
}
