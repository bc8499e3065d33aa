//! Puts the cluster to sleep.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{PatchRuntimeResource, ReportFailure, WaitForHibernation},
};

/// The table.
pub static HIBERNATE: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_hibernate",
    version: 1,
    kind: OperationType::Update,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage                 weight  step
        row("WaitForHibernation",  1, &PatchRuntimeResource),
        row("WaitForHibernation",  1, &WaitForHibernation),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",            1, &ReportFailure),
    ],
};
