//! Removes a cluster without Kyma, its registration and its secrets.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{DeleteRuntimeResource, ReportFailure, Tombstone, UnregisterRuntime, WaitForClusterDeletion},
};

/// The table.
pub static DEPROVISION_NO_INSTALL: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_deprovision_no_install",
    version: 1,
    kind: OperationType::Deprovision,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage                     weight  step
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
