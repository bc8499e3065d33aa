//! What goes over the wire between the operator API and whoever calls it. Both sides use these
//! types, so they cannot drift; the domain's own types are not sent, because a type that is sent
//! is a promise.
//!
//! Instants are RFC 3339 texts. A client passes over fields it does not know; the server refuses
//! them, because a misspelt wish that is ignored looks like one that was met.

use serde::{Deserialize, Serialize};

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Id.
    pub id: String,
    /// The instance it works on.
    pub instance_id: String,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: String,
    /// A suspension.
    pub temporary: bool,
    /// The plan's name.
    pub plan: String,
    /// Process and version.
    pub process: String,
    /// Where it stands.
    pub state: String,
    /// The sentence for its user.
    pub description: String,
    /// Stages that never run again.
    pub finished_stages: Vec<String>,
    /// Steps that were given up.
    pub executed_but_not_completed: Vec<String>,
    /// What made it fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// What ends its wait early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_on: Option<String>,
    /// When it is looked at again at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_look_at: Option<String>,
    /// Asked to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Wish>,
    /// Asked to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Wish>,
    /// Accepted.
    pub created_at: String,
    /// Begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Latest change.
    pub updated_at: String,
    /// End of its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// Why nobody can go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stranded: Option<String>,
}

/// What made an operation fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// Details, for operators.
    pub message: String,
    /// Why.
    pub reason: String,
    /// Who is to blame.
    pub component: String,
    /// The step that failed; empty when the engine ended the operation.
    pub step: String,
}

/// Who asked for something, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Who.
    pub by: String,
    /// Why.
    pub why: String,
    /// When.
    pub at: String,
}

/// Answer of `GET /operations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationList {
    /// Newest first.
    pub operations: Vec<Operation>,
    /// Give this as `before` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<String>,
}

/// Answer of `GET /operations/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationDetails {
    /// The operation.
    pub operation: Operation,
    /// Its ledger, in order.
    pub steps: Vec<Step>,
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Stage.
    pub stage: String,
    /// Step.
    pub step: String,
    /// How it stands.
    pub status: String,
    /// Runs in all.
    pub attempts: u32,
    /// Begin of the present series of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_run_at: Option<String>,
    /// First error since the last good answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure_at: Option<String>,
    /// Latest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_at: Option<String>,
    /// When it is looked at again at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<String>,
    /// Why it waits, was tried again, was skipped or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Answer of `GET /operations/{id}/records`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordList {
    /// In order.
    pub records: Vec<Record>,
    /// Give this as `after` for what comes next; absent when nothing was left for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// One entry of the flight recorder: a sentence that reads alone, and the parts it was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Grows; the order of entries.
    pub id: u64,
    /// When.
    pub at: String,
    /// `accepted`, `started`, `claimed`, `attempt`, `call`, `stage_finished`, `action` or `ended`.
    pub kind: String,
    /// What happened.
    pub sentence: String,
    /// Stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Which run of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Duration in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// What the step said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Looked at again at this time at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What ends the wait early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The replica that began or took the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<String>,
    /// The dead replica it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<String>,
    /// What ended the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_by: Option<String>,
    /// The outside system of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Method of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Status of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why a call had no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What somebody asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How the operation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// One element of the answer of `GET /events`. The spelling of the keys is contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Grows within an operation.
    #[serde(rename = "ID")]
    pub id: String,
    /// `info` or `error`.
    #[serde(rename = "Level")]
    pub level: String,
    /// Instance.
    #[serde(rename = "InstanceID")]
    pub instance_id: String,
    /// Operation.
    #[serde(rename = "OperationID")]
    pub operation_id: String,
    /// What happened.
    #[serde(rename = "Message")]
    pub message: String,
    /// When.
    #[serde(rename = "CreatedAt")]
    pub created_at: String,
}

/// Body of `POST /operations`. It may hold secrets, so it does not print.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartOperation {
    /// Name of the process.
    pub process: String,
    /// The instance to work on.
    pub instance_id: String,
    /// Chosen by the caller, so that a repeat after a lost answer finds the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Who asks, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Values for the steps that are stored encrypted and shown to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Body of `POST /operations/{id}/actions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// `retry_now`, `skip_step`, `cancel`, `pause` or `resume`.
    pub action: String,
    /// For `skip_step`: the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who acts.
    pub by: String,
    /// Why.
    pub why: String,
}

/// Body of `POST /wake`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// What something happened to.
    pub key: String,
    /// What happened.
    pub cause: String,
}

/// Answer of `POST /wake`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Woken {
    /// How many operations were woken.
    pub woken: usize,
}

/// Body of every answer that is no good news.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A word for programs.
    pub error: String,
    /// A sentence for people: what is wrong, and what to do.
    pub description: String,
}
