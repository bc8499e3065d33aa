//! The provisioner as its clients meet it, and its processes as wholes: against the simulators, on
//! simulated time.

mod api;
mod landscape;
mod laws;
mod matrix;
mod pages;
mod stories;
mod strangers;

use slipway_model::ProcessKey;
use slipway_provisioner::{OperationKind, registry};

/// The process that new operations of this kind begin on.
fn newest(kind: OperationKind) -> ProcessKey {
    let registry = registry().expect("all tables are right");
    registry.newest(kind.process_name()).expect("every kind has its process").key.clone()
}
