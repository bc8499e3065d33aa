//! The step tables: what is done to a Runtime, in this order, until a step says otherwise.
//!
//! Adding a step is one file in `steps/` and one row here. The graph of the documentation, the labels of the
//! metrics and the tests over all steps come from these tables.

use std::{fmt::Write as _, future::Future};

use slipway_kube::conditions::Type;
use slipway_model::ports::BoxFuture;

use crate::{
    observe::Observation,
    outcome::Outcome,
    pass::Pass,
    registry_caches::{AlignCaches, CleanUpCaches, RemoveCredentials},
    steps::{
        ApplyShoot, AuditLogData, AwaitKubeconfig, AwaitShoot, AwaitShootGone, CheckLabel, CheckOwner,
        DeleteGardenerCluster, DeleteShoot, EnsureFinalizer, EnsureGardenerCluster, FindShoot, GuardSuspend,
        PrepareCluster, ReadyStep, ReleaseFinalizer, RemoveAuthConfig, SeedCheck, StructuredAuthConfig,
    },
};

/// One thing that is done to a Runtime. A repeat of it does no harm.
pub(crate) trait Step: Send + Sync {
    /// Whether there is anything to do. Pure.
    fn applies(&self, seen: &Observation) -> bool {
        let _ = seen;
        true
    }

    fn run(&self, pass: &mut Pass) -> impl Future<Output = Outcome> + Send;
}

/// [`Step`] as a trait object, for the tables. Implemented for every step.
pub(crate) trait DynStep: Send + Sync {
    /// See [`Step::applies`].
    fn applies(&self, seen: &Observation) -> bool;
    /// See [`Step::run`].
    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome>;
}

impl<S: Step> DynStep for S {
    fn applies(&self, seen: &Observation) -> bool {
        Step::applies(self, seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(Step::run(self, pass))
    }
}

pub(crate) struct Row {
    /// In logs and metrics.
    pub(crate) name: &'static str,
    /// The conditions it answers for, in the order it tells them.
    pub(crate) conditions: &'static [Type],
    pub(crate) step: &'static dyn DynStep,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn row(name: &'static str, conditions: &'static [Type], step: &'static dyn DynStep) -> Row {
    Row { name, conditions, step }
}

const PREPARED: &[Type] = &[Type::KymaSystemNsCreated, Type::OidcAndConfigMapConfigured, Type::Configured];

/// A Runtime that is wanted.
#[rustfmt::skip]
pub(crate) static ALIGN: &[Row] = &[
    row("CheckLabel",            &[Type::Provisioned],             &CheckLabel),
    row("EnsureFinalizer",       &[Type::Provisioned],             &EnsureFinalizer),
    row("GuardSuspend",          &[Type::Provisioned],             &GuardSuspend),
    row("FindShoot",             &[Type::Provisioned],             &FindShoot),
    row("SeedCheck",             &[Type::Provisioned],             &SeedCheck),
    row("AuditLogData",          &[Type::Provisioned],             &AuditLogData),
    row("RegistryCaches",        &[Type::RegistryCacheConfigured], &AlignCaches),
    row("StructuredAuthConfig",  &[Type::Provisioned],             &StructuredAuthConfig),
    row("ApplyShoot",            &[Type::Provisioned],             &ApplyShoot),
    row("AwaitShoot",            &[Type::Provisioned],             &AwaitShoot),
    row("EnsureGardenerCluster", &[Type::KubeconfigReady],         &EnsureGardenerCluster),
    row("AwaitKubeconfig",       &[Type::KubeconfigReady],         &AwaitKubeconfig),
    row("PrepareCluster",        PREPARED,                         &PrepareCluster),
    row("RegistryCacheCleanup",  &[Type::RegistryCacheConfigured], &CleanUpCaches),
    row("Ready",                 &[Type::Configured],              &ReadyStep),
];

/// A Runtime that is to go.
#[rustfmt::skip]
pub(crate) static DELETE: &[Row] = &[
    row("CheckOwner",            &[Type::Deprovisioned], &CheckOwner),
    row("DeleteGardenerCluster", &[Type::Deprovisioned], &DeleteGardenerCluster),
    row("DeleteShoot",           &[Type::Deprovisioned], &DeleteShoot),
    row("AwaitShootGone",        &[Type::Deprovisioned], &AwaitShootGone),
    row("RemoveAuthConfig",      &[Type::Deprovisioned], &RemoveAuthConfig),
    row("RemoveRegistrySecrets", &[Type::Deprovisioned], &RemoveCredentials),
    row("ReleaseFinalizer",      &[Type::Deprovisioned], &ReleaseFinalizer),
];

/// Both tables as a graph for Graphviz.
pub fn graph() -> String {
    let mut graph = String::from("digraph runtime {\n  rankdir=LR;\n");
    for (lane, table) in [("align", ALIGN), ("delete", DELETE)] {
        let mut before = lane.to_owned();
        for row in table {
            // Writing to a string cannot fail.
            let conditions: Vec<&str> = row.conditions.iter().map(|of| of.as_str()).collect();
            let _ = writeln!(graph, "  {before} -> {};  // answers for {}", row.name, conditions.join(", "));
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
