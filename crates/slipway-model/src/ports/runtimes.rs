//! The port to what the provisioner stores: runtimes, what was asked of them, and who asked.
//!
//! It stands beside [`Storage`](super::Storage) and is implemented by the same stores, because an
//! operation and what it is about are accepted in one transaction or not at all. The laws are the
//! same: every call is one transaction, and a call whose answer was lost can be repeated.
//!
//! **One operation per runtime** is the law of [`Runtimes::accept`], kept by a unique index of the
//! database and not by looking first: of any number of requests at once exactly one is accepted, and
//! the others are told which.

use std::fmt;

use secrecy::SecretString;
use uuid::Uuid;

use super::{BoxFuture, StoreResult};
use crate::{
    id::OperationId,
    json::JsonText,
    operation::{NewOperation, Operation},
    runtime_record::{
        AgentState, Audit, AuditEntry, ConfigRevision, DirectorIntent, KymaConfig, KymaUpgrade, KymaUpgradeState,
        ProjectName, RuntimeId, RuntimeRecord, ShootName, Tenant,
    },
    state::OperationState,
    time::Timestamp,
};

/// A revision to add. Its number is given by the store.
#[derive(Debug, Clone)]
pub struct NewConfig {
    /// Version of the document's shape.
    pub schema_version: u32,
    /// The normalised input, without secrets.
    pub spec: JsonText,
    /// The rest of it: one JSON text.
    pub secrets: Option<SecretString>,
}

/// A Kyma configuration to add and put in force.
#[derive(Debug, Clone)]
pub struct NewKyma {
    /// Its id, drawn by the caller so that a repeat is the same.
    pub id: Uuid,
    /// The normalised input, without secrets.
    pub spec: JsonText,
    /// The rest of it: one JSON text.
    pub secrets: Option<SecretString>,
    /// It follows one that is in force: an upgrade record is written too. Refused if there is none.
    pub is_upgrade: bool,
}

/// A tenant to be replaced, if it is still the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reassignment {
    /// What the caller saw.
    pub old: Tenant,
    /// What it becomes.
    pub new: Tenant,
}

/// Everything that is stored with one accepted request: all of it, or nothing.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// A new runtime, for a provisioning; else the one that the operation's instance names must live.
    /// When it was deleted, its agent and its version are the store's to say. A tombstone of the same
    /// id is replaced.
    pub runtime: Option<RuntimeRecord>,
    /// The runtime moves to another tenant; written to the audit log as an entry of its own too.
    pub tenant: Option<Reassignment>,
    /// A further revision of the cluster's configuration.
    pub config: Option<NewConfig>,
    /// A further Kyma configuration.
    pub kyma: Option<NewKyma>,
    /// Key of the Director intent that this fulfils. It must be `REGISTERED`: one that the sweeper has
    /// given up is refused, since its registration is gone or going.
    pub intent: Option<String>,
    /// Who asked.
    pub audit: Audit,
    /// The work. Its instance is [`RuntimeId::instance`] of the runtime.
    pub operation: NewOperation,
}

/// Answer to an acceptance.
#[derive(Debug, Clone)]
pub enum Accepted {
    /// It is durable; also when it has been since an earlier try with the same operation id.
    New(Operation),
    /// Nothing was stored: this operation of the runtime has not ended.
    Busy(Operation),
    /// Nothing was stored: a live runtime of the project has this Shoot name.
    NameTaken(RuntimeRecord),
    /// Nothing was stored: a live runtime has this id.
    IdTaken(RuntimeRecord),
    /// Nothing was stored: the runtime has been deprovisioned.
    Gone(RuntimeRecord),
}

/// Answer to a roll-back.
#[derive(Debug, Clone)]
pub enum RolledBack {
    /// This configuration is in force again; also when it has been since an earlier try.
    Done(KymaConfig),
    /// Nothing was changed, for this reason.
    NotAllowed(WhyNotRolledBack),
}

/// Why an upgrade cannot be rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNotRolledBack {
    /// The latest operation is not an upgrade of Kyma.
    NotAnUpgrade(OperationId),
    /// It has not ended.
    InProgress(OperationId),
}

impl fmt::Display for WhyNotRolledBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnUpgrade(id) => write!(f, "the latest operation, {id}, is not an upgrade of Kyma"),
            Self::InProgress(id) => write!(f, "operation {id} is in progress"),
        }
    }
}

/// A change of tenant without an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reassigned {
    /// It has the new tenant, now or since an earlier try.
    Done,
    /// It has neither the old nor the new one: look again.
    Conflict,
}

/// How many operations of a process are in a state, for the metrics.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationCount {
    /// Name of the process, without version.
    pub process: String,
    /// State.
    pub state: OperationState,
    /// How many.
    pub count: u64,
}

