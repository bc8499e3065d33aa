//! The steps: one file each, one row in [`crate::runtime`].

mod apply_shoot;
mod audit_log_data;
mod await_kubeconfig;
mod await_shoot;
mod await_shoot_gone;
mod check_label;
mod delete_gardener_cluster;
mod delete_shoot;
mod ensure_gardener_cluster;
mod finalizer;
mod find_shoot;
mod guard_suspend;
mod prepare_cluster;
mod ready;
mod remove_auth_config;
mod seed_check;
mod structured_auth_config;

pub(crate) use self::{
    apply_shoot::ApplyShoot,
    audit_log_data::AuditLogData,
    await_kubeconfig::AwaitKubeconfig,
    await_shoot::AwaitShoot,
    await_shoot_gone::AwaitShootGone,
    check_label::{CheckLabel, CheckOwner},
    delete_gardener_cluster::DeleteGardenerCluster,
    delete_shoot::DeleteShoot,
    ensure_gardener_cluster::EnsureGardenerCluster,
    finalizer::{EnsureFinalizer, ReleaseFinalizer},
    find_shoot::FindShoot,
    guard_suspend::GuardSuspend,
    prepare_cluster::PrepareCluster,
    ready::ReadyStep,
    remove_auth_config::RemoveAuthConfig,
    seed_check::SeedCheck,
    structured_auth_config::StructuredAuthConfig,
};

/// A Shoot as caches keep it.
fn slim(mut shoot: slipway_kube::Shoot) -> std::sync::Arc<slipway_kube::Shoot> {
    shoot.slim();
    std::sync::Arc::new(shoot)
}
