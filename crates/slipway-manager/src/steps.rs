//! The steps: one file each, one row in [`crate::runtime`].

mod apply_shoot;
mod audit_log_data;
mod await_kubeconfig;
mod await_shoot;
mod await_shoot_gone;
mod delete_gardener_cluster;
mod delete_shoot;
mod ensure_gardener_cluster;
mod finalizer;
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
    delete_gardener_cluster::DeleteGardenerCluster,
    delete_shoot::DeleteShoot,
    ensure_gardener_cluster::EnsureGardenerCluster,
    finalizer::{EnsureFinalizer, ReleaseFinalizer},
    guard_suspend::GuardSuspend,
    prepare_cluster::PrepareCluster,
    ready::ReadyStep,
    remove_auth_config::RemoveAuthConfig,
    seed_check::SeedCheck,
    structured_auth_config::StructuredAuthConfig,
};
