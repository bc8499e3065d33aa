//! The port to storage: what the engine asks of a database.
//!
//! Three implementations (PostgreSQL, SQLite, memory) pass one conformance suite. The port is cut
//! so that every call is one transaction, and so that a call whose answer was lost can be repeated
//! without harm. All instants are given by the caller; see [`Storage::register`] for whose clock
//! they come from.

use std::time::Duration;

use super::BoxFuture;
use crate::{
    action::{Action, Control},
    id::{InstanceId, OperationId, ReplicaId, WaitKey},
    ledger::StepRecord,
    operation::{Fields, NewOperation, Operation, ProcessKey},
    recorder::{Record, RecordKind},
    state::{Class, OperationState},
    time::Timestamp,
};

/// Answer of a storage call.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why a storage call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is away, slow or full. The call may or may not have had its effect; every call
    /// of the port may be repeated.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// There is no such row.
    #[error("there is no {what} {id}")]
    NotFound {
        /// Kind of row.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The request contradicts what is stored; repeating it changes nothing.
    #[error("{0}")]
    Refused(String),
    /// A row cannot be read: damaged, encrypted with an unknown key, or written by a newer program.
    #[error("a stored row cannot be read: {0}")]
    Unreadable(String),
}

impl StoreError {
    /// Repeating the call later may help.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Holds an operation: the replica, and the number that makes its writes valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub replica: ReplicaId,
    /// The operation's fence when it was taken.
    pub fence: u64,
}

/// Another replica as the database shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its id.
    pub id: ReplicaId,
    /// Its count of heartbeats. Unchanged for the whole lease time, by the observer's own clock,
    /// means dead: no clocks are compared, so none has to be right.
    pub beat: u64,
    /// Engine time of its latest heartbeat.
    pub at: Timestamp,
}

/// Answer to a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// Engine time: that of the latest heartbeat of anybody plus `gap`; at the very first, the
    /// database's clock.
    pub now: Timestamp,
    /// How far the database's clock has gone on since that heartbeat (never less than nothing). A
    /// large gap while others are registered is either a dead fleet or a jump of that clock; who
    /// registers can tell by waiting for a heartbeat.
    pub gap: Duration,
    /// Others are registered; they may be dead.
    pub has_peers: bool,
}

/// Answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// False when the others have given this replica up: its leases are gone and it must register
    /// anew under a new id.
    pub alive: bool,
    /// The database's own time.
    pub database_now: Timestamp,
    /// All other replicas.
    pub peers: Vec<Peer>,
}

/// How many operations of a class a replica can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// Class.
    pub class: Class,
    /// At most this many.
    pub limit: usize,
}

/// A request for due operations.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// Who asks.
    pub replica: ReplicaId,
    /// What counts as due.
    pub now: Timestamp,
    /// The process tables this program has. Operations of others are left for a program that
    /// knows them, so a rolling update neither loses nor repeats anything.
    pub known: Vec<ProcessKey>,
    /// Free places.
    pub wants: Vec<Want>,
}

/// One operation handed to a replica.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The operation, already `in progress` if it could start, or still `pending` if it was asked
    /// to end before it could.
    pub operation: Operation,
    /// Its ledger.
    pub steps: Vec<StepRecord>,
    /// The lease. When the replica parked the operation itself, it is the same as before, and
    /// stage memory is still good.
    pub lease: Lease,
    /// The operation left `pending` with this claim.
    pub started: bool,
    /// What ended the wait; none if the timer did.
    pub woken_by: Option<String>,
    /// The dead replica it was taken from.
    pub taken_from: Option<ReplicaId>,
}

/// Answer to a request for due operations.
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// In order of their due time.
    pub claims: Vec<Claim>,
    /// When the next operation of the wanted classes falls due, if that is known.
    pub next_due: Option<Timestamp>,
}

/// What happens to the operation after a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The holder goes on with the next step.
    Run,
    /// It waits. Due at once instead, and hinted so in this process, if an action or an event came
    /// that the holder has not seen.
    Park {
        /// The safety net: looked at again at this time at the latest.
        due_at: Timestamp,
        /// What ends the wait early.
        wait_on: Option<WaitKey>,
        /// The holder keeps lease and stage memory (short waits), or gives both up.
        keep_lease: bool,
    },
    /// It is paused: no timer, no lease; an action makes it due.
    Hold,
    /// It ends in this state. The next pending operation of the instance becomes due, and whoever
    /// waits on [`WaitKey::operation`] is woken, in the same transaction.
    End {
        /// A finished state.
        state: OperationState,
    },
}

/// One write of a lease holder: the only way a process changes its operation.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Which operation.
    pub operation: OperationId,
    /// By whom.
    pub lease: Lease,
    /// Number of this commit under the lease, from 1. If the row already has it, the first try
    /// went through and its answer was lost: the answer is `Committed` again.
    pub number: u64,
    /// The version the change was made from.
    pub expected_version: u64,
    /// The control number the holder acted on.
    pub seen_control: u64,
    /// The skip request was honoured or is void: forget it, if it is not newer than `seen_control`.
    pub clear_skip: bool,
    /// Time of the write.
    pub at: Timestamp,
    /// The new fields; none to leave them, which also leaves the version.
    pub fields: Option<Fields>,
    /// Ledger rows to insert or replace.
    pub steps: Vec<StepRecord>,
    /// Entries for the flight recorder, with their times.
    pub records: Vec<(Timestamp, RecordKind)>,
    /// What follows.
    pub next: Next,
}

/// Answer to one commit of a group.
#[derive(Debug, Clone)]
pub enum CommitOutcome {
    /// It is durable.
    Committed {
        /// Wishes not met yet.
        control: Box<Control>,
    },
    /// Someone else changed the operation meanwhile: nothing was written. Apply the change to this.
    Conflict(Box<Operation>),
    /// The lease is lost: nothing was written, and nothing may be written any more.
    Fenced,
}

