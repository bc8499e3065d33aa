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
    Control, OperationId, OperationState, WaitKey,
    ports::{Commit, CommitOutcome, Next},
};
use sqlx::{Connection, PgConnection, types::Uuid};

use super::{actions::wake_locked, finish, read};
use crate::{
    claims::{Waiting, waiting_columns},
    error::{Fault, Tried},
    rows::{self, Cells, Standing, Verdict, distinct_steps, json, judge, micros, no_operation, refuse_doubles, signed},
    secrets::Keyring,
};

/// `IN (...) IS TRUE` keeps the planner from making a join of it: as a subplan it is one hash table,
/// as a join without figures it would be a loop in a loop.
const WRITE: &str = "
WITH written AS (
    UPDATE operations o SET
        commits = c.number,
        updated_at = c.at,
        version = o.version + CASE WHEN c.data IS NULL THEN 0 ELSE 1 END,
        description = coalesce(c.description, o.description),
        finished_stages = coalesce(c.finished_stages, o.finished_stages),
        skipped_steps = coalesce(c.skipped_steps, o.skipped_steps),
        last_error = CASE WHEN c.data IS NULL THEN o.last_error ELSE c.last_error END,
        ending = CASE WHEN c.data IS NULL THEN o.ending ELSE c.ending END,
        data = coalesce(c.data, o.data),
        skip_request = CASE WHEN c.clear_skip AND o.control_seq <= c.seen_control THEN NULL ELSE o.skip_request END,
        due_at = CASE c.next
            WHEN 'run' THEN o.due_at
            WHEN 'park' THEN CASE
                WHEN o.control_seq > c.seen_control THEN c.at
                WHEN coalesce(s.number, 0) > CASE WHEN o.wait_on = c.wait_on THEN o.wait_seen ELSE 0 END THEN c.at
                ELSE c.due_at END
            WHEN 'hold' THEN CASE WHEN o.control_seq > c.seen_control THEN c.at END
            END,
        woken_by = CASE
            WHEN c.next = 'park'
                AND coalesce(s.number, 0) > CASE WHEN o.wait_on = c.wait_on THEN o.wait_seen ELSE 0 END
            THEN 'an event during the last look' ELSE o.woken_by END,
        wait_seen = CASE WHEN c.next = 'park' THEN coalesce(s.number, 0) ELSE o.wait_seen END,
        wait_on = CASE c.next WHEN 'park' THEN c.wait_on WHEN 'end' THEN NULL ELSE o.wait_on END,
        owner = CASE WHEN c.next = 'run' OR c.next = 'park' AND c.keep_lease THEN o.owner END,
        state = coalesce(c.end_state, o.state),
        finished_at = CASE WHEN c.next = 'end' THEN c.at ELSE o.finished_at END
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bool[],
        $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
        $16::bigint[], $17::text[], $18::bool[], $19::text[], $20::text[])
        AS c (id, replica, fence, number, expected_version, seen_control, clear_skip,
            at, description, finished_stages, skipped_steps, last_error, ending, data, next,
            due_at, wait_on, keep_lease, end_state, end_from)
        LEFT JOIN signals s ON s.key = c.wait_on COLLATE \"C\"
    WHERE o.id = c.id AND o.owner = c.replica AND o.fence = c.fence AND o.commits < c.number
        AND o.version = c.expected_version AND o.state NOT IN ('succeeded', 'failed', 'canceled')
        AND (c.end_from IS NULL OR o.state = ANY(string_to_array(c.end_from, ',')))
    RETURNING o.id, o.due_at, o.control_seq, o.cancel_request, o.pause_request, o.skip_request, o.instance_id
), ledger AS (
    INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, first_failure_at,
        last_run_at, next_run_at, reason)
    SELECT l.* FROM unnest($21::uuid[], $22::bigint[], $23::text[], $24::text[], $25::text[], $26::bigint[],
        $27::bigint[], $28::bigint[], $29::bigint[], $30::bigint[], $31::text[]) AS l (operation_id)
    WHERE (l.operation_id IN (SELECT id FROM written)) IS TRUE
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, first_failure_at = excluded.first_failure_at,
        last_run_at = excluded.last_run_at, next_run_at = excluded.next_run_at, reason = excluded.reason
), recorder AS (
    INSERT INTO records (operation_id, at, kind)
    SELECT r.operation_id, r.at, r.kind
    FROM unnest($32::uuid[], $33::bigint[], $34::text[]) WITH ORDINALITY AS r (operation_id, at, kind, place)
    WHERE (r.operation_id IN (SELECT id FROM written)) IS TRUE
    ORDER BY r.place
)
SELECT * FROM written";

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
const MAKE_DUE: &str = "UPDATE operations SET due_at = $2, woken_by = $3 WHERE id = $1";

