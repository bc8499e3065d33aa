//! Everything at one moment, for whoever judges the store from outside: the simulation's invariants.

use slipway_model::{Operation, OperationId, ReplicaId, StepRecord};

use super::Tables;

/// The whole content at one moment.
pub struct Snapshot<'a> {
    pub(super) tables: &'a Tables,
}

impl Snapshot<'_> {
    /// All operations with their ledgers.
    pub fn operations(&self) -> impl Iterator<Item = (&Operation, &[StepRecord])> {
        self.tables.operations.values().map(|row| (&row.operation, row.steps.as_slice()))
    }

    /// One operation.
    pub fn operation(&self, id: OperationId) -> Option<&Operation> {
        self.tables.operations.get(&id).map(|row| &row.operation)
    }

    /// Whether a replica is registered.
    pub fn is_registered(&self, replica: &ReplicaId) -> bool {
        self.tables.replicas.contains_key(replica)
    }
}
