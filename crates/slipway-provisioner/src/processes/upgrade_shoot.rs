//! Changes the cluster.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{CheckBindings, FetchKubeconfig, PatchRuntimeResource, ReportFailure, WaitForShootUpgrade},
};

/// The table.
pub static UPGRADE_SHOOT: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_upgrade_shoot",
    version: 1,
    kind: OperationType::Update,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage                           weight  step
        row("WaitingForShootNewVersion",     1, &PatchRuntimeResource),
        row("WaitingForShootUpgrade",        1, &WaitForShootUpgrade),
        row("CreatingBindingsForOperators",  1, &FetchKubeconfig),
        row("CreatingBindingsForOperators",  1, &CheckBindings),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",                      1, &ReportFailure),
    ],
};