/// What the provisioner stores.
pub trait Runtimes: Send + Sync + 'static {
    /// Accepts a request: runtime, configurations, audit entry and operation, or nothing of it.
    /// A text that is too long or holds a character no database takes is refused by its name.
    fn accept<'a>(&'a self, request: &'a Acceptance, now: Timestamp) -> BoxFuture<'a, StoreResult<Accepted>>;

    /// One runtime, also a tombstone.
    fn runtime<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>>;

    /// The live runtime of this name.
    fn runtime_by_name<'a>(
        &'a self,
        project: &'a ProjectName,
        shoot_name: &'a ShootName,
    ) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>>;

    /// Live runtimes by id, after `after`: for rounds over all of them, such as the look at the agents.
    fn live_runtimes<'a>(
        &'a self,
        after: Option<RuntimeId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<RuntimeRecord>>>;

    /// A revision of the cluster's configuration; the latest if none is named.
    fn config<'a>(&'a self, id: RuntimeId, revision: Option<u32>)
    -> BoxFuture<'a, StoreResult<Option<ConfigRevision>>>;

    /// The Kyma configuration in force.
    fn kyma<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<KymaConfig>>>;

    /// The Kyma upgrade that an operation does.
    fn kyma_upgrade<'a>(&'a self, operation: OperationId) -> BoxFuture<'a, StoreResult<Option<KymaUpgrade>>>;

    /// An upgrade has ended: `Succeeded` or `Failed`. Void unless it is in progress, so a repeat, or
    /// a late word after a roll-back, changes nothing.
    fn kyma_upgrade_ended<'a>(
        &'a self,
        operation: OperationId,
        state: KymaUpgradeState,
    ) -> BoxFuture<'a, StoreResult<()>>;

    /// Puts the configuration from before the upgrade in force again, if the runtime's latest operation
    /// is an upgrade of Kyma and has ended. Bookkeeping only.
    fn roll_back_kyma<'a>(
        &'a self,
        id: RuntimeId,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<RolledBack>>;

    /// Moves a runtime to another tenant where no operation is started. The audit log calls it
    /// `tenantReassigned`, whatever was asked, as it does for one that comes with an operation.
    fn reassign<'a>(
        &'a self,
        id: RuntimeId,
        tenant: &'a Reassignment,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Reassigned>>;

    /// The operations of a runtime, newest first, from before `before`. Their order is that of their
    /// acceptance, whatever the clocks said.
    fn runtime_operations<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<OperationId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<Operation>>>;

    /// Stores what an agent was seen doing, unless a later look is stored already.
    fn set_agent<'a>(&'a self, id: RuntimeId, agent: &'a AgentState) -> BoxFuture<'a, StoreResult<()>>;

    /// The runtime is gone: marks it deleted, which frees its name, and erases its secrets, those of
    /// its operations too, and the key they were encrypted with. Void for a tombstone.
    fn tombstone<'a>(&'a self, id: RuntimeId, now: Timestamp) -> BoxFuture<'a, StoreResult<()>>;

    /// Forgets tombstones from before `before` with their configurations; at most `limit` a call. The
    /// audit log and the operations stay. Answers how many.
    fn forget_tombstones<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>>;

    /// Writes down that the Director is about to be asked for a registration. A repeat with the same
    /// key answers what is stored.
    fn plan_intent<'a>(
        &'a self,
        key: &'a str,
        tenant: &'a Tenant,
        name: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<DirectorIntent>>;

    /// The Director has answered with an id. Look at the state that comes back: an intent that was
    /// given up meanwhile is `ABANDONED` (again, if it was taken back before the Director answered)
    /// and cannot be committed any more.
    fn registered<'a>(&'a self, key: &'a str, director_id: &'a str) -> BoxFuture<'a, StoreResult<DirectorIntent>>;

    /// Gives an intent up, before it is taken back in the Director: from here on it cannot be
    /// committed, so nobody takes back the registration of a stored runtime. None if it is committed
    /// or taken back already: leave it alone.
    fn abandon_intent<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<Option<DirectorIntent>>>;

    /// The registration is gone from the Director. Refused unless the intent was given up; void if
    /// it has been taken back already.
    fn unregistered<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<()>>;

    /// Intents planned before `before` that are neither committed nor taken back, oldest first: the
    /// sweeper's work.
    fn open_intents<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<Vec<DirectorIntent>>>;

    /// The audit log of a runtime, newest first, from before the entry `before`.
    fn audit_entries<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<AuditEntry>>>;

    /// Counts the operations of runtimes by process and state, in order; pairs without any are left out.
    fn operation_counts<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<OperationCount>>>;
}
