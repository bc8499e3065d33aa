//! Changes the Kubernetes version, Kyma, or both: the cluster first.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{
        CloseUpgradeRecord, FetchKubeconfig, PatchRuntimeResource, ReportFailure, StartUpgrade, WaitForInstallation,
        WaitForShootUpgrade,
    },
};

/// The table. Rows that are not asked for do not apply.
pub static UPGRADE: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_upgrade",
    version: 1,
    kind: OperationType::UpgradeKyma,
    budget: hours(27),
    #[rustfmt::skip]
    rows: &[
        //  stage                        weight  step
        row("WaitingForShootNewVersion",  1, &PatchRuntimeResource),
        row("WaitingForShootUpgrade",     1, &WaitForShootUpgrade),
        row("StartingUpgrade",            1, &FetchKubeconfig),
        row("StartingUpgrade",            1, &StartUpgrade),
        row("WaitingForInstallation",     1, &WaitForInstallation),
        row("UpdatingUpgradeState",       1, &CloseUpgradeRecord),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",                   1, &CloseUpgradeRecord),
        row("Finished",                   1, &ReportFailure),
    ],
};
