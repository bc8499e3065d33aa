//! Committing a group of step results: one transaction, one disk flush, however many.

use std::collections::HashMap;

use slipway_model::{
    Control, OperationState, Timestamp, WaitKey,
    ports::{Commit, CommitOutcome, Next},
};
use sqlx::{SqliteConnection, types::Uuid};

use crate::{
    claims::{Waiting, waiting_columns},
    error::Tried,
    hints::News,
    operations::{self, MAKE_DUE, Queue, end_of},
    rows::{
        self, Cells, CommitVerdict, RowState, counted, distinct_steps, json, judge, maybe_json, micros, no_operation,
        refuse_doubles, signed, unreadable,
    },
    secrets::Keyring,
    sql::{Conn, args},
};

const STANDING: &str = "
    SELECT id, instance_id, state, version, control_seq, cancel_request, pause_request, skip_request, due_at,
        wait_on, wait_seen, woken_by, owner, fence, commits
    FROM operations WHERE id IN (SELECT unhex(value) FROM json_each($1))";

/// What every commit writes, for a whole group at once: a statement costs more than the rows it
/// writes, so a group is handed over as one JSON text per table. The indexed columns are not named,
/// so that no index is touched.
const PROGRESS: &str = "
    UPDATE operations SET
        commits = c.value ->> 1, updated_at = c.value ->> 2, skip_request = c.value ->> 3,
        version = version + (c.value ->> 4),
        description = coalesce(c.value ->> 5, description),
        finished_stages = coalesce(c.value ->> 6, finished_stages),
        skipped_steps = coalesce(c.value ->> 7, skipped_steps),
        last_error = iif(c.value ->> 4, c.value ->> 8, last_error),
        ending = iif(c.value ->> 4, c.value ->> 9, ending),
        data = coalesce(c.value ->> 10, data)
    FROM json_each($1) AS c WHERE operations.id = unhex(c.value ->> 0)";

const SCHEDULE: &str = "
    UPDATE operations SET due_at = $2, wait_on = $3, wait_seen = $4, woken_by = $5, owner = $6, state = $7,
        finished_at = $8
    WHERE id = $1";

const STEPS: &str = "
    INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, first_failure_at,
        last_run_at, next_run_at, reason)
    SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
        value ->> 7, value ->> 8, value ->> 9, value ->> 10
    FROM json_each($1) WHERE true
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, first_failure_at = excluded.first_failure_at,
        last_run_at = excluded.last_run_at, next_run_at = excluded.next_run_at, reason = excluded.reason";

const RECORDS: &str = "
    INSERT INTO records (operation_id, at, kind)
    SELECT unhex(value ->> 0), value ->> 1, value ->> 2 FROM json_each($1) ORDER BY key";

const SIGNAL: &str = "SELECT number FROM signals WHERE key = $1";
const PENDING: &str = concat!(
    "SELECT ",
    waiting_columns!(),
    " FROM operations INDEXED BY operations_instance WHERE instance_id = $1 AND state = 'pending'"
);

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

