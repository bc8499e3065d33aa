//! Makes a cluster, installs Kyma and connects its agent. It succeeds only when all of it is done.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{
        AnnounceCluster, CheckBindings, ConfigureAgent, CreateRuntimeResource, DrawAgentToken, FetchKubeconfig,
        MarkConnected, ReportFailure, StartInstallation, WaitForAgent, WaitForClusterCreation, WaitForClusterDomain,
        WaitForInstallation,
    },
};

/// The table.
pub static PROVISION: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_provision",
    version: 1,
    kind: OperationType::Provision,
    budget: hours(27),
    #[rustfmt::skip]
    rows: &[
        //  stage                           weight  step
        row("CreatingRuntimeResource",       1, &CreateRuntimeResource),
        row("WaitingForClusterDomain",       1, &WaitForClusterDomain),
        row("WaitingForClusterDomain",       1, &AnnounceCluster),
        row("WaitingForClusterCreation",     1, &WaitForClusterCreation),
        row("CreatingBindingsForOperators",  1, &FetchKubeconfig),
        row("CreatingBindingsForOperators",  1, &CheckBindings),
        row("StartingInstallation",          1, &FetchKubeconfig),
        row("StartingInstallation",          1, &StartInstallation),
        row("WaitingForInstallation",        1, &WaitForInstallation),
        row("ConnectRuntimeAgent",           1, &FetchKubeconfig),
        row("ConnectRuntimeAgent",           1, &DrawAgentToken),
        row("ConnectRuntimeAgent",           1, &ConfigureAgent),
        row("WaitForAgentToConnect",         1, &FetchKubeconfig),
        row("WaitForAgentToConnect",         1, &WaitForAgent),
        row("WaitForAgentToConnect",         1, &MarkConnected),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",                      1, &ReportFailure),
    ],
};