/// The parameters of [`WRITE`], column by column.
#[derive(Default)]
struct Group<'a> {
    ids: Vec<Uuid>,
    replicas: Vec<&'a str>,
    fences: Vec<i64>,
    numbers: Vec<i64>,
    expected_versions: Vec<i64>,
    seen_controls: Vec<i64>,
    clear_skips: Vec<bool>,
    ats: Vec<i64>,
    descriptions: Vec<Option<&'a str>>,
    finished_stages: Vec<Option<String>>,
    skipped_steps: Vec<Option<String>>,
    last_errors: Vec<Option<String>>,
    endings: Vec<Option<String>>,
    datas: Vec<Option<&'a str>>,
    nexts: Vec<&'static str>,
    due_ats: Vec<Option<i64>>,
    wait_ons: Vec<Option<&'a str>>,
    keep_leases: Vec<bool>,
    end_states: Vec<Option<&'static str>>,
    end_froms: Vec<Option<String>>,
    steps: Steps<'a>,
    record_of: Vec<Uuid>,
    record_ats: Vec<i64>,
    record_kinds: Vec<String>,
}

#[derive(Default)]
struct Steps<'a> {
    of: Vec<Uuid>,
    seqs: Vec<i64>,
    stages: Vec<&'a str>,
    steps: Vec<&'a str>,
    statuses: Vec<&'static str>,
    attempts: Vec<i64>,
    first_runs: Vec<Option<i64>>,
    first_failures: Vec<Option<i64>>,
    last_runs: Vec<Option<i64>>,
    next_runs: Vec<Option<i64>>,
    reasons: Vec<Option<&'a str>>,
}

impl<'a> Group<'a> {
    fn of(commits: &'a [Commit]) -> Self {
        let mut group = Self::default();
        commits.iter().for_each(|commit| group.add(commit));
        group
    }

    fn add(&mut self, commit: &'a Commit) {
        let id = commit.operation.as_uuid();
        self.ids.push(id);
        self.replicas.push(commit.lease.replica.as_str());
        self.fences.push(signed(commit.lease.fence));
        self.numbers.push(signed(commit.number));
        self.expected_versions.push(signed(commit.expected_version));
        self.seen_controls.push(signed(commit.seen_control));
        self.clear_skips.push(commit.clear_skip);
        self.ats.push(commit.at.as_micros());
        let fields = commit.fields.as_ref();
        self.descriptions.push(fields.map(|fields| fields.description.as_str()));
        self.finished_stages.push(fields.map(|fields| json(&fields.finished_stages)));
        self.skipped_steps.push(fields.map(|fields| json(&fields.skipped_steps)));
        self.last_errors.push(fields.and_then(|fields| fields.last_error.as_ref()).map(json));
        self.endings.push(fields.and_then(|fields| fields.ending.as_ref()).map(json));
        self.datas.push(fields.map(|fields| fields.data.as_str()));
        let (next, due_at, wait_on, keep_lease, end) = match &commit.next {
            Next::Run => ("run", None, None, false, None),
            Next::Park { due_at, wait_on, keep_lease } => ("park", Some(*due_at), wait_on.as_ref(), *keep_lease, None),
            Next::Hold => ("hold", None, None, false, None),
            Next::End { state } => ("end", None, None, false, Some(*state)),
        };
        self.nexts.push(next);
        self.due_ats.push(micros(due_at));
        self.wait_ons.push(wait_on.map(WaitKey::as_str));
        self.keep_leases.push(keep_lease);
        self.end_states.push(end.map(OperationState::as_str));
        self.end_froms.push(end.map(read::may_end_from));
        for (step, seq) in distinct_steps(commit) {
            let steps = &mut self.steps;
            steps.of.push(id);
            steps.seqs.push(seq.into());
            steps.stages.push(&step.stage);
            steps.steps.push(&step.step);
            steps.statuses.push(step.status.as_str());
            steps.attempts.push(step.attempts.into());
            steps.first_runs.push(micros(step.first_run_at));
            steps.first_failures.push(micros(step.first_failure_at));
            steps.last_runs.push(micros(step.last_run_at));
            steps.next_runs.push(micros(step.next_run_at));
            steps.reasons.push(step.reason.as_deref());
        }
        for (at, kind) in &commit.records {
            self.record_of.push(id);
            self.record_ats.push(at.as_micros());
            self.record_kinds.push(json(kind));
        }
    }

    async fn write(self, conn: &mut PgConnection) -> Tried<HashMap<Uuid, Written>> {
        let steps = self.steps;
        let query = sqlx::query(WRITE)
            .bind(self.ids)
            .bind(self.replicas)
            .bind(self.fences)
            .bind(self.numbers)
            .bind(self.expected_versions)
            .bind(self.seen_controls)
            .bind(self.clear_skips)
            .bind(self.ats)
            .bind(self.descriptions)
            .bind(self.finished_stages)
            .bind(self.skipped_steps)
            .bind(self.last_errors)
            .bind(self.endings)
            .bind(self.datas)
            .bind(self.nexts)
            .bind(self.due_ats)
            .bind(self.wait_ons)
            .bind(self.keep_leases)
            .bind(self.end_states)
            .bind(self.end_froms)
            .bind(steps.of)
            .bind(steps.seqs)
            .bind(steps.stages)
            .bind(steps.steps)
            .bind(steps.statuses)
            .bind(steps.attempts)
            .bind(steps.first_runs)
            .bind(steps.first_failures)
            .bind(steps.last_runs)
            .bind(steps.next_runs)
            .bind(steps.reasons)
            .bind(self.record_of)
            .bind(self.record_ats)
            .bind(self.record_kinds);
        let mut written = HashMap::new();
        for row in query.fetch_all(conn).await? {
            let (instance, due_at) = (row.text("instance_id")?, row.maybe_int("due_at")?);
            written.insert(row.uuid("id")?, Written { due_at, control: Box::new(rows::control(&row)?), instance });
        }
        Ok(written)
    }
}

