//! What an operator may set about the GraphQL side. The server reads it from its one file; every
//! value has a default that is safe on a laptop and in production.
//!
//! The switches under `compat` turn habits of the reference on or off; each says which.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use slipway_kube::runtime::{ProviderType, Raw};
use slipway_model::time::{hours, mins};

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The Gardener project all clusters lie in.
    pub project: String,
    /// The namespace of Runtime resources and kubeconfig Secrets.
    pub namespace: String,
    /// What happens when a caller names another tenant than the stored one.
    pub tenant_policy: TenantPolicy,
    /// Identities that may act for every tenant and move a runtime to another one: the broker's.
    pub trusted_callers: Vec<String>,
    /// Scopes of callers whose tokens carry none, by identity: service accounts of Kubernetes.
    pub scopes: BTreeMap<String, Vec<String>>,
    /// Tenants of callers whose tokens carry none, by identity; `*` is every one.
    pub tenants: BTreeMap<String, Vec<String>>,
    /// For how long a repeated provisioning is answered with the first one, in seconds.
    pub idempotency_window_seconds: u64,
    /// For how long a removed runtime is remembered, in days.
    pub retention_days: u64,
    /// Whether clients may ask for the schema.
    pub introspection: bool,
    /// What is taken for a missing value.
    pub defaults: Defaults,
    /// How much is too much.
    pub limits: Limits,
    /// What no cluster may use.
    pub networking: Networking,
    /// The agent in the clusters.
    pub agent: Agent,
    /// Habits of the reference.
    pub compat: Compat,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            project: "slipway".to_owned(),
            namespace: "kcp-system".to_owned(),
            tenant_policy: TenantPolicy::ReassignTrusted,
            trusted_callers: Vec::new(),
            scopes: BTreeMap::new(),
            tenants: BTreeMap::new(),
            idempotency_window_seconds: hours(24).as_secs(),
            retention_days: 90,
            introspection: true,
            defaults: Defaults::default(),
            limits: Limits::default(),
            networking: Networking::default(),
            agent: Agent::default(),
            compat: Compat::default(),
        }
    }
}

impl Settings {
    /// For how long a repeated provisioning is answered with the first one.
    pub fn idempotency_window(&self) -> Duration {
        Duration::from_secs(self.idempotency_window_seconds)
    }

    /// For how long a removed runtime is remembered.
    pub fn retention(&self) -> Duration {
        Duration::from_secs(self.retention_days.saturating_mul(86_400))
    }
}

/// What happens when a caller names another tenant than the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TenantPolicy {
    /// A trusted caller moves the runtime with its next mutation: customers may move a subaccount.
    ReassignTrusted,
    /// Everybody is refused.
    Strict,
}

/// What is taken for a missing value; what else differs by cloud stands in its data file.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// Kubernetes version.
    pub kubernetes_version: String,
    /// Purpose.
    pub purpose: String,
    /// Least number of machines.
    pub auto_scaler_min: i32,
    /// Greatest number of machines.
    pub auto_scaler_max: i32,
    /// Addresses of nodes; the range the reference used.
    pub worker_cidr: String,
    /// Addresses of pods.
    pub pods_cidr: String,
    /// Addresses of services.
    pub services_cidr: String,
    /// Gardener raises the Kubernetes version.
    pub kubernetes_version_auto_update: bool,
    /// Gardener raises the machine image version.
    pub machine_image_version_auto_update: bool,
    /// What a request says for its cloud where it is silent.
    pub clouds: CloudDefaults,
    /// The components of Kyma Lite, in order.
    pub lite_components: Vec<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        let lite = ["cluster-essentials", "istio", "certificates", "compass-runtime-agent"];
        Self {
            kubernetes_version: "1.33.4".to_owned(),
            purpose: "evaluation".to_owned(),
            auto_scaler_min: 2,
            auto_scaler_max: 4,
            worker_cidr: "10.250.0.0/16".to_owned(),
            pods_cidr: "10.96.0.0/13".to_owned(),
            services_cidr: "10.104.0.0/13".to_owned(),
            kubernetes_version_auto_update: false,
            machine_image_version_auto_update: false,
            clouds: CloudDefaults::default(),
            lite_components: lite.map(str::to_owned).to_vec(),
        }
    }
}

/// What requests say for their cloud where they are silent: by its name, in the words of its block.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<ProviderType, Raw>")]
pub struct CloudDefaults(BTreeMap<ProviderType, Raw>);

impl TryFrom<BTreeMap<ProviderType, Raw>> for CloudDefaults {
    type Error = String;

