//! The shorter statement for a group of plain steps.
//!
//! Nearly all commits are of one kind: a step is done, the next one runs, nothing went wrong. The
//! general statement of `group` costs the server one array, and one pass, for each of 34 columns,
//! most of them empty then. This one has half as many and writes the same rows.

use std::collections::HashMap;

use slipway_model::ports::{Commit, Next};
use sqlx::{PgConnection, types::Uuid};

use super::group::Written;
use crate::{
    error::Tried,
    rows::{distinct_steps, json, micros, signed},
};

const WRITE: &str = "
WITH written AS (
    UPDATE operations o SET
        commits = c.number, updated_at = c.at, version = o.version + 1, description = c.description,
        finished_stages = c.finished_stages, data = c.data, skipped_steps = '[]', last_error = NULL, ending = NULL
    FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
        $9::text[]) AS c (id, fence, number, expected_version, at, description, finished_stages, data)
    WHERE o.id = c.id AND o.owner = $1 AND o.fence = c.fence AND o.commits < c.number
        AND o.version = c.expected_version AND o.state NOT IN ('succeeded', 'failed', 'canceled')
    RETURNING o.id, o.control_seq, o.cancel_request, o.pause_request, o.skip_request, o.instance_id, o.due_at
), ledger AS (
    INSERT INTO operation_steps (operation_id, seq, stage, step, status, attempts, first_run_at, last_run_at)
    SELECT l.* FROM unnest($10::uuid[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::bigint[],
        $16::bigint[], $17::bigint[]) AS l (operation_id)
    WHERE (l.operation_id IN (SELECT id FROM written)) IS TRUE
    ON CONFLICT (operation_id, stage, step) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
        first_run_at = excluded.first_run_at, first_failure_at = NULL,
        last_run_at = excluded.last_run_at, next_run_at = NULL, reason = NULL
), recorder AS (
    INSERT INTO records (operation_id, at, kind)
    SELECT r.operation_id, r.at, r.kind
    FROM unnest($18::uuid[], $19::bigint[], $20::text[]) WITH ORDINALITY AS r (operation_id, at, kind, place)
    WHERE (r.operation_id IN (SELECT id FROM written)) IS TRUE
    ORDER BY r.place
)
SELECT * FROM written";

/// Whether all of these are plain: of one replica, the next step runs, and nothing went wrong.
pub(super) fn is_plain(commits: &[Commit]) -> bool {
    commits.iter().all(|commit| {
        let fields = commit.fields.as_ref();
        commit.next == Next::Run
            && commit.lease.replica == commits[0].lease.replica
            && !commit.clear_skip
            && fields.is_some_and(|f| f.skipped_steps.is_empty() && f.last_error.is_none() && f.ending.is_none())
            && commit
                .steps
                .iter()
                .all(|step| step.first_failure_at.is_none() && step.next_run_at.is_none() && step.reason.is_none())
    })
}

/// Writes a group for which [`is_plain`] holds.
pub(super) async fn write(conn: &mut PgConnection, commits: &[Commit]) -> Tried<HashMap<Uuid, Written>> {
    let column = |get: fn(&Commit) -> i64| commits.iter().map(get).collect::<Vec<i64>>();
    let fields = || commits.iter().filter_map(|commit| commit.fields.as_ref());
    let steps: Vec<_> = commits
        .iter()
        .flat_map(|commit| distinct_steps(commit).map(|(step, seq)| (commit.operation.as_uuid(), step, i64::from(seq))))
        .collect();
    let records: Vec<_> = commits
        .iter()
        .flat_map(|commit| commit.records.iter().map(|(at, kind)| (commit.operation.as_uuid(), *at, kind)))
        .collect();
    let query = sqlx::query(WRITE)
        .bind(commits.first().map(|commit| commit.lease.replica.as_str()))
        .bind(commits.iter().map(|commit| commit.operation.as_uuid()).collect::<Vec<_>>())
        .bind(column(|commit| signed(commit.lease.fence)))
        .bind(column(|commit| signed(commit.number)))
        .bind(column(|commit| signed(commit.expected_version)))
        .bind(column(|commit| commit.at.as_micros()))
        .bind(fields().map(|fields| fields.description.as_str()).collect::<Vec<_>>())
        .bind(fields().map(|fields| json(&fields.finished_stages)).collect::<Vec<_>>())
        .bind(fields().map(|fields| fields.data.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|(id, _, _)| *id).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, _, seq)| *seq).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step, _)| step.stage.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step, _)| step.step.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step, _)| step.status.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step, _)| i64::from(step.attempts)).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step, _)| micros(step.first_run_at)).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step, _)| micros(step.last_run_at)).collect::<Vec<_>>())
        .bind(records.iter().map(|(id, _, _)| *id).collect::<Vec<_>>())
        .bind(records.iter().map(|(_, at, _)| at.as_micros()).collect::<Vec<_>>())
        .bind(records.iter().map(|(_, _, kind)| json(kind)).collect::<Vec<_>>());
    Written::read(query.fetch_all(conn).await?)
}
