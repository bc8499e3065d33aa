//! The flight recorder: what happened to an operation, in order, for good.
//!
//! A product feature, not a log: API, command line and dashboard read it, and the user-visible
//! events are made from it. It never holds a secret: calls are recorded by system, method, path
//! and status, without query, headers or body.

use serde::{Deserialize, Serialize};

use crate::{
    id::{OperationId, ReplicaId},
    state::OperationState,
    time::{Timestamp, spell},
};
use std::time::Duration;

/// One entry, as read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Grows with every entry of the store; entries of one operation are ordered by it.
    pub id: u64,
    /// Whose.
    pub operation: OperationId,
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub kind: RecordKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecordKind {
    /// The request was accepted.
    Accepted {
        /// By whom or through what.
        by: String,
    },
    /// The operation left `pending`.
    Started {
        /// Who began it.
        replica: ReplicaId,
    },
    /// A replica took the operation: the first time, after a wait, or from a dead one.
    Claimed {
        /// Who holds it now.
        replica: ReplicaId,
        /// The replica that lost it, if it was taken over; the step it was in runs again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taken_from: Option<ReplicaId>,
        /// What ended the wait: an event, an operator, or the timer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        woken_by: Option<String>,
    },
    /// One run of one step.
    Attempt {
        /// Stage.
        stage: String,
        /// Step.
        step: String,
        /// Which run of this step, from 1.
        attempt: u32,
        /// `done`, `wait`, `retry`, `skip`, `fail` or `finish`.
        outcome: Outcome,
        /// How long the step's code ran, in microseconds.
        took_us: u64,
        /// What the step said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// For a wait or retry: when it is looked at again at the latest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// For a wait: what ends it early.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
    },
    /// One outgoing call of a step.
    Call {
        /// The step that made it.
        step: String,
        /// The outside system.
        system: String,
        /// HTTP method or verb.
        method: String,
        /// Path without query; ids stay, secrets never stand in a path.
        path: String,
        /// Status, or none when no answer came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// What went wrong on the way, when no answer came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Duration in microseconds.
        took_us: u64,
    },
    /// All steps of a stage are settled; it never runs again.
    StageFinished {
        /// Stage.
        stage: String,
    },
    /// Somebody acted on the operation.
    Action {
        /// The action's name.
        action: String,
        /// Who.
        by: String,
        /// Why.
        why: String,
        /// For a skip: the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// The operation ended.
    Ended {
        /// How.
        state: OperationState,
        /// The sentence users read.
        description: String,
    },
}

/// How a run of a step ended; the words of the step outcome enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Reached its goal.
    Done,
    /// An expected state is not reached yet.
    Wait,
    /// An error, to be tried again.
    Retry,
    /// Given up; the operation goes on.
    Skip,
    /// Failed for good.
    Fail,
    /// Ended the whole operation.
    Finish,
}

impl Outcome {
    /// The word for metrics and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Wait => "wait",
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Fail => "fail",
            Self::Finish => "finish",
        }
    }
}

/// Level of a user-visible event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// All is going its way.
    Info,
    /// Something failed.
    Error,
}

impl Record {
    /// The event that `GET /events` shows for this entry, if it shows one.
    pub fn event(&self) -> Option<(Level, String)> {
        let event = match &self.kind {
            RecordKind::Attempt { step, outcome, until, .. } => match outcome {
                Outcome::Done | Outcome::Finish => (Level::Info, format!("processing step: {step}")),
                Outcome::Wait | Outcome::Retry => {
                    let pause = until.map_or(Duration::ZERO, |until| until.since(self.at));
                    (Level::Info, format!("step {step} sleeping for {}", spell(pause)))
                }
                Outcome::Skip => (Level::Error, format!("step {step} failed retries: operation continues")),
                Outcome::Fail => (Level::Error, format!("step {step} failed")),
            },
            RecordKind::Ended { state, .. } => {
                let level = if *state == OperationState::Failed { Level::Error } else { Level::Info };
                (level, format!("operation processing {state}"))
            }
            RecordKind::Action { action, by, why, .. } => (Level::Info, format!("{action} by {by}: {why}")),
            RecordKind::Accepted { .. }
            | RecordKind::Started { .. }
            | RecordKind::Claimed { .. }
            | RecordKind::Call { .. }
            | RecordKind::StageFinished { .. } => return None,
        };
        Some(event)
    }
}
