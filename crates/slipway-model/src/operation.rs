//! One operation: an asynchronous unit of work on one instance.

use std::{fmt, str::FromStr, time::Duration};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    action::Control,
    id::{InstanceId, OperationId},
    json::JsonText,
    reason::LastError,
    state::{OperationState, OperationType},
    text::BadText,
    time::Timestamp,
};

/// Name and version of a process table, spelled `provision@1`. An operation finishes on the
/// version it began with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessKey {
    /// Name of the table.
    pub name: String,
    /// Version of the table.
    pub version: u32,
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

impl FromStr for ProcessKey {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split_once('@')
            .and_then(|(name, version)| Some(Self { name: name.to_owned(), version: version.parse().ok()? }))
            .filter(|key| !key.name.is_empty())
            .ok_or_else(|| BadText::new("process", text, "must look like provision@1"))
    }
}

/// What a caller gives to have an operation done.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// Chosen by the caller, so that a repeat after a lost answer finds the first one.
    pub id: OperationId,
    /// The instance it works on.
    pub instance_id: InstanceId,
    /// What it does.
    pub kind: OperationType,
    /// A suspension.
    pub temporary: bool,
    /// The plan's name, for metrics and filters.
    pub plan: String,
    /// The process that does it.
    pub process: ProcessKey,
    /// How long it may take, from the process table at the time of acceptance.
    pub budget: Duration,
    /// First data of the steps.
    pub data: JsonText,
    /// Values that must be kept encrypted: one JSON text, opaque to engine and store.
    pub secrets: Option<SecretString>,
    /// Who asked, for the record.
    pub by: String,
}

impl NewOperation {
    /// The operation as it is first stored: pending, and due at once, so that somebody looks
    /// whether it may start.
    pub fn accepted(self, now: Timestamp) -> Operation {
        Operation {
            id: self.id,
            instance_id: self.instance_id,
            kind: self.kind,
            temporary: self.temporary,
            plan: self.plan,
            process: self.process,
            state: OperationState::Pending,
            fields: Fields {
                description: "operation accepted".to_owned(),
                finished_stages: Vec::new(),
                skipped_steps: Vec::new(),
                last_error: None,
                ending: None,
                data: self.data,
            },
            secrets: self.secrets,
            version: 1,
            control: Control::default(),
            budget: self.budget,
            budget_from: self.kind.budget_counts_queueing().then_some(now),
            created_at: now,
            started_at: None,
            finished_at: None,
            updated_at: now,
            schedule: Schedule { due_at: Some(now), ..Schedule::default() },
        }
    }
}

/// How an operation will end once its finalizer stages have run. Stored with the step that decided
/// it, so a crash in a finalizer cannot change the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The final state.
    pub state: OperationState,
    /// The sentence users read.
    pub description: String,
}

/// An operation as it is stored.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Id.
    pub id: OperationId,
    /// The instance it works on.
    pub instance_id: InstanceId,
    /// What it does.
    pub kind: OperationType,
    /// A suspension.
    pub temporary: bool,
    /// The plan's name.
    pub plan: String,
    /// Its process.
    pub process: ProcessKey,
    /// Where it stands.
    pub state: OperationState,
    /// What a step may change.
    pub fields: Fields,
    /// Encrypted at rest.
    pub secrets: Option<SecretString>,
    /// Raised by every change of `fields`.
    pub version: u64,
    /// Wishes not met yet.
    pub control: Control,
    /// How long it may take.
    pub budget: Duration,
    /// Begin of its budget; moved on by the length of every pause. None while an upgrade is pending.
    pub budget_from: Option<Timestamp>,
    /// Accepted.
    pub created_at: Timestamp,
    /// Left `pending`.
    pub started_at: Option<Timestamp>,
    /// Ended.
    pub finished_at: Option<Timestamp>,
    /// Latest change.
    pub updated_at: Timestamp,
    /// When it is looked at, by whom, and what it waits on.
    pub schedule: Schedule,
}

impl Operation {
    /// When its budget ends; none while it has not begun.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.budget_from.map(|from| from + self.budget)
    }
}

/// The part of an operation that its process writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// The sentence users read.
    pub description: String,
    /// Stages that never run again, in the order they finished.
    pub finished_stages: Vec<String>,
    /// Steps that were given up (`executed_but_not_completed`).
    pub skipped_steps: Vec<String>,
    /// What made it fail.
    pub last_error: Option<LastError>,
    /// The verdict, once there is one.
    pub ending: Option<Ending>,
    /// Outputs of steps. Never a secret.
    pub data: JsonText,
}

/// When and by whom an operation is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// When it is looked at again; none while a step runs, while held, and after the end.
    pub due_at: Option<Timestamp>,
    /// What ends the wait early.
    pub wait_on: Option<crate::id::WaitKey>,
    /// The replica that holds its lease.
    pub owner: Option<crate::id::ReplicaId>,
    /// Raised with every change of holder; writes with an older one are refused.
    pub fence: u64,
    /// Commits made under the present fence; makes the repeat of a commit harmless.
    pub commits: u64,
}
