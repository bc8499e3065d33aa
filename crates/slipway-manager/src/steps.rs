//! The steps: one file each, one row in [`crate::runtime`].

mod administrators;
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
mod kyma_namespace;
mod oidc;
mod provisioning_info;
mod ready;
mod registry_cache_cleanup;
mod registry_caches;
mod remember_preparation;
mod remove_auth_config;
mod remove_registry_secrets;
mod seed_check;
mod structured_auth_config;

pub use self::{
    administrators::AdministratorsStep,
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
    kyma_namespace::KymaNamespace,
    oidc::OidcStep,
    provisioning_info::ProvisioningInfo,
    ready::ReadyStep,
    registry_cache_cleanup::RegistryCacheCleanup,
    registry_caches::RegistryCaches,
    remember_preparation::RememberPreparation,
    remove_auth_config::RemoveAuthConfig,
    remove_registry_secrets::RemoveRegistrySecrets,
    seed_check::SeedCheck,
    structured_auth_config::StructuredAuthConfig,
};
