//! Rows and the words of the model, for both databases: which column holds what.

use std::{collections::HashSet, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, de::DeserializeOwned};
use slipway_model::{
    Control, JsonText, Operation, OperationId, ReplicaId, StepRecord, Timestamp,
    operation::{Fields, Schedule},
    ports::{Commit, Next, Peer, Registration, StoreError, StoreResult},
    recorder::Record,
    state::OperationState,
};
use sqlx::{Row, postgres::PgRow, sqlite::SqliteRow, types::Uuid};

use crate::secrets::Keyring;

/// All columns of an operation, for `concat!` into constant statements.
macro_rules! operation_columns {
    () => {
        "id, instance_id, kind, temporary, plan, process, state, description, finished_stages, skipped_steps, \
         last_error, ending, data, secrets, secrets_key, version, control_seq, cancel_request, pause_request, \
         skip_request, budget, budget_from, created_at, started_at, finished_at, updated_at, due_at, wait_on, wait_seen, \
         woken_by, taken_from, owner, fence, commits"
    };
}
pub(crate) use operation_columns;

/// All columns of a ledger row.
macro_rules! step_columns {
    () => {
        "operation_id, seq, stage, step, status, attempts, first_run_at, first_failure_at, last_run_at, next_run_at, \
         reason"
    };
}
pub(crate) use step_columns;

/// The cells of a row by name. The databases differ in their types, not in what we read.
pub(crate) trait Cells {
    fn text(&self, column: &str) -> StoreResult<String>;
    fn maybe_text(&self, column: &str) -> StoreResult<Option<String>>;
    fn int(&self, column: &str) -> StoreResult<i64>;
    fn maybe_int(&self, column: &str) -> StoreResult<Option<i64>>;
    fn flag(&self, column: &str) -> StoreResult<bool>;
    fn uuid(&self, column: &str) -> StoreResult<Uuid>;
    fn maybe_uuid(&self, column: &str) -> StoreResult<Option<Uuid>>;
    fn maybe_bytes(&self, column: &str) -> StoreResult<Option<Vec<u8>>>;
}

macro_rules! cells_of {
    ($row:ty) => {
        impl Cells for $row {
            fn text(&self, column: &str) -> StoreResult<String> {
                self.try_get(column).map_err(unreadable)
            }
            fn maybe_text(&self, column: &str) -> StoreResult<Option<String>> {
                self.try_get(column).map_err(unreadable)
            }
            fn int(&self, column: &str) -> StoreResult<i64> {
                self.try_get(column).map_err(unreadable)
            }
            fn maybe_int(&self, column: &str) -> StoreResult<Option<i64>> {
                self.try_get(column).map_err(unreadable)
            }
            fn flag(&self, column: &str) -> StoreResult<bool> {
                self.try_get(column).map_err(unreadable)
            }
            fn uuid(&self, column: &str) -> StoreResult<Uuid> {
                self.try_get(column).map_err(unreadable)
            }
            fn maybe_uuid(&self, column: &str) -> StoreResult<Option<Uuid>> {
                self.try_get(column).map_err(unreadable)
            }
            fn maybe_bytes(&self, column: &str) -> StoreResult<Option<Vec<u8>>> {
                self.try_get(column).map_err(unreadable)
            }
        }
    };
}
cells_of!(PgRow);
cells_of!(SqliteRow);

/// What cannot be read is reported as such, with what was wrong.
pub(crate) fn unreadable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable(error.to_string())
}

pub(crate) fn no_operation(id: OperationId) -> StoreError {
    StoreError::NotFound { what: "operation", id: id.to_string() }
}

pub(crate) fn has_ended(id: OperationId, state: OperationState) -> StoreError {
    StoreError::Refused(format!("operation {id} has already ended: {state}"))
}

/// A count for the database. Counts grow by one a write, so the limit is out of reach.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn counted(number: i64) -> StoreResult<u64> {
    u64::try_from(number).map_err(|_| unreadable(format!("{number} is not a count")))
}

pub(crate) fn micros(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_micros)
}

fn instant(row: &impl Cells, column: &str) -> StoreResult<Option<Timestamp>> {
    Ok(row.maybe_int(column)?.map(Timestamp::from_micros))
}

/// The JSON text of a value of ours.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("our own types serialize: their keys are texts and nothing in them fails")
}