/// The answers, and what they mean for others.
pub(super) async fn commit(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    commits: &[Commit],
) -> Tried<(Vec<CommitOutcome>, News)> {
    refuse_doubles(commits)?;
    let mut rows = read_rows(conn, commits).await?;
    let (mut outcomes, mut taken) = (Vec::with_capacity(commits.len()), Vec::with_capacity(commits.len()));
    for commit in commits {
        let mut row = rows.remove(&commit.operation.as_uuid()).ok_or_else(|| no_operation(commit.operation))?;
        let standing = RowState {
            state: row.state,
            version: row.version,
            owner: row.owner.as_deref(),
            fence: row.fence,
            commits: row.commits,
        };
        outcomes.push(match judge(commit, &standing)? {
            CommitVerdict::Take => {
                if commit.clear_skip && row.control.seq <= commit.seen_control {
                    row.control.skip = None;
                }
                row.version += u64::from(commit.fields.is_some());
                let outcome = CommitOutcome::Committed { control: Box::new(row.control.clone()) };
                taken.push((commit, row));
                outcome
            }
            CommitVerdict::Already => CommitOutcome::Committed { control: Box::new(row.control) },
            CommitVerdict::Fenced => CommitOutcome::Fenced,
            CommitVerdict::Conflict => {
                CommitOutcome::Conflict(Box::new(operations::operation(conn, keyring, commit.operation).await?))
            }
        });
    }
    let news = write(conn, &taken).await?;
    Ok((outcomes, news))
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

async fn write(conn: &mut SqliteConnection, taken: &[(&Commit, Row)]) -> Tried<News> {
    let (mut progress, mut steps, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for (commit, row) in taken {
        let id = commit.operation.as_uuid().simple().to_string();
        let fields = commit.fields.as_ref();
        progress.push((
            id.clone(),
            signed(commit.number),
            commit.at.as_micros(),
            maybe_json(row.control.skip.as_ref()),
            i64::from(fields.is_some()),
            fields.map(|fields| fields.description.as_str()),
            fields.map(|fields| json(&fields.finished_stages)),
            fields.map(|fields| json(&fields.skipped_steps)),
            fields.and_then(|fields| fields.last_error.as_ref()).map(json),
            fields.and_then(|fields| fields.ending.as_ref()).map(json),
            fields.map(|fields| fields.data.as_str()),
        ));
        for (step, seq) in distinct_steps(commit) {
            steps.push((
                id.clone(),
                seq,
                &step.stage,
                &step.step,
                step.status.as_str(),
                step.attempts,
                micros(step.first_run_at),
                micros(step.first_failure_at),
                micros(step.last_run_at),
                micros(step.next_run_at),
                &step.reason,
            ));
        }
        records.extend(commit.records.iter().map(|(at, kind)| (id.clone(), at.as_micros(), json(kind))));
    }
    for (sql, rows, some) in [
        (PROGRESS, json(&progress), !progress.is_empty()),
        (STEPS, json(&steps), !steps.is_empty()),
        (RECORDS, json(&records), !records.is_empty()),
    ] {
        if some {
            conn.run(sql, args![rows]).await?;
        }
    }
    let mut news = News::None;
    for (commit, row) in taken {
        match commit.next {
            Next::Run => {}
            Next::Park { .. } | Next::Hold => news = news.max(schedule(conn, commit, row).await?),
            Next::End { .. } => {
                schedule(conn, commit, row).await?;
                let cause = end_of(commit.operation);
                let next = wake_next_pending(conn, &row.instance, &cause, commit.at).await?;
                let waited = conn.wake(&[WaitKey::operation(commit.operation).as_str()], &cause, commit.at).await?;
                if next || waited > 0 {
                    news = News::OthersDue;
                }
            }
        }
    }
    Ok(news)
}

/// What follows: the row after a wait, a hold or an end.
async fn schedule(conn: &mut SqliteConnection, commit: &Commit, row: &Row) -> Tried<News> {
    let unseen_wish = row.control.seq > commit.seen_control;
    let (mut due_at, mut wait_on) = (None, row.wait_on.as_deref());
    let (mut wait_seen, mut woken_by) = (row.wait_seen, row.woken_by.as_deref());
    let (mut owner, mut state, mut finished_at) = (None, row.state, None);
    match &commit.next {
        Next::Run => return Ok(News::None),
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
    let args = args![commit.operation, due_at, wait_on, wait_seen, woken_by, owner, state.as_str(), finished_at];
    conn.run(SCHEDULE, args).await?;
    Ok(News::of(commit, due_at))
}

/// Makes the first pending operation of the instance due, now that another has ended. Answers
/// whether there is one.
async fn wake_next_pending(conn: &mut SqliteConnection, instance: &str, cause: &str, at: Timestamp) -> Tried<bool> {
    let found = sqlx::query(PENDING).bind(instance).fetch_all(&mut *conn).await?;
    let waiting: Vec<Waiting> = found.iter().filter_map(|row| Waiting::read(row).ok()).collect();
    let next = Waiting::next(waiting.iter());
    if let Some(id) = next {
        conn.run(MAKE_DUE, args![id, at, cause]).await?;
    }
    Ok(next.is_some())
}
