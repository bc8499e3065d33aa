//! Committing a group of step results.
//!
//! The whole group is one statement with array parameters: operations, ledger and flight recorder.
//! A group in which nobody waits on a key and nobody ends needs nothing else and commits itself;
//! this is the road of nearly all steps, and it changes no indexed column.
//!
//! **No wake-up is slept over.** Parking on a key takes the key's lock in shared mode in a statement
//! *before* the one that parks; waking takes it exclusively before it writes the signal; both keep
//! it to their end. So a park and a wake of one key come one after the other. If the park is first,
//! the wake's update has a view that is younger than the park's commit, and finds the operation
//! waiting. If the wake is first, the parking statement's view is younger than the wake's commit,
//! and finds the higher number.
//!
//! **No wish is slept over.** `act` holds the operation's row. If it is first, our update waits for
//! the row and computes with its newest version, where the control number is higher than the one
//! seen. If we are first, `act` finds a parked operation and makes it due.
//!
//! **No pending operation is forgotten.** An end asks "who is next?" in a statement of its own, after
//! its operation's row is written, and locks all pending rows of the instance, so the answer is about
//! their newest versions. An operation that arrives meanwhile is either seen by that statement, or
//! its insert waits for the row of the one that ends (`enqueue` locks all unfinished ones) and for
//! the instance's lock, and is looked at when the end is known to all. The instance's lock also keeps
//! two ends of one instance from waiting for each other's pending rows. For claims see `claim`.

use std::collections::HashMap;

use slipway_model::{
    Operation, WaitKey,
    ports::{Commit, CommitOutcome, Next, StoreResult},
};
use sqlx::{Connection, PgConnection, types::Uuid};

use super::{
    group::{Group, Written},
    wake::wake_locked,
};
use crate::{
    claims::{Waiting, waiting_columns},
    error::{Fault, Tried},
    hints::News,
    operations::{MAKE_DUE, end_of},
    rows::{self, CommitVerdict, RowState, judge, no_operation, operation_columns, refuse_doubles},
    secrets::Keyring,
    sql::{Conn, args},
};

/// All locks of a group in the order of their numbers: instances and keys of those who end
/// (exclusive), keys of those who wait (shared).
const LOCK: &str = "
    WITH wanted AS (
        SELECT hashtextextended('instance/' || instance_id, 0) AS number, true AS alone
        FROM operations WHERE id = ANY($1)
        UNION ALL SELECT hashtextextended('key/' || key, 0), true FROM unnest($2::text[]) AS k (key)
        UNION ALL SELECT hashtextextended('key/' || key, 0), false FROM unnest($3::text[]) AS k (key)
    ), locks AS MATERIALIZED (
        SELECT number, bool_or(alone) AS alone FROM wanted GROUP BY number ORDER BY number
    )
    SELECT CASE WHEN alone THEN pg_advisory_xact_lock(number) ELSE pg_advisory_xact_lock_shared(number) END
    FROM locks";

const PENDING: &str = concat!(
    "SELECT ",
    waiting_columns!(),
    " FROM operations WHERE instance_id = ANY($1) AND state = 'pending' ORDER BY id FOR UPDATE"
);
const BY_IDS: &str = concat!("SELECT ", operation_columns!(), " FROM operations WHERE id = ANY($1)");

/// The answers, and what they mean for others.
pub(super) async fn commit(
    conn: &mut PgConnection,
    keyring: &Keyring,
    commits: &[Commit],
) -> Tried<(Vec<CommitOutcome>, News)> {
    refuse_doubles(commits)?;
    let ends: Vec<&Commit> = commits.iter().filter(|commit| matches!(commit.next, Next::End { .. })).collect();
    let keys: Vec<&str> = commits
        .iter()
        .filter_map(|commit| match &commit.next {
            Next::Park { wait_on, .. } => wait_on.as_ref().map(WaitKey::as_str),
            Next::Run | Next::Hold | Next::End { .. } => None,
        })
        .collect();
    if commits.is_empty() {
        return Ok((Vec::new(), News::None));
    }
    if ends.is_empty() && keys.is_empty() {
        let written = Group::of(commits).write(conn).await?;
        let news = news(commits, &written);
        return Ok((answer(conn, keyring, commits, written).await?, news));
    }

    let mut tx = conn.begin().await?;
    let ending: Vec<Uuid> = ends.iter().map(|commit| commit.operation.as_uuid()).collect();
    let end_keys: Vec<String> = ends.iter().map(|commit| WaitKey::operation(commit.operation).into()).collect();
    sqlx::query(LOCK).bind(&ending).bind(&end_keys).bind(&keys).execute(&mut *tx).await?;
    let written = Group::of(commits).write(&mut tx).await?;
    let ended: Vec<(&Commit, &str)> = ends
        .iter()
        .filter_map(|commit| Some((*commit, written.get(&commit.operation.as_uuid())?.instance.as_str())))
        .collect();
    let mut news = news(commits, &written);
    if tell_of_ends(&mut tx, &ended).await? > 0 {
        news = News::OthersDue;
    }
    let outcomes = answer(&mut tx, keyring, commits, written).await?;
    tx.commit().await?;
    Ok((outcomes, news))
}

