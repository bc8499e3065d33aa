//! How the manager is run: the flags of the reference, by their names, and a few of our own.

use std::{collections::BTreeSet, time::Duration};

use slipway_model::time::{hours, mins, secs};

/// The field manager of everything we apply on the control plane and in clusters.
pub(crate) const FIELD_MANAGER: &str = "infrastructure-manager";

/// How the manager is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Namespace of Runtimes on the control plane.
    pub namespace: String,
    /// Namespace of the project in the garden.
    pub garden_namespace: String,
    /// The field manager of Shoots: the name the reference used, so that its Shoots are taken over whole.
    pub shoot_manager: String,
    /// `--minimal-rotation-time`: the part of its life after which a kubeconfig is replaced.
    pub rotation_ratio: f64,
    /// `--kubeconfig-expiration-time`: how long kubeconfigs are asked to live.
    pub kubeconfig_life: Duration,
    /// `--gardener-ctrl-reconcilation-timeout`: longest time for one pass of a kubeconfig.
    pub kubeconfig_budget: Duration,
    /// `--runtime-ctrl-workers-cnt`: passes of Runtimes at the same time.
    pub runtime_workers: usize,
    /// `--gardener-cluster-ctrl-workers-cnt`: passes of kubeconfigs at the same time.
    pub kubeconfig_workers: usize,
    /// `--audit-log-mandatory`: a Runtime without audit tenant fails.
    pub audit_log_mandatory: bool,
    /// `--network-restriction-enabled`.
    pub network_restriction: bool,
    /// `--api-server-acl-enabled`.
    pub acl: bool,
    /// `--registry-cache-config-controller-enabled`: how often clusters without news are asked for the registry caches
    /// they want; none for never.
    pub registry_caches: Option<Duration>,
    /// More Runtimes than this that enter deletion within [`Settings::brake_window`] are held; 0 switches it off.
    pub brake_limit: usize,
    /// Over which time deletions are counted.
    pub brake_window: Duration,
    /// `--dry-run`: decide and log, change nothing.
    pub dry_run: bool,
    /// Into how many shards Runtimes are divided.
    pub shards: u32,
    /// The shards of this replica; empty for any it can get.
    pub own_shards: BTreeSet<u32>,
    /// `--leader-elect`: shards are held by Leases.
    pub leader_elect: bool,
    /// Runtimes a second that a changed configuration touches.
    pub rollout_per_second: f64,
    /// Back-stops, one for each state.
    pub resync: Resync,
}

/// When a Runtime is looked at although nothing happened.
#[derive(Debug, Clone, Copy)]
pub struct Resync {
    /// `Pending` and `Terminating`.
    pub pending: Duration,
    /// `Failed`.
    pub failed: Duration,
    /// `Ready`.
    pub ready: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: "kcp-system".to_owned(),
            garden_namespace: "garden-kyma".to_owned(),
            shoot_manager: "kim".to_owned(),
            rotation_ratio: 0.6,
            kubeconfig_life: hours(24),
            kubeconfig_budget: secs(60),
            runtime_workers: 64,
            kubeconfig_workers: 25,
            audit_log_mandatory: true,
            network_restriction: true,
            acl: false,
            registry_caches: None,
            brake_limit: 20,
            brake_window: mins(10),
            dry_run: false,
            shards: 1,
            own_shards: BTreeSet::new(),
            leader_elect: false,
            rollout_per_second: 2.0,
            resync: Resync { pending: mins(5), failed: mins(30), ready: hours(12) },
        }
    }
}