/// Answer to an insert.
#[derive(Debug, Clone)]
pub enum Enqueued {
    /// It is durable.
    New(Operation),
    /// This id, or an operation it joins (removing twice is one removal), is there already.
    Existing(Operation),
}

impl Enqueued {
    /// The operation, whichever it is.
    pub fn operation(&self) -> &Operation {
        match self {
            Self::New(op) | Self::Existing(op) => op,
        }
    }
}

/// Which operations to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of this instance.
    pub instance: Option<InstanceId>,
    /// Only in one of these states; empty means any.
    pub states: Vec<OperationState>,
    /// Only those created before this one, for paging: newest first.
    pub before: Option<OperationId>,
    /// At most this many.
    pub limit: usize,
}

/// Told when something may have become due.
pub trait WakeListener: Send {
    /// Ends at the next hint. Hints may be missed (the poll is the safety net) and may be void.
    fn hint(&mut self) -> BoxFuture<'_, ()>;
}

/// The database.
pub trait Storage: Send + Sync + 'static {
    /// Enters a new replica, if it is not there yet, with the processes it can run, and says what engine
    /// time it is. The engine counts on from there with its monotonic clock. So a jump of the database's
    /// clock is gone with the next heartbeat, and no jump of any wall clock fires or stalls a timer.
    fn register<'a>(
        &'a self,
        replica: &'a ReplicaId,
        known: &'a [ProcessKey],
    ) -> BoxFuture<'a, StoreResult<Registration>>;

    /// Says that a replica lives. One write, whatever the number of its leases.
    fn heartbeat<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<Heartbeat>>;

    /// Gives up a dead replica, if its heartbeat count is still `beat`: its operations are due at
    /// once and their fences raised. Answers how many.
    fn take_over<'a>(&'a self, dead: &'a Peer, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>>;

    /// A replica leaves: the same for itself, without condition.
    fn release<'a>(&'a self, replica: &'a ReplicaId, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>>;

    /// The operations this replica holds and that are neither parked nor ended, with their fences:
    /// what it should be running.
    fn held<'a>(&'a self, replica: &'a ReplicaId) -> BoxFuture<'a, StoreResult<Vec<(OperationId, u64)>>>;

    /// Gives back operations that [`Storage::held`] named but the replica is not running (the
    /// answer to its claim was lost). Due at once, fences raised; void for leases that moved on.
    fn surrender<'a>(
        &'a self,
        replica: &'a ReplicaId,
        leases: &'a [(OperationId, u64)],
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<usize>>;

    /// Inserts an operation, by the rules of [`crate::preemption`].
    fn enqueue<'a>(&'a self, new: NewOperation, now: Timestamp) -> BoxFuture<'a, StoreResult<Enqueued>>;

    /// Takes due operations: those without owner, and those this replica parked itself. A pending
    /// one is started if [`crate::preemption::may_start`] allows, returned as it is if it was
    /// asked to cancel or pause or its budget is spent, and otherwise left aside until the end of
    /// another makes it due, or its budget ends. Takes nothing for a replica that is not registered.
    fn claim<'a>(&'a self, request: &'a ClaimRequest) -> BoxFuture<'a, StoreResult<Claimed>>;

    /// Writes a group of commits, of different operations, in one transaction; each is answered by
    /// itself, in the same order.
    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>>;

    /// Changes an operation from outside its process, if its version is still the expected one.
    /// Refused for a finished operation. Answers the new version, or none on conflict.
    fn update<'a>(
        &'a self,
        id: OperationId,
        expected_version: u64,
        fields: Fields,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Option<u64>>>;

    /// Something happened to the things of these keys: whoever waits on one is due at once, and
    /// whoever is about to wait on one will not. Answers how many were woken.
    fn wake<'a>(&'a self, keys: &'a [WaitKey], cause: &'a str, now: Timestamp) -> BoxFuture<'a, StoreResult<usize>>;

    /// Records an action and makes the operation due. Refused, with a sentence, where it makes no
    /// sense: on a finished operation, a second pause, a resume without pause, a skip of a step
    /// whose ledger row is not unsettled.
    fn act<'a>(
        &'a self,
        id: OperationId,
        action: &'a Action,
        by: &'a str,
        why: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Operation>>;

    /// One operation.
    fn operation<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Operation>>;

    /// Operations, newest first.
    fn operations<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, StoreResult<Vec<Operation>>>;

    /// The ledger of an operation, in order.
    fn steps<'a>(&'a self, id: OperationId) -> BoxFuture<'a, StoreResult<Vec<StepRecord>>>;

    /// The flight recorder of an operation, in order, after the entry `after`.
    fn records<'a>(&'a self, id: OperationId, after: u64, limit: usize) -> BoxFuture<'a, StoreResult<Vec<Record>>>;

    /// Forgets entries of the flight recorder, and wake-ups, older than `before`; at most `limit`
    /// a call, so that no lock is held long. Entries of unfinished operations stay. Answers how many.
    fn purge<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>>;

    /// Encrypts up to `limit` secrets anew that are under an older key. Answers how many.
    fn reencrypt<'a>(&'a self, limit: usize) -> BoxFuture<'a, StoreResult<usize>>;

    /// Counts due operations per class, for the metrics.
    fn due<'a>(&'a self, now: Timestamp) -> BoxFuture<'a, StoreResult<Vec<(Class, usize)>>>;

    /// Processes with unfinished operations that no registered replica can run, and how many: they wait
    /// until a program that knows their version is started.
    fn stranded<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<(ProcessKey, usize)>>>;

    /// A listener for wake-ups.
    fn listen(&self) -> Box<dyn WakeListener>;
}
