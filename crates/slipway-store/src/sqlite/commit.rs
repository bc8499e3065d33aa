//! Committing a group of step results: one transaction, one disk flush, however many.

use std::collections::HashMap;

use slipway_model::{
    Control, OperationState, Timestamp, WaitKey,
    ports::{Commit, CommitOutcome, Next},
};
use sqlx::{SqliteConnection, types::Uuid};

use super::{actions::wake, enqueue::record, read};
use crate::{
    claims::{Waiting, waiting_columns},
    error::Tried,
    rows::{
        self, Cells, Standing, Verdict, counted, distinct_steps, json, judge, maybe_json, micros, no_operation,
        refuse_doubles, signed, unreadable,
    },
    secrets::Keyring,
};

const STANDING: &str = "
    SELECT id, instance_id, state, version, control_seq, cancel_request, pause_request, skip_request, due_at,
        wait_on, wait_seen, woken_by, owner, fence, commits
    FROM operations WHERE id IN (SELECT unhex(value) FROM json_each(?1))";

/// What every commit writes; the indexed columns are not named, so that no index is touched.
const PROGRESS: &str = "UPDATE operations SET commits = ?2, updated_at = ?3, skip_request = ?4 WHERE id = ?1";
const PROGRESS_WITH_FIELDS: &str = "
    UPDATE operations SET commits = ?2, updated_at = ?3, skip_request = ?4, version = version + 1,
        description = ?5, finished_stages = ?6, skipped_steps = ?7, last_error = ?8, ending = ?9, data = ?10
    WHERE id = ?1";
const SCHEDULE: &str = "
    UPDATE operations SET due_at = ?2, wait_on = ?3, wait_seen = ?4, woken_by = ?5, owner = ?6, state = ?7,
        finished_at = ?8
    WHERE id = ?1";

const STEP: &str = "
    INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, first_failure_at,
        last_run_at, next_run_at, reason)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, first_failure_at = excluded.first_failure_at,
        last_run_at = excluded.last_run_at, next_run_at = excluded.next_run_at, reason = excluded.reason";

const SIGNAL: &str = "SELECT number FROM signals WHERE key = ?1";
const PENDING: &str = concat!(
    "SELECT ",
    waiting_columns!(),
    " FROM operations INDEXED BY operations_instance WHERE instance_id = ?1 AND state = 'pending'"
);
const MAKE_DUE: &str = "UPDATE operations SET due_at = ?2, woken_by = ?3 WHERE id = ?1";

/// The part of a row that a commit is judged by and changes.
struct Row {
    instance: String,
    state: OperationState,
    version: u64,
    control: Control,
    wait_on: Option<String>,
    wait_seen: i64,
    woken_by: Option<String>,
    owner: Option<String>,
    fence: u64,
    commits: u64,
}

/// The answers, and whether somebody may have become due by an end.
pub(super) async fn commit(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    commits: &[Commit],
) -> Tried<(Vec<CommitOutcome>, bool)> {
    refuse_doubles(commits)?;
    let mut rows = read_rows(conn, commits).await?;
    let (mut outcomes, mut ended) = (Vec::with_capacity(commits.len()), false);
    for commit in commits {
        let row = rows.remove(&commit.operation.as_uuid()).ok_or_else(|| no_operation(commit.operation))?;
        let standing = Standing {
            state: row.state,
            version: row.version,
            owner: row.owner.as_deref(),
            fence: row.fence,
            commits: row.commits,
        };
        outcomes.push(match judge(commit, &standing)? {
            Verdict::Take => {
                ended |= matches!(commit.next, Next::End { .. });
                write(conn, commit, row).await?
            }
            Verdict::Already => CommitOutcome::Committed { version: row.version, control: Box::new(row.control) },
            Verdict::Fenced => CommitOutcome::Fenced,
            Verdict::Conflict => {
                CommitOutcome::Conflict(Box::new(read::operation(conn, keyring, commit.operation).await?))
            }
        });
    }
    Ok((outcomes, ended))
}

async fn read_rows(conn: &mut SqliteConnection, commits: &[Commit]) -> Tried<HashMap<Uuid, Row>> {
    let ids: Vec<String> = commits.iter().map(|commit| commit.operation.as_uuid().simple().to_string()).collect();
    let mut rows = HashMap::with_capacity(commits.len());
    for row in sqlx::query(STANDING).bind(json(&ids)).fetch_all(conn).await? {
        let standing = Row {
            instance: row.text("instance_id")?,
            state: row.text("state")?.parse().map_err(unreadable)?,
            version: counted(row.int("version")?)?,
            control: rows::control(&row)?,
            wait_on: row.maybe_text("wait_on")?,
            wait_seen: row.int("wait_seen")?,
            woken_by: row.maybe_text("woken_by")?,
            owner: row.maybe_text("owner")?,
            fence: counted(row.int("fence")?)?,
            commits: counted(row.int("commits")?)?,
        };
        rows.insert(row.uuid("id")?, standing);
    }
    Ok(rows)
}