fn news(commits: &[Commit], written: &HashMap<Uuid, Written>) -> News {
    let taken = commits.iter().filter_map(|commit| Some((commit, written.get(&commit.operation.as_uuid())?)));
    taken.map(|(commit, row)| News::of(commit, row.due_at)).max().unwrap_or(News::None)
}

/// Makes those due who waited for these ends. Answers how many.
async fn tell_of_ends(conn: &mut PgConnection, ended: &[(&Commit, &str)]) -> Tried<u64> {
    let Some(latest) = ended.iter().map(|(commit, _)| commit.at).max() else { return Ok(0) };
    let next = wake_next_pending(conn, ended).await?;
    let keys = ended.iter().map(|(commit, _)| WaitKey::operation(commit.operation).into()).collect();
    let causes = ended.iter().map(|(commit, _)| end_of(commit.operation)).collect();
    Ok(next + wake_locked(conn, keys, causes, latest).await?)
}

/// Makes the first pending operation of each instance due, now that another has ended. Answers how
/// many.
async fn wake_next_pending(conn: &mut PgConnection, ended: &[(&Commit, &str)]) -> Tried<u64> {
    let instances: Vec<&str> = ended.iter().map(|(_, instance)| *instance).collect();
    let found = sqlx::query(PENDING).bind(&instances).fetch_all(&mut *conn).await?;
    let waiting: Vec<Waiting> = found.iter().filter_map(|row| Waiting::read(row).ok()).collect();
    let mut due = 0;
    for (commit, instance) in ended {
        if let Some(next) = Waiting::next(waiting.iter().filter(|op| op.instance == *instance)) {
            due += conn.run(MAKE_DUE, args![next, commit.at, end_of(commit.operation)]).await?;
        }
    }
    Ok(due)
}

/// The outcomes in the order of the commits; those that were not written are looked up.
async fn answer(
    conn: &mut PgConnection,
    keyring: &Keyring,
    commits: &[Commit],
    mut written: HashMap<Uuid, Written>,
) -> Tried<Vec<CommitOutcome>> {
    let missing: Vec<Uuid> =
        commits.iter().map(|commit| commit.operation.as_uuid()).filter(|id| !written.contains_key(id)).collect();
    let present: Vec<Operation> = match missing.is_empty() {
        true => Vec::new(),
        false => {
            let found = sqlx::query(BY_IDS).bind(&missing).fetch_all(conn).await?;
            found.iter().map(|row| rows::operation(row, keyring)).collect::<StoreResult<_>>()?
        }
    };
    let mut outcomes = Vec::with_capacity(commits.len());
    for commit in commits {
        if let Some(Written { control, .. }) = written.remove(&commit.operation.as_uuid()) {
            outcomes.push(CommitOutcome::Committed { control });
            continue;
        }
        let op = present.iter().find(|op| op.id == commit.operation).ok_or_else(|| no_operation(commit.operation))?;
        outcomes.push(match judge(commit, &RowState::of(op))? {
            CommitVerdict::Already => CommitOutcome::Committed { control: Box::new(op.control.clone()) },
            CommitVerdict::Fenced => CommitOutcome::Fenced,
            CommitVerdict::Conflict => CommitOutcome::Conflict(Box::new(op.clone())),
            // Nothing stands against it now, so somebody has changed the row in between.
            CommitVerdict::Take => return Err(Fault::Race),
        });
    }
    Ok(outcomes)
}
