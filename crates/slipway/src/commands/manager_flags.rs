//! Flags of the role `manager`: those of the reference by their names, so that its manifests carry over, and ours.
//!
//! Each is also a variable `SLIPWAY_INFRA_<NAME>`; the flag wins. Flags that have no meaning here are taken and
//! passed over, because a manifest that names them must still start.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::anyhow;
use clap::{ArgAction, Args};
use slipway_server::{
    config::{DurationText, Log, LogFormat},
    manager::{RoleSettings, Settings},
};

/// Flags of the role manager.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Role manager")]
pub(super) struct ManagerFlags {
    /// Kubeconfig of the control plane; without it, the service account of the pod
    #[arg(long, env = "SLIPWAY_INFRA_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Namespace of Runtimes
    #[arg(long, env = "SLIPWAY_INFRA_NAMESPACE", value_name = "NAME", default_value = "kcp-system")]
    namespace: String,
    /// Kubeconfig of the garden
    #[arg(
        long,
        env = "SLIPWAY_INFRA_GARDENER_KUBECONFIG_PATH",
        value_name = "FILE",
        default_value = "/gardener/kubeconfig/kubeconfig"
    )]
    gardener_kubeconfig_path: PathBuf,
    /// Taken for compatibility; the project stands in the converter configuration
    #[arg(long, env = "SLIPWAY_INFRA_GARDENER_PROJECT_NAME", value_name = "NAME", hide = true)]
    gardener_project_name: Option<String>,
    /// The converter configuration
    #[arg(
        long,
        env = "SLIPWAY_INFRA_CONVERTER_CONFIG_FILEPATH",
        value_name = "FILE",
        default_value = "/converter-config/converter_config.json"
    )]
    converter_config_filepath: PathBuf,
    /// Where figures are shown: [address]:port
    #[arg(long, env = "SLIPWAY_INFRA_METRICS_BIND_ADDRESS", value_name = "ADDRESS", default_value = ":8080")]
    metrics_bind_address: String,
    /// Where probes are answered: [address]:port
    #[arg(long, env = "SLIPWAY_INFRA_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS", default_value = ":8081")]
    health_probe_bind_address: String,
    /// Only the replica that holds the Lease works
    #[arg(long, env = "SLIPWAY_INFRA_LEADER_ELECT", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = ArgAction::Set)]
    leader_elect: bool,
    /// Into how many parts Runtimes are divided by the hash of their names
    #[arg(long, env = "SLIPWAY_INFRA_SHARDS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    shards: u32,
    /// The part of this replica, from 0; with --leader-elect and without it, any it can get
    #[arg(long, env = "SLIPWAY_INFRA_SHARD", value_name = "I")]
    shard: Option<u32>,
    /// Part of its life after which a kubeconfig is replaced
    #[arg(long, env = "SLIPWAY_INFRA_MINIMAL_ROTATION_TIME", value_name = "RATIO", default_value_t = 0.6)]
    minimal_rotation_time: f64,
    /// How long kubeconfigs are asked to live
    #[arg(long, env = "SLIPWAY_INFRA_KUBECONFIG_EXPIRATION_TIME", value_name = "DURATION", default_value = "24h")]
    kubeconfig_expiration_time: DurationText,
    /// Longest time for one pass over a kubeconfig
    #[arg(
        long,
        env = "SLIPWAY_INFRA_GARDENER_CTRL_RECONCILATION_TIMEOUT",
        value_name = "DURATION",
        default_value = "60s"
    )]
    gardener_ctrl_reconcilation_timeout: DurationText,
    /// Longest time for a write to the garden
    #[arg(long, env = "SLIPWAY_INFRA_GARDENER_REQUEST_TIMEOUT", value_name = "DURATION", default_value = "15s")]
    gardener_request_timeout: DurationText,
    /// Requests a second to the garden
    #[arg(long, env = "SLIPWAY_INFRA_GARDENER_RATELIMITER_QPS", value_name = "N", default_value_t = 5)]
    gardener_ratelimiter_qps: u32,
    /// Requests at once to the garden
    #[arg(long, env = "SLIPWAY_INFRA_GARDENER_RATELIMITER_BURST", value_name = "N", default_value_t = 5)]
    gardener_ratelimiter_burst: u32,
    /// Runtimes worked on at the same time
    #[arg(long, env = "SLIPWAY_INFRA_RUNTIME_CTRL_WORKERS_CNT", value_name = "N", default_value_t = 64)]
    runtime_ctrl_workers_cnt: usize,
    /// Kubeconfigs worked on at the same time
    #[arg(long, env = "SLIPWAY_INFRA_GARDENER_CLUSTER_CTRL_WORKERS_CNT", value_name = "N", default_value_t = 25)]
    gardener_cluster_ctrl_workers_cnt: usize,
    /// A Runtime without audit tenant fails
    #[arg(long, env = "SLIPWAY_INFRA_AUDIT_LOG_MANDATORY", num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = ArgAction::Set)]
    audit_log_mandatory: bool,
    /// Shoots have the network filter
    #[arg(long, env = "SLIPWAY_INFRA_NETWORK_RESTRICTION_ENABLED", num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = ArgAction::Set)]
    network_restriction_enabled: bool,
    /// Access to API servers can be restricted by address
    #[arg(long, env = "SLIPWAY_INFRA_API_SERVER_ACL_ENABLED", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = ArgAction::Set)]
    api_server_acl_enabled: bool,
    /// Clusters can ask for caches of image registries
    #[arg(long, env = "SLIPWAY_INFRA_REGISTRY_CACHE_CONFIG_CONTROLLER_ENABLED", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = ArgAction::Set)]
    registry_cache_config_controller_enabled: bool,
    /// How often clusters are asked whether they want caches of image registries; those that do are watched
    #[arg(long, env = "SLIPWAY_INFRA_REGISTRY_CACHE_RECONCILE_PERIOD", value_name = "DURATION", default_value = "60m")]
    registry_cache_reconcile_period: DurationText,
    /// Taken for compatibility; clusters are watched, and nobody has to send events
    #[arg(long, env = "SLIPWAY_INFRA_REGISTRY_CACHE_LISTENER_PORT", value_name = "PORT", hide = true)]
    registry_cache_listener_port: Option<u16>,
    /// More Runtimes than this that are deleted within ten minutes are held until confirmed; 0 for never
    #[arg(long, env = "SLIPWAY_INFRA_DELETION_BRAKE", value_name = "N", default_value_t = 20)]
    deletion_brake: usize,
    /// Runtimes a second that a changed configuration touches
    #[arg(long, env = "SLIPWAY_INFRA_ROLLOUT_PER_SECOND", value_name = "N", default_value_t = 2.0)]
    rollout_per_second: f64,
    /// Decide and log, change nothing
    #[arg(long, env = "SLIPWAY_INFRA_DRY_RUN", num_args = 0..=1, default_missing_value = "true", default_value_t = false, action = ArgAction::Set)]
    dry_run: bool,
    /// Taken for compatibility; nothing is queued again to write a status
    #[arg(long, env = "SLIPWAY_INFRA_STATUS_REQUEUE_DELAY", value_name = "DURATION", hide = true)]
    status_requeue_delay: Option<String>,
    /// Which log lines
    #[arg(long, env = "SLIPWAY_INFRA_ZAP_LOG_LEVEL", value_name = "LEVEL", default_value = "info")]
    zap_log_level: String,
    /// How log lines look: json or console
    #[arg(long, env = "SLIPWAY_INFRA_ZAP_ENCODER", value_name = "FORM", default_value = "json", value_parser = ["json", "console"])]
    zap_encoder: String,
}

