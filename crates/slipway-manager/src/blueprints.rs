//! What Shoots are rendered from besides the Runtime: configuration, audit tenants, maintenance windows.
//!
//! Swapped whole when the files change; a file that is wrong leaves the old one in force. Every question is
//! answered from one state, so a hash and the Shoot rendered with it never come from different files.

use std::{
    path::Path,
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
    /// Addresses that may always reach API servers.
    pub acl: AclAddresses,
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
        // A relative path is meant from where the configuration stands, so that the files can move together.
        let beside = |named: &str| path.parent().unwrap_or(Path::new("")).join(named);
        let tenants = beside(&config.converter.audit_logging.tenant_config_path);
        let audit = AuditTenants::parse(&read(&tenants)?).map_err(wrong(&tenants))?;
        let windows = match config.converter.maintenance_window.window_map_path.as_str() {
            "" => MaintenanceWindows::default(),
            named => MaintenanceWindows::parse(&read(&beside(named))?).map_err(wrong(&beside(named)))?,
        };
        Ok(Self { config, audit, windows, acl: AclAddresses::default() })
    }
}

fn read(path: &Path) -> Result<String, LoadError> {
    std::fs::read_to_string(path).map_err(|problem| LoadError::Unreadable { path: path.display().to_string(), problem })
}

/// The files in force.
pub struct Blueprints(RwLock<Arc<Files>>);

impl Blueprints {
    /// These.
    pub fn new(files: Files) -> Self {
        Self(RwLock::new(Arc::new(files)))
    }

    /// Those in force.
    pub fn files(&self) -> Arc<Files> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Others from now on.
    pub fn swap(&self, files: Files) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(files);
    }

    /// The hash of everything the Shoot of this Runtime is made from.
    pub fn input_hash(&self, runtime: &Runtime, registry: &[RegistrySecret]) -> String {
        let files = self.files();
        render::input_hash(&input(&files, runtime, registry, None))
    }

    /// The Shoot of this Runtime, and what it does not get although it asks for it.
    pub fn render(
        &self,
        runtime: &Runtime,
        registry: &[RegistrySecret],
        existing: Option<&Value>,
    ) -> Result<(Value, Vec<String>), RenderError> {
        let files = self.files();
        let shoot = render::render(&input(&files, runtime, registry, existing))?;
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
    files: &'a Files,
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
        acl: &files.acl,
        registry_secrets,
        existing,
    }
}
