//! Has Kyma uninstalled and removes the cluster, its registration and its secrets.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{
        CleanupCluster, DeleteRuntimeResource, ReportFailure, Tombstone, TriggerKymaUninstall, UnregisterRuntime,
        WaitForClusterDeletion,
    },
};

/// The table.
pub static DEPROVISION: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_deprovision",
    version: 1,
    kind: OperationType::Deprovision,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage                     weight  step
        row("CleanupCluster",          1, &CleanupCluster),
        row("TriggerKymaUninstall",    1, &TriggerKymaUninstall),
        row("DeprovisionCluster",      1, &DeleteRuntimeResource),
        row("WaitForClusterDeletion",  1, &WaitForClusterDeletion),
        row("WaitForClusterDeletion",  1, &UnregisterRuntime),
        row("WaitForClusterDeletion",  1, &Tombstone),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",                1, &ReportFailure),
    ],
};
