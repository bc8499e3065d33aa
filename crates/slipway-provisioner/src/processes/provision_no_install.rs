//! Makes a cluster. The agent is configured, but nobody here installs one, so nobody waits for it.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{
        AnnounceCluster, CheckBindings, ConfigureAgent, CreateRuntimeResource, DrawAgentToken, FetchKubeconfig,
        ReportFailure, WaitForClusterCreation, WaitForClusterDomain,
    },
};

/// The table.
pub static PROVISION_NO_INSTALL: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_provision_no_install",
    version: 1,
    kind: OperationType::Provision,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage                           weight  step
        row("CreatingRuntimeResource",       1, &CreateRuntimeResource),
        row("WaitingForClusterDomain",       1, &WaitForClusterDomain),
        row("WaitingForClusterDomain",       1, &AnnounceCluster),
        row("WaitingForClusterCreation",     1, &WaitForClusterCreation),
        row("CreatingBindingsForOperators",  1, &FetchKubeconfig),
        row("CreatingBindingsForOperators",  1, &CheckBindings),
        row("ConnectRuntimeAgent",           1, &FetchKubeconfig),
        row("ConnectRuntimeAgent",           1, &DrawAgentToken),
        row("ConnectRuntimeAgent",           1, &ConfigureAgent),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",                      1, &ReportFailure),
    ],
};
