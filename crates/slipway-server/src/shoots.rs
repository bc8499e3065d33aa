//! Shoots from files: what `slipway render` and `slipway plan` work on, without a running manager.
//!
//! The same rendering as in production with the same files, so that what is shown is what would be
//! sent. Nothing is written anywhere.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_engine::SystemClock;
use slipway_kube::{
    Runtime,
    access::{self, Access, Ask, ConnectError, Options, from_operators_file, resource::SHOOTS},
};
use slipway_manager::{
    AclAddresses, AuditData, ConverterConfig, RenderInput, TimeWindow,
    config::{AuditTenants, ConfigError, MaintenanceWindows},
    render::RegistrySecret,
    secrets_named_by,
};
pub use slipway_manager::{
    RenderError, input_hash,
    plan::{Change, Effect, Plan, plan, projection},
    render::{Note, render},
};

/// The configuration for the landscape of `slipway up`, where no other is named.
const BUILT_IN: &str = include_str!("../../../examples/config/dev/converter_config.json");

/// Which files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The Runtime.
    pub runtime: PathBuf,
    /// The Shoot as it is.
    pub shoot: Option<PathBuf>,
    /// The converter configuration.
    pub config: Option<PathBuf>,
    /// The audit tenants.
    pub audit: Option<PathBuf>,
    /// The maintenance windows.
    pub windows: Option<PathBuf>,
}

/// Why files are of no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// One cannot be read.
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// One is not what it should be.
    #[error("{}: {}", .0.display(), .1)]
    Wrong(PathBuf, String),
    /// A configuration is wrong.
    #[error("{}: {}", .0.display(), .1)]
    Config(PathBuf, ConfigError),
}

/// Why a living Shoot is not known.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kubeconfig is of no use.
    #[error(transparent)]
    Kubeconfig(#[from] ConnectError),
    /// The garden does not answer as it should.
    #[error("the garden does not tell the Shoot {0}")]
    Garden(String, #[source] access::Error),
}

/// What a Shoot is rendered from.
pub struct Loaded {
    runtime: Runtime,
    config: ConverterConfig,
    audit: Option<AuditData>,
    window: Option<TimeWindow>,
    existing: Option<Value>,
    registry: Vec<RegistrySecret>,
    acl: AclAddresses,
    warnings: Vec<String>,
}

impl Loaded {
    /// Reads all files.
    pub fn read(files: &Files) -> Result<Self, FileError> {
        let mut warnings = Vec::new();
        let runtime: Runtime = typed(&files.runtime, &document(&files.runtime, "Runtime")?)?;
        let shoot = files.shoot.as_deref().map(|path| document(path, "Shoot")).transpose()?;
        let config = match &files.config {
            Some(path) => {
                ConverterConfig::parse(&text(path)?).map_err(|error| FileError::Config(path.clone(), error))?
            }
            None => ConverterConfig::parse(BUILT_IN).map_err(|error| FileError::Config("(built in)".into(), error))?,
        };
        let (config, unknown) = config;
        warnings
            .extend(unknown.iter().map(|path| format!("{path} in the configuration is not known and has no effect")));
        let cluster = &runtime.spec.shoot;
        let (provider, region) = (cluster.provider.provider_type, &cluster.region);
        let audit = match &files.audit {
            Some(path) => AuditTenants::parse(&text(path)?)
                .map_err(|error| FileError::Config(path.clone(), error))?
                .find(provider, region)
                .cloned(),
            None => None,
        };
        if files.audit.is_some() && audit.is_none() {
            warnings.push(format!("there is no audit tenant for {provider} in {region}; rendered without audit log"));
        }
        let window = match &files.windows {
            Some(path) => MaintenanceWindows::parse(&text(path)?)
                .map_err(|error| FileError::Config(path.clone(), error))?
                .find(region)
                .cloned(),
            None => None,
        };
        let acl = AclAddresses::default();
        let new = Self { runtime, config, audit, window, existing: None, registry: Vec::new(), acl, warnings };
        Ok(new.with(shoot))
    }

    /// An example with the built-in configuration, for measurements.
    pub fn example(runtime: &str, existing: Option<Value>) -> Result<Self, FileError> {
        let (config, _) =
            ConverterConfig::parse(BUILT_IN).map_err(|error| FileError::Config("(built in)".into(), error))?;
        let runtime = serde_saphyr::from_str(runtime)
            .map_err(|error| FileError::Wrong("(an example)".into(), error.to_string()))?;
        let acl = AclAddresses::default();
        let (audit, window, registry, warnings) = (None, None, Vec::new(), Vec::new());
        Ok(Self { runtime, config, audit, window, existing: None, registry, acl, warnings }.with(existing))
    }

    /// The same with this Shoot, and the credentials of registry caches that it names.
    fn with(mut self, existing: Option<Value>) -> Self {
        let caches = &self.runtime.spec.image_registry_cache;
        self.registry = existing.as_ref().map(|shoot| secrets_named_by(shoot, caches)).unwrap_or_default();
        self.existing = existing;
        self
    }

    /// What is odd but no error.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The Shoot as it is.
    pub fn existing(&self) -> Option<&Value> {
        self.existing.as_ref()
    }

    /// For rendering and planning.
    pub fn input(&self) -> RenderInput<'_> {
        RenderInput {
            runtime: &self.runtime,
            config: &self.config,
            audit: self.audit.as_ref(),
            window: self.window.as_ref(),
            acl: &self.acl,
            registry_secrets: &self.registry,
            existing: self.existing.as_ref(),
        }
    }

    /// Asks a garden for the Shoot as it is; there may be none.
    pub async fn ask_garden(self, kubeconfig: &Path) -> Result<Self, LiveError> {
        // One provider in the whole process; a second caller finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = from_operators_file(kubeconfig).await?;
        let garden = Access::new(client, Options::new("garden", Arc::new(SystemClock::default())));
        let name = &self.runtime.spec.shoot.name;
        let found = garden.find(Ask::get(&SHOOTS, &self.config.namespace(), name)).await;
        let shoot = found.map_err(|error| LiveError::Garden(name.clone(), error))?;
        Ok(self.with(shoot))
    }
}

fn text(path: &Path) -> Result<String, FileError> {
    std::fs::read_to_string(path).map_err(|error| FileError::Unreadable(path.to_owned(), error))
}

/// The one object of a kind in a file of YAML or JSON.
fn document(path: &Path, kind: &str) -> Result<Value, FileError> {
    let wrong = |message: String| FileError::Wrong(path.to_owned(), message);
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text(path)?).map_err(|error| wrong(error.to_string()))?;
    let mut found = documents.into_iter().filter(|document| document["kind"] == kind);
    match (found.next(), found.next()) {
        (Some(document), None) => Ok(document),
        (None, _) => Err(wrong(format!("there is no {kind} in it; it needs `kind: {kind}`"))),
        (Some(_), Some(_)) => {
            Err(wrong(format!("there is more than one {kind} in it; put each into a file of its own")))
        }
    }
}

fn typed<T: DeserializeOwned>(path: &Path, document: &Value) -> Result<T, FileError> {
    // Through YAML once more: its reader tells the field, which the one of JSON values does not.
    serde_saphyr::from_str(&document.to_string()).map_err(|error| FileError::Wrong(path.to_owned(), error.to_string()))
}
