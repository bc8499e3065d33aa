//! What is said to each database its own way: statements that lock or are led to an index by its own
//! words, and the calls that are written for its strengths (arrays and `SKIP LOCKED` on PostgreSQL, the
//! one writer on SQLite).

use std::future::Future;

use slipway_model::{
    OperationId, OperationState, ReplicaId, Timestamp,
    ports::{ClaimRequest, Claimed, Commit, CommitOutcome, Registration},
};
use sqlx::types::Uuid;

use crate::{error::Tried, hints::News, secrets::Keyring, sql::Conn};

/// Makes the operation `$1` due at `$2`, because of `$3`.
pub(crate) const MAKE_DUE: &str = "UPDATE operations SET due_at = $2, woken_by = $3 WHERE id = $1";

/// What the end of an operation is called as a cause.
pub(crate) fn end_of(id: OperationId) -> String {
    format!("end of operation {id}")
}

/// The queue of operations on one database.
pub(crate) trait Queue: Conn {
    /// The unfinished operations of the instance `$1`; nobody changes them until the transaction ends.
    const UNFINISHED: &'static str;
    /// The operation `$1`; nobody changes it until the transaction ends.
    const ONE_TO_CHANGE: &'static str;
    /// Up to `$2` secrets that are not under the key `$1`; nobody changes them until the transaction ends.
    const OLD_SECRETS: &'static str;
    /// Ends the leases of the replica `$1` at `$2`: the next holder gets a higher fence, and a running
    /// step runs again at once.
    const FREE: &'static str;
    /// Up to `$2` operations of the instance `$3` from before `$1`, in one of the states `$4` if it
    /// names some, newest first.
    const NEWEST_OF_INSTANCE: &'static str;
    /// Forgets up to `$2` records of finished operations from before `$1`.
    const PURGE_RECORDS: &'static str;

    /// Enters a replica with the processes it knows. `wall` is our own clock, for a database that has none.
    fn register(
        &mut self,
        replica: &ReplicaId,
        known: &str,
        wall: Timestamp,
    ) -> impl Future<Output = Tried<Registration>> + Send;

    /// Counts a heartbeat; answers whether the replica is registered, and the database's time.
    fn beat(
        &mut self,
        replica: &ReplicaId,
        now: Timestamp,
        wall: Timestamp,
    ) -> impl Future<Output = Tried<(bool, Timestamp)>> + Send;

    /// Gives back leases that have not moved on; answers how many.
    fn surrender(
        &mut self,
        replica: &ReplicaId,
        leases: &[(OperationId, u64)],
        now: Timestamp,
    ) -> impl Future<Output = Tried<u64>> + Send;

    /// Takes due operations.
    fn claim(&mut self, keyring: &Keyring, request: &ClaimRequest) -> impl Future<Output = Tried<Claimed>> + Send;

    /// Writes a group; gives the answers, and what they mean for others.
    fn commit(
        &mut self,
        keyring: &Keyring,
        group: &[Commit],
    ) -> impl Future<Output = Tried<(Vec<CommitOutcome>, News)>> + Send;

    /// Writes that something happened to the things of these keys, each named once; answers how many
    /// operations waited for it.
    fn wake(&mut self, keys: &[&str], cause: &str, now: Timestamp) -> impl Future<Output = Tried<u64>> + Send;

    /// The newest operations from before `before` in each of these states, `limit` of each at most.
    fn newest_in_states(
        &mut self,
        before: Uuid,
        states: &[OperationState],
        limit: usize,
    ) -> impl Future<Output = Tried<Vec<Self::Row>>> + Send;
}
