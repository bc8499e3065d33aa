//! Makes the agent connect anew: a new token, a new configuration, and the old connection dropped.

use slipway_engine::{ProcessTable, row};
use slipway_model::{OperationType, time::hours};

use crate::{
    domain::Provisioner,
    steps::{
        ConfigureAgent, DrawAgentToken, DropAgentConnection, FetchKubeconfig, MarkConnected, ReportFailure,
        WaitForAgent,
    },
};

/// The table.
pub static RECONNECT: ProcessTable<Provisioner> = ProcessTable {
    name: "provisioner_reconnect",
    version: 1,
    kind: OperationType::Update,
    budget: hours(24),
    #[rustfmt::skip]
    rows: &[
        //  stage                    weight  step
        row("ConnectRuntimeAgent",    1, &FetchKubeconfig),
        row("ConnectRuntimeAgent",    1, &DrawAgentToken),
        row("ConnectRuntimeAgent",    1, &ConfigureAgent),
        row("ConnectRuntimeAgent",    1, &DropAgentConnection),
        row("WaitForAgentToConnect",  1, &FetchKubeconfig),
        row("WaitForAgentToConnect",  1, &WaitForAgent),
        row("WaitForAgentToConnect",  1, &MarkConnected),
    ],
    #[rustfmt::skip]
    finalizers: &[
        row("Finished",               1, &ReportFailure),
    ],
};
