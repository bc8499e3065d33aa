//! The one statement of a group of commits, and its parameters: an array per column.

use std::collections::HashMap;

use slipway_model::{
    Control, OperationState, Timestamp, WaitKey,
    ports::{Commit, Next},
};
use sqlx::{PgConnection, postgres::PgRow, types::Uuid};

use crate::{
    error::Tried,
    rows::{self, Cells, distinct_steps, json, micros, signed},
};

/// `IN (...) IS TRUE` keeps the planner from making a join of it: as a subplan it is one hash table,
/// as a join without figures it would be a loop in a loop. `(owner = ...) IS TRUE` keeps it from the
/// index of owners, in which a replica's whole work in hand would be walked for every row.
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
    WHERE o.id = c.id AND (o.owner = c.replica) IS TRUE AND o.fence = c.fence AND o.commits < c.number
        AND o.version = c.expected_version AND o.state NOT IN ('succeeded', 'failed', 'canceled')
        AND (c.end_from IS NULL OR o.state = ANY(string_to_array(c.end_from, ',')))
    RETURNING o.id, o.control_seq, o.cancel_request, o.pause_request, o.skip_request, o.instance_id,
        o.due_at
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

/// The parameters of [`WRITE`], column by column.
#[derive(Default)]
pub(super) struct Group<'a> {
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
    pub(super) fn of(commits: &'a [Commit]) -> Self {
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
        self.end_froms.push(end.map(may_end_from));
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

    /// Writes the group, and answers what each operation became that took its commit.
    pub(super) async fn write(self, conn: &mut PgConnection) -> Tried<HashMap<Uuid, Written>> {
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
        Written::read(query.fetch_all(conn).await?)
    }
}

impl Written {
    /// What a statement says it has written.
    pub(super) fn read(rows: Vec<PgRow>) -> Tried<HashMap<Uuid, Self>> {
        let mut written = HashMap::new();
        for row in rows {
            let (control, instance) = (Box::new(rows::control(&row)?), row.text("instance_id")?);
            let due_at = row.maybe_int("due_at")?.map(Timestamp::from_micros);
            written.insert(row.uuid("id")?, Written { control, instance, due_at });
        }
        Ok(written)
    }
}

/// What an operation became by its commit.
pub(super) struct Written {
    pub(super) control: Box<Control>,
    pub(super) instance: String,
    pub(super) due_at: Option<Timestamp>,
}

/// The states from which an operation may end in `end`, by the model's own table.
fn may_end_from(end: OperationState) -> String {
    let from = OperationState::ALL.iter().filter(|state| state.may_become(end));
    from.map(|state| state.as_str()).collect::<Vec<_>>().join(",")
}
