//! What Shoots are rendered from besides the Runtime: configuration, audit tenants, maintenance windows.
//!
//! Swapped whole when the files change; a file that is wrong leaves the old one in force. Every question is
//! answered from one state, so a hash and the Shoot rendered with it never come from different files.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::Value;
use slipway_kube::{Runtime, runtime::OidcConfig};

use crate::{
    config::{AclAddresses, AuditTenants, ConverterConfig, MaintenanceWindows, OidcProvider, Switches},
    render::{self, RegistrySecret, RenderError, RenderInput},
};

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// One cannot be read.
    #[error("{path} cannot be read: {problem}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        problem: std::io::Error,
    },
    /// One is wrong.
    #[error("{path}: {problem}")]
    Wrong {
        /// Which.
        path: String,
        /// What.
        problem: crate::config::ConfigError,
    },
}

/// One consistent state of the files.
#[derive(Debug, Clone)]
pub struct Files {
    /// The configuration.
    pub config: ConverterConfig,
    /// Where audit logs go.
    pub audit: AuditTenants,
    /// When clusters may be maintained.
    pub windows: MaintenanceWindows,
}

impl Files {
    /// Reads them: the configuration, and those it names.
    pub fn load(path: &Path, switches: Switches) -> Result<Self, LoadError> {
        let text = read(path)?;
        let wrong = |path: &Path| {
            let path = path.display().to_string();
            move |problem| LoadError::Wrong { path, problem }
        };
        let (mut config, unknown) = ConverterConfig::parse(&text).map_err(wrong(path))?;
        if !unknown.is_empty() {
            tracing::warn!(
                members = unknown.join(", "),
                "the configuration has members nobody knows; they are ignored"
            );
        }
        config.switches = switches;
        config.check_switches().map_err(wrong(path))?;
        let (tenants, windows) = named_by(&config, path);
        let audit = AuditTenants::parse(&read(&tenants)?).map_err(wrong(&tenants))?;
        let windows = match windows {
            None => MaintenanceWindows::default(),
            Some(named) => MaintenanceWindows::parse(&read(&named)?).map_err(wrong(&named))?,
        };
        Ok(Self { config, audit, windows })
    }

    /// Where they stand: the configuration at this path, and those it names.
    pub fn paths(&self, config: &Path) -> Vec<PathBuf> {
        let (tenants, windows) = named_by(&self.config, config);
        [config.to_owned(), tenants].into_iter().chain(windows).collect()
    }
}

/// The files that a configuration at this path names: audit tenants, maintenance windows. A relative path is meant from
/// where the configuration stands, so that the files can move together and nobody's working directory matters.
fn named_by(config: &ConverterConfig, path: &Path) -> (PathBuf, Option<PathBuf>) {
    let beside = |named: &str| path.parent().unwrap_or(Path::new("")).join(named);
    let windows = config.converter.maintenance_window.window_map_path.as_str();
    let windows = Some(windows).filter(|named| !named.is_empty()).map(beside);
    (beside(&config.converter.audit_logging.tenant_config_path), windows)
}

fn read(path: &Path) -> Result<String, LoadError> {
    std::fs::read_to_string(path).map_err(|problem| LoadError::Unreadable { path: path.display().to_string(), problem })
}

/// What Shoots are rendered from now. The files and the addresses come from different places at different times; so each is
/// swapped by itself, and none can take the other with it.
pub struct Blueprints(RwLock<Sources>);

#[derive(Clone)]
struct Sources {
    files: Arc<Files>,
    /// Addresses that may always reach API servers.
    acl: Arc<AclAddresses>,
}

impl Blueprints {
    /// These files, and no addresses yet.
    pub fn new(files: Files) -> Self {
        Self(RwLock::new(Sources { files: Arc::new(files), acl: Arc::default() }))
    }

    fn sources(&self) -> Sources {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files in force.
    pub fn files(&self) -> Arc<Files> {
        self.sources().files
    }

    /// The addresses in force.
    pub fn acl(&self) -> Arc<AclAddresses> {
        self.sources().acl
    }

    /// Other files from now on, with the same addresses.
    pub fn swap_files(&self, files: Files) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).files = Arc::new(files);
    }

    /// Other addresses from now on, with the same files.
    pub fn swap_acl(&self, acl: AclAddresses) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).acl = Arc::new(acl);
    }

    /// The hash of everything the Shoot of this Runtime is made from.
    pub fn input_hash(&self, runtime: &Runtime, registry: &[RegistrySecret]) -> String {
        render::input_hash(&input(&self.sources(), runtime, registry, None))
    }

    /// The Shoot of this Runtime, and what it does not get although it asks for it.
    pub fn render(
        &self,
        runtime: &Runtime,
        registry: &[RegistrySecret],
        existing: Option<&Value>,
    ) -> Result<(Value, Vec<String>), RenderError> {
        let shoot = render::render(&input(&self.sources(), runtime, registry, existing))?;
        let notes = shoot.notes().iter().map(|note| format!("{}: {}", note.path, note.message)).collect();
        Ok((shoot.into_value(), notes))
    }

    /// The operators' login: name of the ConfigMap, and its content.
    pub fn structured_auth(&self, runtime: &Runtime) -> Result<(String, String), RenderError> {
        render::structured_auth_config(runtime, &self.files().config)
    }

    /// Whether its audit log has somewhere to go.
    pub fn has_audit_tenant(&self, runtime: &Runtime) -> bool {
        let shoot = &runtime.spec.shoot;
        self.files().audit.find(shoot.provider.provider_type, &shoot.region).is_some()
    }

    /// The customers' login where a Runtime names none.
    pub fn shared_tenant(&self) -> OidcConfig {
        let files = self.files();
        // Without `..`: a new member must be handled here.
        let OidcProvider { client_id, groups_claim, issuer_url, signing_algs, username_claim, username_prefix } =
            files.config.cluster.default_shared_ias_tenant.clone();
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        OidcConfig {
            client_id: given(client_id),
            issuer_url: given(issuer_url),
            groups_claim: given(groups_claim),
            username_claim: given(username_claim),
            username_prefix: given(username_prefix),
            signing_algs,
            ..OidcConfig::default()
        }
    }
}

fn input<'a>(
    Sources { files, acl }: &'a Sources,
    runtime: &'a Runtime,
    registry_secrets: &'a [RegistrySecret],
    existing: Option<&'a Value>,
) -> RenderInput<'a> {
    let shoot = &runtime.spec.shoot;
    RenderInput {
        runtime,
        config: &files.config,
        audit: files.audit.find(shoot.provider.provider_type, &shoot.region),
        window: files.windows.find(&shoot.region),
        acl,
        registry_secrets,
        existing,
    }
}