/// What an operation became by its commit.
struct Written {
    due_at: Option<i64>,
    control: Box<Control>,
    instance: String,
}

/// Whether somebody is due at once by this group: behind an end, or because a wait would have slept
/// over an event or a wish.
fn somebody_is_due(commits: &[Commit], written: &HashMap<Uuid, Written>) -> bool {
    commits.iter().any(|commit| {
        let Some(written) = written.get(&commit.operation.as_uuid()) else { return false };
        matches!(commit.next, Next::End { .. }) || written.due_at == Some(commit.at.as_micros())
    })
}

/// The answers, and whether somebody is due at once.
pub(super) async fn commit(
    conn: &mut PgConnection,
    keyring: &Keyring,
    commits: &[Commit],
) -> Tried<(Vec<CommitOutcome>, bool)> {
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
        return Ok((Vec::new(), false));
    }
    if ends.is_empty() && keys.is_empty() {
        let written = Group::of(commits).write(conn).await?;
        let somebody = somebody_is_due(commits, &written);
        return Ok((answer(conn, keyring, commits, written).await?, somebody));
    }

    let mut tx = conn.begin().await?;
    let done = commit_locked(&mut tx, keyring, commits, &ends, &keys).await;
    finish(tx, done).await
}

/// The same for a group in which somebody ends or waits on a key.
async fn commit_locked(
    conn: &mut PgConnection,
    keyring: &Keyring,
    commits: &[Commit],
    ends: &[&Commit],
    keys: &[&str],
) -> Tried<(Vec<CommitOutcome>, bool)> {
    let ending: Vec<Uuid> = ends.iter().map(|commit| commit.operation.as_uuid()).collect();
    let end_keys: Vec<String> = ends.iter().map(|commit| WaitKey::operation(commit.operation).into()).collect();
    sqlx::query(LOCK).bind(&ending).bind(&end_keys).bind(keys).execute(&mut *conn).await?;
    let written = Group::of(commits).write(conn).await?;
    let ended: Vec<(&Commit, &str)> = ends
        .iter()
        .filter_map(|commit| Some((*commit, written.get(&commit.operation.as_uuid())?.instance.as_str())))
        .collect();
    if !ended.is_empty() {
        wake_next_pending(conn, &ended).await?;
        for (commit, _) in &ended {
            let key = WaitKey::operation(commit.operation);
            wake_locked(conn, &[key.as_str()], &end_of(commit.operation), commit.at).await?;
        }
    }
    let somebody = somebody_is_due(commits, &written);
    let outcomes = answer(conn, keyring, commits, written).await?;
    Ok((outcomes, somebody))
}

fn end_of(id: OperationId) -> String {
    format!("end of operation {id}")
}

/// Makes the first pending operation of each instance due, now that another has ended.
async fn wake_next_pending(conn: &mut PgConnection, ended: &[(&Commit, &str)]) -> Tried<()> {
    let instances: Vec<&str> = ended.iter().map(|(_, instance)| *instance).collect();
    let found = sqlx::query(PENDING).bind(&instances).fetch_all(&mut *conn).await?;
    let waiting: Vec<Waiting> = found.iter().filter_map(|row| Waiting::read(row).ok()).collect();
    for (commit, instance) in ended {
        if let Some(next) = Waiting::next(waiting.iter().filter(|op| op.instance == *instance)) {
            let query = sqlx::query(MAKE_DUE).bind(next.as_uuid()).bind(commit.at.as_micros());
            query.bind(end_of(commit.operation)).execute(&mut *conn).await?;
        }
    }
    Ok(())
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
    let present = match missing.is_empty() {
        true => Vec::new(),
        false => read::operations_by_id(conn, keyring, &missing).await?,
    };
    let mut outcomes = Vec::with_capacity(commits.len());
    for commit in commits {
        if let Some(Written { control, .. }) = written.remove(&commit.operation.as_uuid()) {
            outcomes.push(CommitOutcome::Committed { control });
            continue;
        }
        let op = present.iter().find(|op| op.id == commit.operation).ok_or_else(|| no_operation(commit.operation))?;
        outcomes.push(match judge(commit, &Standing::of(op))? {
            Verdict::Already => CommitOutcome::Committed { control: Box::new(op.control.clone()) },
            Verdict::Fenced => CommitOutcome::Fenced,
            Verdict::Conflict => CommitOutcome::Conflict(Box::new(op.clone())),
            // Nothing stands against it now, so somebody has changed the row in between.
            Verdict::Take => return Err(Fault::Race),
        });
    }
    Ok(outcomes)
}