impl ManagerFlags {
    /// How log lines are written where no configuration says so.
    pub(super) fn log(&self) -> Log {
        let format = if self.zap_encoder == "console" { LogFormat::Text } else { LogFormat::Json };
        Log { format, level: self.zap_log_level.clone() }
    }

    /// The settings, checked together.
    pub(super) fn role(&self) -> Result<RoleSettings, anyhow::Error> {
        if !(0.05..=0.95).contains(&self.minimal_rotation_time) {
            return Err(anyhow!(
                "--minimal-rotation-time is {}, but must be from 0.05 to 0.95",
                self.minimal_rotation_time
            ));
        }
        let period = self.registry_cache_reconcile_period.get();
        if period < Duration::from_secs(1) {
            return Err(anyhow!(
                "--registry-cache-reconcile-period is under 1s: every cluster would be asked all the time"
            ));
        }
        let life = self.kubeconfig_expiration_time.get();
        if life < Duration::from_secs(600) {
            return Err(anyhow!("--kubeconfig-expiration-time is under 10m, the least that Gardener takes"));
        }
        if let Some(shard) = self.shard.filter(|shard| *shard >= self.shards) {
            return Err(anyhow!(
                "--shard is {shard}, but --shards is {}: it must be from 0 to {}",
                self.shards,
                self.shards - 1
            ));
        }
        if self.shards > 1 && self.shard.is_none() && !self.leader_elect {
            return Err(anyhow!(
                "--shards without --shard needs --leader-elect, or two replicas would work on the same Runtimes"
            ));
        }
        Ok(RoleSettings {
            kubeconfig: self.kubeconfig.clone(),
            garden_kubeconfig: self.gardener_kubeconfig_path.clone(),
            converter_config: self.converter_config_filepath.clone(),
            rate: f64::from(self.gardener_ratelimiter_qps.max(1)),
            burst: self.gardener_ratelimiter_burst,
            timeout: self.gardener_request_timeout.get(),
            metrics: address("--metrics-bind-address", &self.metrics_bind_address)?,
            health: address("--health-probe-bind-address", &self.health_probe_bind_address)?,
            settings: Settings {
                namespace: self.namespace.clone(),
                rotation_ratio: self.minimal_rotation_time,
                kubeconfig_life: life,
                kubeconfig_budget: self.gardener_ctrl_reconcilation_timeout.get(),
                runtime_workers: self.runtime_ctrl_workers_cnt,
                kubeconfig_workers: self.gardener_cluster_ctrl_workers_cnt,
                audit_log_mandatory: self.audit_log_mandatory,
                network_restriction: self.network_restriction_enabled,
                acl: self.api_server_acl_enabled,
                registry_caches: self.registry_cache_config_controller_enabled.then_some(period),
                brake_limit: self.deletion_brake,
                dry_run: self.dry_run,
                shards: self.shards,
                own_shards: self.shard.into_iter().collect::<BTreeSet<u32>>(),
                leader_elect: self.leader_elect,
                rollout_per_second: self.rollout_per_second,
                ..Settings::default()
            },
        })
    }
}

/// `:8080` means every address of the machine, `0` means nowhere, as the reference has it.
fn address(flag: &str, text: &str) -> Result<Option<SocketAddr>, anyhow::Error> {
    if text == "0" {
        return Ok(None);
    }
    let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    whole.parse().map(Some).map_err(|_| anyhow!("{flag} is {text:?}, but must look like :8080 or 127.0.0.1:8080"))
}