pub(crate) fn maybe_json<T: Serialize>(value: Option<&T>) -> Option<String> {
    value.map(json)
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> StoreResult<T> {
    serde_json::from_str(text).map_err(unreadable)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> StoreResult<T> {
    text.parse().map_err(unreadable)
}

fn maybe<T>(text: Option<String>, parse: impl Fn(&str) -> StoreResult<T>) -> StoreResult<Option<T>> {
    text.as_deref().map(parse).transpose()
}

/// Reads an operation, naming it in every error.
pub(crate) fn operation(row: &impl Cells, keyring: &Keyring) -> StoreResult<Operation> {
    let id = OperationId::from(row.uuid("id")?);
    read_operation(row, id, keyring).map_err(|error| match error {
        StoreError::Unreadable(problem) => unreadable(format!("operation {id}: {problem}")),
        other => other,
    })
}

fn read_operation(row: &impl Cells, id: OperationId, keyring: &Keyring) -> StoreResult<Operation> {
    Ok(Operation {
        id,
        instance_id: parsed(&row.text("instance_id")?)?,
        kind: parsed(&row.text("kind")?)?,
        temporary: row.flag("temporary")?,
        plan: row.text("plan")?,
        process: parsed(&row.text("process")?)?,
        state: parsed(&row.text("state")?)?,
        fields: Fields {
            description: row.text("description")?,
            finished_stages: from_json(&row.text("finished_stages")?)?,
            skipped_steps: from_json(&row.text("skipped_steps")?)?,
            last_error: maybe(row.maybe_text("last_error")?, from_json)?,
            ending: maybe(row.maybe_text("ending")?, from_json)?,
            data: JsonText::parse(row.text("data")?).map_err(unreadable)?,
        },
        secrets: secrets(row, id, keyring)?,
        version: counted(row.int("version")?)?,
        control: control(row)?,
        budget: Duration::from_micros(counted(row.int("budget")?)?),
        budget_from: instant(row, "budget_from")?,
        created_at: Timestamp::from_micros(row.int("created_at")?),
        started_at: instant(row, "started_at")?,
        finished_at: instant(row, "finished_at")?,
        updated_at: Timestamp::from_micros(row.int("updated_at")?),
        schedule: Schedule {
            due_at: instant(row, "due_at")?,
            wait_on: maybe(row.maybe_text("wait_on")?, parsed)?,
            owner: maybe(row.maybe_text("owner")?, parsed)?,
            fence: counted(row.int("fence")?)?,
            commits: counted(row.int("commits")?)?,
        },
    })
}

/// The wishes of an operation.
pub(crate) fn control(row: &impl Cells) -> StoreResult<Control> {
    Ok(Control {
        seq: counted(row.int("control_seq")?)?,
        cancel: maybe(row.maybe_text("cancel_request")?, from_json)?,
        pause: maybe(row.maybe_text("pause_request")?, from_json)?,
        skip: maybe(row.maybe_text("skip_request")?, from_json)?,
    })
}

fn secrets(row: &impl Cells, id: OperationId, keyring: &Keyring) -> StoreResult<Option<SecretString>> {
    let (Some(sealed), Some(key)) = (row.maybe_bytes("secrets")?, row.maybe_text("secrets_key")?) else {
        return Ok(None);
    };
    open_secret(keyring, id, &key, &sealed).map(Some)
}

/// Opens the secret of an operation.
pub(crate) fn open_secret(keyring: &Keyring, id: OperationId, key: &str, sealed: &[u8]) -> StoreResult<SecretString> {
    let plain = keyring.open(key, id.as_uuid().as_bytes(), sealed).map_err(unreadable)?;
    let plain = String::from_utf8(plain).map_err(|_| unreadable("its secret is not text"))?;
    Ok(SecretString::from(plain))
}

/// Seals the secret of an operation under the active key.
pub(crate) fn seal_secret(keyring: &Keyring, id: OperationId, secret: &SecretString) -> Vec<u8> {
    keyring.seal(id.as_uuid().as_bytes(), secret.expose_secret().as_bytes())
}

/// What a claim gives along with the operation and then forgets.
pub(crate) fn claim_notes(row: &impl Cells) -> StoreResult<(Option<String>, Option<ReplicaId>)> {
    Ok((row.maybe_text("woken_by")?, maybe(row.maybe_text("taken_from")?, parsed)?))
}

/// Reads a ledger row.
pub(crate) fn step(row: &impl Cells) -> StoreResult<StepRecord> {
    let small = |column: &str| u32::try_from(row.int(column)?).map_err(unreadable);
    Ok(StepRecord {
        seq: small("seq")?,
        stage: row.text("stage")?,
        step: row.text("step")?,
        status: parsed(&row.text("status")?)?,
        attempts: small("attempts")?,
        first_run_at: instant(row, "first_run_at")?,
        first_failure_at: instant(row, "first_failure_at")?,
        last_run_at: instant(row, "last_run_at")?,
        next_run_at: instant(row, "next_run_at")?,
        reason: row.maybe_text("reason")?,
    })
}

/// Reads an entry of the flight recorder.
pub(crate) fn record(row: &impl Cells) -> StoreResult<Record> {
    Ok(Record {
        id: counted(row.int("id")?)?,
        operation: OperationId::from(row.uuid("operation_id")?),
        at: Timestamp::from_micros(row.int("at")?),
        kind: from_json(&row.text("kind")?)?,
    })
}

/// The ledger rows of a commit, each step once: a later one replaces an earlier one but keeps its
/// place, as if they had been written one after the other.
pub(crate) fn distinct_steps(commit: &Commit) -> impl Iterator<Item = (&StepRecord, u32)> {
    let same = |a: &StepRecord, b: &StepRecord| a.stage == b.stage && a.step == b.step;
    commit.steps.iter().enumerate().filter_map(move |(at, step)| {
        let replaced = commit.steps[at + 1..].iter().any(|later| same(later, step));
        let first = commit.steps.iter().find(|earlier| same(earlier, step)).map_or(step.seq, |first| first.seq);
        (!replaced).then_some((step, first))
    })
}

/// What decides whether a row takes a commit.
pub(crate) struct RowState<'a> {
    pub(crate) state: OperationState,
    pub(crate) version: u64,
    pub(crate) owner: Option<&'a str>,
    pub(crate) fence: u64,
    pub(crate) commits: u64,
}

impl<'a> RowState<'a> {
    pub(crate) fn of(op: &'a Operation) -> Self {
        let Schedule { owner, fence, commits, .. } = &op.schedule;
        let owner = owner.as_ref().map(ReplicaId::as_str);
        Self { state: op.state, version: op.version, owner, fence: *fence, commits: *commits }
    }
}

/// How a row stands to a commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommitVerdict {
    /// It takes it.
    Take,
    /// It has it: the first try went through and its answer was lost.
    Already,
    /// The lease is lost.
    Fenced,
    /// Its version moved on.
    Conflict,
}

