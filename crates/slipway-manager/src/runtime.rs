//! The step tables: what is done to a Runtime, in this order, until a step says otherwise.
//!
//! Adding a step is one file in `steps/` and one row here. The graph of the documentation, the labels of the
//! metrics and the tests over all steps come from these tables.

use std::fmt::Write as _;

use slipway_kube::conditions::Type;
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::Outcome,
    pass::Pass,
    steps::{
        AdministratorsStep, ApplyShoot, AuditLogData, AwaitKubeconfig, AwaitShoot, AwaitShootGone,
        DeleteGardenerCluster, DeleteShoot, EnsureFinalizer, EnsureGardenerCluster, GuardSuspend, KymaNamespace,
        OidcStep, ProvisioningInfo, ReadyStep, RegistryCacheCleanup, RegistryCaches, ReleaseFinalizer,
        RememberPreparation, RemoveAuthConfig, RemoveRegistrySecrets, SeedCheck, StructuredAuthConfig,
    },
};

/// One thing that is done to a Runtime. A repeat of it does no harm.
pub trait Step: Send + Sync {
    /// Whether there is anything to do. Pure.
    fn applies(&self, seen: &Observation) -> bool;

    /// Does it.
    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome>;
}

/// One row.
pub struct Row {
    /// Name, in logs and metrics.
    pub name: &'static str,
    /// The condition it answers for.
    pub of: Type,
    /// The step.
    pub step: &'static dyn Step,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn row(name: &'static str, of: Type, step: &'static dyn Step) -> Row {
    Row { name, of, step }
}

/// A Runtime that is wanted.
#[rustfmt::skip]
pub static ALIGN: &[Row] = &[
    row("EnsureFinalizer",       Type::Provisioned,                &EnsureFinalizer),
    row("GuardSuspend",          Type::Provisioned,                &GuardSuspend),
    row("SeedCheck",             Type::Provisioned,                &SeedCheck),
    row("AuditLogData",          Type::Provisioned,                &AuditLogData),
    row("RegistryCaches",        Type::RegistryCacheConfigured,    &RegistryCaches),
    row("StructuredAuthConfig",  Type::Provisioned,                &StructuredAuthConfig),
    row("ApplyShoot",            Type::Provisioned,                &ApplyShoot),
    row("AwaitShoot",            Type::Provisioned,                &AwaitShoot),
    row("EnsureGardenerCluster", Type::KubeconfigReady,            &EnsureGardenerCluster),
    row("AwaitKubeconfig",       Type::KubeconfigReady,            &AwaitKubeconfig),
    row("KymaNamespace",         Type::KymaSystemNsCreated,        &KymaNamespace),
    row("ProvisioningInfo",      Type::OidcAndConfigMapConfigured, &ProvisioningInfo),
    row("Oidc",                  Type::OidcAndConfigMapConfigured, &OidcStep),
    row("Administrators",        Type::Configured,                 &AdministratorsStep),
    row("RememberPreparation",   Type::Configured,                 &RememberPreparation),
    row("RegistryCacheCleanup",  Type::RegistryCacheConfigured,    &RegistryCacheCleanup),
    row("Ready",                 Type::Configured,                 &ReadyStep),
];

/// A Runtime that is to go.
#[rustfmt::skip]
pub static DELETE: &[Row] = &[
    row("DeleteGardenerCluster", Type::Deprovisioned, &DeleteGardenerCluster),
    row("DeleteShoot",           Type::Deprovisioned, &DeleteShoot),
    row("AwaitShootGone",        Type::Deprovisioned, &AwaitShootGone),
    row("RemoveAuthConfig",      Type::Deprovisioned, &RemoveAuthConfig),
    row("RemoveRegistrySecrets", Type::Deprovisioned, &RemoveRegistrySecrets),
    row("ReleaseFinalizer",      Type::Deprovisioned, &ReleaseFinalizer),
];

/// Both tables as a graph for Graphviz.
pub fn graph() -> String {
    let mut graph = String::from("digraph runtime {\n  rankdir=LR;\n");
    for (lane, table) in [("align", ALIGN), ("delete", DELETE)] {
        let mut before = lane.to_owned();
        for row in table {
            // Writing to a string cannot fail.
            let _ = writeln!(graph, "  {before} -> {};  // answers for {}", row.name, row.of);
            before = row.name.to_owned();
        }
    }
    graph.push_str("}\n");
    graph
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_step_has_one_name_one_row_and_a_place_in_the_graph() {
        let names: Vec<&str> = ALIGN.iter().chain(DELETE).map(|row| row.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let graph = graph();
        for name in names {
            assert_eq!(graph.matches(&format!("-> {name};")).count(), 1, "{name}");
        }
    }
}
