//! What the engine tells others in the process, after it is durable.

use std::time::Duration;

use slipway_model::{
    Component, InstanceId, LastError, OperationId, OperationState, OperationType, ProcessKey, Reason, RecordKind,
    recorder::Outcome,
};

/// News. Delivered in process; a slow listener loses the oldest and never holds up the engine.
#[derive(Debug, Clone)]
pub enum Event {
    /// A run of a step has ended and is on record.
    StepProcessed {
        /// Operation.
        operation: OperationId,
        /// Instance.
        instance_id: InstanceId,
        /// Type.
        kind: OperationType,
        /// Process.
        process: ProcessKey,
        /// Plan.
        plan: String,
        /// Stage.
        stage: &'static str,
        /// Step.
        step: &'static str,
        /// How long its code ran.
        duration: Duration,
        /// How it ended.
        outcome: Outcome,
        /// Who is to blame, if it did not go well.
        component: Component,
        /// Why, if it failed.
        reason: Option<Reason>,
        /// Its outgoing calls.
        calls: Vec<RecordKind>,
    },
    /// An operation has ended and is on record.
    OperationFinished {
        /// Operation.
        operation: OperationId,
        /// Instance.
        instance_id: InstanceId,
        /// Type.
        kind: OperationType,
        /// Process.
        process: ProcessKey,
        /// Plan.
        plan: String,
        /// How it ended.
        state: OperationState,
        /// Why it failed.
        last_error: Option<LastError>,
        /// From acceptance to end.
        duration: Duration,
    },
    /// Operations of dead replicas were made free for all; this one may or may not run them.
    LeasesTaken {
        /// How many.
        operations: usize,
    },
    /// This replica was given up by the others, or lost the database for too long.
    LeaseLost,
}
