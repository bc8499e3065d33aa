//! The words of Slipway, and nothing that does anything.
//!
//! Every other crate stands on this one, so an edit here rebuilds everything: keep it small, dull
//! and stable. There is no I/O, no clock and no randomness here. What the product needs of the
//! world outside is asked for through the traits in [`ports`].

pub mod action;
pub mod bugs;
pub mod id;
pub mod json;
pub mod ledger;
pub mod operation;
pub mod ports;
pub mod preemption;
pub mod reason;
pub mod recorder;
pub mod runtime_record;
pub mod state;
pub mod text;
pub mod time;

pub use action::{Action, Control, Request};
pub use bugs::{Bugs, KnownBug};
pub use id::{InstanceId, OperationId, ReplicaId, WaitKey};
pub use json::JsonText;
pub use ledger::{StepRecord, StepStatus};
pub use operation::{Ending, NewOperation, Operation, ProcessKey};
pub use reason::{Component, LastError, Reason};
pub use recorder::{Record, RecordKind};
pub use runtime_record::{RuntimeId, RuntimeRecord};
pub use state::{Class, OperationState, OperationType};
pub use time::Timestamp;