    fn try_from(blocks: BTreeMap<ProviderType, Raw>) -> Result<Self, String> {
        for (provider, block) in &blocks {
            let requests = provider.cloud().requests.as_ref().ok_or_else(|| format!("{provider} takes no requests"))?;
            requests.understand(block).map_err(|problem| format!("{provider}: {problem}"))?;
        }
        Ok(Self(blocks))
    }
}

impl CloudDefaults {
    /// What is asked for, with what it leaves out.
    pub fn under(&self, provider: ProviderType, asked: Raw) -> Raw {
        let mut all = self.0.get(&provider).cloned().unwrap_or_default();
        all.extend(asked.into_iter().filter(|(_, value)| !value.is_null()));
        all
    }
}

/// How much is too much.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a request. Overrides with certificates are large; ten times the largest seen.
    pub body_bytes: usize,
    /// Levels of a document. The introspection query of GraphiQL has 17.
    pub depth: usize,
    /// Tokens of a document. The broker writes all its components with their overrides inline.
    pub tokens: usize,
    /// Fields of a document, those of fragments once for each use: what may be asked in all.
    pub fields: usize,
    /// Mutations and queries in one document: each costs transactions.
    pub root_fields: usize,
    /// Administrators of a cluster.
    pub administrators: usize,
    /// Least size of a volume, in GiB. Public tests use 30, so there is no minimum unless one is set.
    pub min_volume_gb: Option<i32>,
    /// Errors an operation shows.
    pub errors_shown: usize,
    /// WebSockets at once: whoever opens one has not shown a token yet.
    pub sockets: u16,
    /// Bytes of a message over a WebSocket. Nothing large is asked there: mutations are not taken.
    pub socket_message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            depth: 32,
            tokens: 15_000,
            fields: 2_000,
            root_fields: 20,
            administrators: 100,
            min_volume_gb: None,
            errors_shown: 20,
            sockets: 256,
            socket_message_bytes: 64 * 1024,
        }
    }
}

/// What no cluster may use.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Networking {
    /// Ranges of the seeds.
    pub reserved_cidrs: Vec<String>,
}

/// The agent in the clusters.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Whether there is one.
    pub enabled: bool,
    /// A connection that nobody has seen for so long counts as lost, in seconds.
    pub stale_after_seconds: u64,
}

impl Default for Agent {
    fn default() -> Self {
        Self { enabled: true, stale_after_seconds: mins(15).as_secs() }
    }
}

/// Habits of the reference.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compat {
    /// `lastError` is an object of empty texts where there is no error: the known client dereferences it.
    pub last_error_always_present: bool,
    /// Ranges are not looked at: fixtures of the reference hold texts such as `cidr`.
    pub lenient_cidr: bool,
    /// A DNS provider serves the cluster's domain whatever it says.
    pub dns_force_domain_include: bool,
    /// The oldest clients' `gcpConfig` is translated instead of refused.
    pub allow_direct_gcp: bool,
    /// `targetSecret` may change; Gardener may refuse it across accounts.
    pub allow_target_secret_change: bool,
    /// `workerCidr` of a living cluster may change; Gardener refuses to resize a subnet in use.
    pub force_worker_cidr: bool,
    /// Clusters may be made on clouds from which the known client cannot read them back.
    pub allow_unknown_clouds: bool,
}

impl Default for Compat {
    fn default() -> Self {
        Self {
            last_error_always_present: true,
            lenient_cidr: false,
            dns_force_domain_include: false,
            allow_direct_gcp: false,
            allow_target_secret_change: false,
            force_worker_cidr: false,
            allow_unknown_clouds: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_its_default_and_what_is_misspelt_is_refused() {
        let some: Settings = serde_saphyr::from_str("tenant_policy: strict\nlimits:\n  depth: 7\n").expect("settings");
        assert_eq!((some.tenant_policy, some.limits.depth, some.limits.tokens), (TenantPolicy::Strict, 7, 15_000));
        assert!(serde_saphyr::from_str::<Settings>("tenant_polcy: strict").is_err());
        let clouds = |text: &str| serde_saphyr::from_str::<CloudDefaults>(text);
        let asked = |text: &str| serde_json::from_str::<Raw>(text).expect("an object");
        let aws = ProviderType::parse("aws").expect("a cloud");
        let under = clouds("aws: { enableIMDSv2: true }").expect("defaults").under(aws, asked(r#"{"zone": null}"#));
        assert_eq!(under, asked(r#"{"enableIMDSv2": true}"#));
        for wrong in ["aws: { enableIMDSv3: true }", "moon: {}", "gdch: {}"] {
            assert!(clouds(wrong).is_err(), "{wrong}");
        }
    }
}