async fn write(conn: &mut SqliteConnection, commit: &Commit, mut row: Row) -> Tried<CommitOutcome> {
    if commit.clear_skip && row.control.seq <= commit.seen_control {
        row.control.skip = None;
    }
    write_progress(conn, commit, &row).await?;
    row.version += u64::from(commit.fields.is_some());
    for (step, seq) in distinct_steps(commit) {
        sqlx::query(STEP)
            .bind(commit.operation.as_uuid())
            .bind(seq)
            .bind(&step.stage)
            .bind(&step.step)
            .bind(step.status.as_str())
            .bind(step.attempts)
            .bind(micros(step.first_run_at))
            .bind(micros(step.first_failure_at))
            .bind(micros(step.last_run_at))
            .bind(micros(step.next_run_at))
            .bind(&step.reason)
            .execute(&mut *conn)
            .await?;
    }
    for (at, kind) in &commit.records {
        record(conn, commit.operation, *at, kind).await?;
    }
    match commit.next {
        Next::Run => {}
        Next::Park { .. } | Next::Hold => schedule(conn, commit, &row).await?,
        Next::End { .. } => {
            schedule(conn, commit, &row).await?;
            let cause = format!("end of operation {}", commit.operation);
            wake_next_pending(conn, &row.instance, &cause, commit.at).await?;
            wake(conn, &[WaitKey::operation(commit.operation)], &cause, commit.at).await?;
        }
    }
    Ok(CommitOutcome::Committed { version: row.version, control: Box::new(row.control) })
}

async fn write_progress(conn: &mut SqliteConnection, commit: &Commit, row: &Row) -> Tried<()> {
    let sql = if commit.fields.is_some() { PROGRESS_WITH_FIELDS } else { PROGRESS };
    let mut query = sqlx::query(sql)
        .bind(commit.operation.as_uuid())
        .bind(signed(commit.number))
        .bind(commit.at.as_micros())
        .bind(maybe_json(row.control.skip.as_ref()));
    if let Some(fields) = &commit.fields {
        query = query
            .bind(&fields.description)
            .bind(json(&fields.finished_stages))
            .bind(json(&fields.skipped_steps))
            .bind(maybe_json(fields.last_error.as_ref()))
            .bind(maybe_json(fields.ending.as_ref()))
            .bind(fields.data.as_str());
    }
    query.execute(conn).await?;
    Ok(())
}

/// What follows: the row after a wait, a hold or an end.
async fn schedule(conn: &mut SqliteConnection, commit: &Commit, row: &Row) -> Tried<()> {
    let unseen_wish = row.control.seq > commit.seen_control;
    let (mut due_at, mut wait_on) = (None, row.wait_on.as_deref());
    let (mut wait_seen, mut woken_by) = (row.wait_seen, row.woken_by.as_deref());
    let (mut owner, mut state, mut finished_at) = (None, row.state, None);
    match &commit.next {
        Next::Run => return Ok(()),
        Next::Park { due_at: timer, wait_on: key, keep_lease } => {
            let key = key.as_ref().map(WaitKey::as_str);
            let signal = match key {
                Some(key) => sqlx::query_scalar(SIGNAL).bind(key).fetch_optional(&mut *conn).await?.unwrap_or(0),
                None => 0,
            };
            let seen = if wait_on == key { wait_seen } else { 0 };
            let unseen_event = signal > seen;
            due_at = Some(if unseen_wish || unseen_event { commit.at } else { *timer });
            if unseen_event {
                woken_by = Some("an event during the last look");
            }
            (wait_on, wait_seen) = (key, signal);
            owner = row.owner.as_deref().filter(|_| *keep_lease);
        }
        Next::Hold => due_at = unseen_wish.then_some(commit.at),
        Next::End { state: end } => (wait_on, state, finished_at) = (None, *end, Some(commit.at)),
    }
    sqlx::query(SCHEDULE)
        .bind(commit.operation.as_uuid())
        .bind(micros(due_at))
        .bind(wait_on)
        .bind(wait_seen)
        .bind(woken_by)
        .bind(owner)
        .bind(state.as_str())
        .bind(micros(finished_at))
        .execute(conn)
        .await?;
    Ok(())
}

/// Makes the first pending operation of the instance due, now that another has ended.
async fn wake_next_pending(conn: &mut SqliteConnection, instance: &str, cause: &str, at: Timestamp) -> Tried<()> {
    let found = sqlx::query(PENDING).bind(instance).fetch_all(&mut *conn).await?;
    let waiting: Vec<Waiting> = found.iter().filter_map(|row| Waiting::read(row).ok()).collect();
    if let Some(id) = Waiting::next(waiting.iter()) {
        sqlx::query(MAKE_DUE).bind(id.as_uuid()).bind(at.as_micros()).bind(cause).execute(conn).await?;
    }
    Ok(())
}
