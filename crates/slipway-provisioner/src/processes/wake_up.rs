//! Wakes the cluster up.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{PatchRuntimeResource, ReportFailure, WaitForHibernation},
};

/// The table.
pub static WAKE_UP: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_wake_up",
    version: 1,
    kind: OperationType::Update,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage            weight  step
        row("WaitForWakeUp",  1, &PatchRuntimeResource),
        row("WaitForWakeUp",  1, &WaitForHibernation),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",       1, &ReportFailure),
    ],
};