/// Judges a commit by the row; refuses an end that the model's table of states does not allow.
pub(crate) fn judge(commit: &Commit, row: &RowState<'_>) -> StoreResult<CommitVerdict> {
    let same_fence = row.fence == commit.lease.fence;
    // An ended or parked operation may have no owner any more, but the fence tells that nobody has
    // held it since.
    if same_fence && row.commits >= commit.number {
        return Ok(CommitVerdict::Already);
    }
    if !same_fence || row.owner != Some(commit.lease.replica.as_str()) || row.state.is_finished() {
        return Ok(CommitVerdict::Fenced);
    }
    if row.version != commit.expected_version {
        return Ok(CommitVerdict::Conflict);
    }
    match commit.next {
        Next::End { state } if !row.state.may_become(state) => {
            Err(StoreError::Refused(format!("operation {} cannot go from {} to {state}", commit.operation, row.state)))
        }
        Next::End { .. } | Next::Run | Next::Park { .. } | Next::Hold => Ok(CommitVerdict::Take),
    }
}

/// Refuses a group with two commits of one operation: they could not be answered by one statement.
pub(crate) fn refuse_doubles(commits: &[Commit]) -> StoreResult<()> {
    let mut seen = HashSet::with_capacity(commits.len());
    match commits.iter().find(|commit| !seen.insert(commit.operation)) {
        Some(twice) => Err(StoreError::Refused(format!("a group holds two commits of operation {}", twice.operation))),
        None => Ok(()),
    }
}

/// The answer to a registration, from the database's clock and what the latest heartbeat left.
pub(crate) fn registration(
    wall: i64,
    engine_at: Option<i64>,
    database_at: Option<i64>,
    has_peers: bool,
) -> Registration {
    let (wall, latest, then) = (
        Timestamp::from_micros(wall),
        Timestamp::from_micros(engine_at.unwrap_or(wall)),
        Timestamp::from_micros(database_at.unwrap_or(wall)),
    );
    let gap = wall.since(then);
    Registration { now: latest + gap, gap, has_peers }
}

/// The other replicas.
pub(crate) fn peers(rows: &[impl Cells]) -> StoreResult<Vec<Peer>> {
    rows.iter()
        .map(|row| {
            let id = row.text("id")?.parse().map_err(unreadable)?;
            Ok(Peer { id, beat: counted(row.int("beat")?)?, at: Timestamp::from_micros(row.int("at")?) })
        })
        .collect()
}
