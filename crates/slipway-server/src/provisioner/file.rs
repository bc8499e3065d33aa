//! What an operator sets about the provisioner: one YAML file. Secrets stand in files of their own, and
//! everything that is not understood is refused.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use secrecy::SecretString;
use serde::Deserialize;
use slipway_clients::{BaseUrl, oauth::Credentials};
use slipway_model::ports::{Clock, Transport};
use slipway_provisioner::{
    Deadlines, Settings,
    auth::{Issuer, KeySet, Keys},
};

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

/// The file.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where its figures are for Prometheus, under `/metrics`; nowhere if this is null.
    pub metrics: Option<SocketAddr>,
    /// What holds for requests.
    pub settings: Settings,
    /// How long stages may take.
    pub deadlines: Deadlines,
    /// The registry of runtimes; none without.
    pub director: Option<DirectorFile>,
    /// Who installs Kyma: the Reconciler at this address. The Lifecycle Manager if there is none.
    pub reconciler_url: Option<String>,
    /// The release channel of the Lifecycle Manager.
    pub channel: String,
    /// Whose tokens are taken.
    pub issuers: Vec<IssuerFile>,
    /// Services of brokers whose address begins like this are removed before their cluster.
    pub cleanup_prefix: String,
}

impl Default for File {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            metrics: Some(SocketAddr::from(([127, 0, 0, 1], 9000))),
            settings: Settings::default(),
            deadlines: Deadlines::default(),
            director: None,
            reconciler_url: None,
            channel: "regular".to_owned(),
            issuers: Vec::new(),
            cleanup_prefix: "https://service-manager.".to_owned(),
        }
    }
}

/// The Director.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectorFile {
    /// Its GraphQL.
    pub url: String,
    /// Where its tokens are.
    pub token_url: String,
    /// Our id there.
    pub client_id: String,
    /// The file with our secret there.
    #[serde(default)]
    pub client_secret_file: Option<PathBuf>,
    /// The secret itself; only a landscape on one machine gives it like this.
    #[serde(skip)]
    pub client_secret: Option<SecretString>,
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
    /// The file with its keys, as JWKS.
    #[serde(default)]
    pub jwks_file: Option<PathBuf>,
    /// Where its keys are, as JWKS.
    #[serde(default)]
    pub jwks_url: Option<String>,
}

/// Who installs Kyma.
pub enum InstallerFile {
    /// The Reconciler at this address.
    Reconciler(BaseUrl),
    /// The Lifecycle Manager.
    LifecycleManager {
        /// The release channel.
        channel: String,
    },
}

impl File {
    /// Reads it.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let named = |problem: String| FileError::new(path.display().to_string(), problem);
        let text = fs::read_to_string(path).map_err(|error| named(format!("cannot be read: {error}")))?;
        // What follows the first line of the reader's complaint is a picture of the place.
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let file: Self = serde_saphyr::from_str(&text).map_err(|error| named(first(&error.to_string())))?;
        if file.issuers.is_empty() {
            return Err(named("issuers is empty; name at least one, or nobody can come in".to_owned()));
        }
        Ok(file)
    }

    pub(super) fn director(&self) -> Result<Option<(BaseUrl, Credentials)>, FileError> {
        let Some(director) = &self.director else { return Ok(None) };
        let url = |key: &str, text: &str| {
            text.parse::<BaseUrl>().map_err(|error| FileError::new(format!("director.{key}"), error.to_string()))
        };
        let secret = match (&director.client_secret, &director.client_secret_file) {
            (Some(secret), _) => secret.clone(),
            (None, Some(path)) => {
                let key = "director.client_secret_file";
                let text = fs::read_to_string(path);
                let text =
                    text.map_err(|error| FileError::new(key, format!("{} cannot be read: {error}", path.display())))?;
                SecretString::from(text.trim())
            }
            (None, None) => return Err(FileError::new("director.client_secret_file", "is missing")),
        };
        let token_url = url("token_url", &director.token_url)?;
        let credentials = super::credentials(token_url, director.client_id.clone(), secret);
        Ok(Some((url("url", &director.url)?, credentials)))
    }

    pub(super) fn installer(&self) -> Result<InstallerFile, FileError> {
        match &self.reconciler_url {
            None => Ok(InstallerFile::LifecycleManager { channel: self.channel.clone() }),
            Some(url) => match url.parse() {
                Ok(url) => Ok(InstallerFile::Reconciler(url)),
                Err(error) => Err(FileError::new("reconciler_url", format!("{error}"))),
            },
        }
    }

    pub(super) fn issuers(&self, wire: &Arc<dyn Transport>, clock: &Arc<dyn Clock>) -> Result<Vec<Issuer>, FileError> {
        self.issuers.iter().map(|issuer| issuer.open(wire, clock)).collect()
    }
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
        Ok(Issuer { name, audience, prefix, keys })
    }
}

#[cfg(test)]
mod tests {
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
        assert!(matches!(file.installer(), Ok(InstallerFile::LifecycleManager { .. })));
        assert!(file.director().expect("none").is_none());
        let empty = load("listen: 127.0.0.1:0\n").expect_err("nobody can come in").to_string();
        assert!(empty.contains("issuers is empty"), "{empty}");
        let misspelt = load(&format!("{issuer}directr: 1\n")).expect_err("unknown").to_string();
        assert!(misspelt.contains("directr"), "{misspelt}");
    }

    #[test]
    fn a_director_needs_its_secret_in_a_file() {
        let director = DirectorFile {
            url: "https://director.example/graphql".to_owned(),
            token_url: "https://director.example/oauth2/token".to_owned(),
            client_id: "slipway".to_owned(),
            client_secret_file: None,
            client_secret: None,
        };
        let file = File { director: Some(director), ..File::default() };
        let error = file.director().map(drop).expect_err("no secret").to_string();
        assert_eq!(error, "director.client_secret_file: is missing");
    }
}
