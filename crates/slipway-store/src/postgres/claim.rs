//! Claiming due operations.
//!
//! Candidates are locked first (`SKIP LOCKED`, so claims of several replicas pass each other), and
//! only then, **in a new statement**, is it asked whether a pending one may start. Suppose B is
//! pending behind A. The end of A locks B's row and makes it due. If that comes before our lock on
//! B, our question is younger than it and sees that A has ended. If it comes after, it waits for our
//! lock and makes B due after we set it aside. A question asked with the view of the locking
//! statement could be older than the lock: it would still see A running, and set B aside for ever
//! after A's end had made it due.
//!
//! Two claims can each see "nobody runs" for two operations of an instance, when a removal arrives
//! between their questions. The unique index lets one start; the other is made again and sees it.

use std::collections::HashMap;

use slipway_model::{
    Operation, OperationId, ReplicaId, StepRecord, Timestamp,
    ports::{Claim, ClaimRequest, Claimed, Lease, StoreResult, Want},
};
use sqlx::{PgConnection, types::Uuid};

use crate::{
    claims::{UNREADABLE_PAUSE, wants_to_start},
    error::Tried,
    rows::{self, Cells, operation_columns, step_columns},
    secrets::Keyring,
};

/// The row stays until we commit, while heartbeats go on; see `replicas` of the shared `operations`.
const ALIVE: &str = "SELECT 1 FROM replicas WHERE id = $1 FOR KEY SHARE";

const CANDIDATES: &str = concat!(
    "SELECT o.* FROM unnest($4::text[], $5::bigint[]) AS want (class, room) CROSS JOIN LATERAL (SELECT ",
    operation_columns!(),
    " FROM operations WHERE operations.class = want.class COLLATE \"C\" AND due_at IS NOT NULL AND due_at <= $2
        AND process = ANY($3) AND (owner IS NULL OR owner = $1)
      ORDER BY due_at, id LIMIT want.room FOR UPDATE SKIP LOCKED) o"
);

/// The rule and the order of `preemption::may_start`. The `LIMIT` keeps the planner from making a join
/// of it, which would read the whole table: so it is one look into the index per candidate.
const MAY_START: &str = "
    SELECT p.id FROM operations p WHERE p.id = ANY($1) AND (
        SELECT 1 FROM operations o WHERE o.instance_id = p.instance_id AND o.id <> p.id AND (
            o.state IN ('in progress', 'canceling')
            OR o.state = 'pending'
                AND (NOT (o.kind = 'deprovision' AND NOT o.temporary), o.created_at, o.id)
                  < (NOT (p.kind = 'deprovision' AND NOT p.temporary), p.created_at, p.id)) LIMIT 1) IS NULL";

/// Until another's end makes them due, or their budget ends.
const SET_ASIDE: &str = "UPDATE operations SET due_at = budget_from + budget WHERE id = ANY($1)";
const LEAVE_ALONE: &str = "UPDATE operations SET due_at = $2 WHERE id = ANY($1)";

const TAKE: &str = "
    UPDATE operations o SET
        due_at = NULL, owner = $2, woken_by = NULL, taken_from = NULL,
        fence = o.fence + CASE WHEN o.owner IS NULL THEN 1 ELSE 0 END,
        commits = CASE WHEN o.owner IS NULL THEN 0 ELSE o.commits END,
        state = CASE WHEN c.starts THEN 'in progress' ELSE o.state END,
        started_at = CASE WHEN c.starts THEN $3 ELSE o.started_at END,
        budget_from = CASE WHEN c.starts THEN coalesce(o.budget_from, $3) ELSE o.budget_from END,
        updated_at = CASE WHEN c.starts THEN $3 ELSE o.updated_at END,
        version = o.version + CASE WHEN c.starts THEN 1 ELSE 0 END
    FROM unnest($1::uuid[], $4::bool[]) AS c (id, starts) WHERE o.id = c.id";

/// Per class: whether something is due already, and when the next one will be.
const NEXT_DUE: &str = "
    SELECT class,
        EXISTS (SELECT 1 FROM operations o WHERE o.class = want.class COLLATE \"C\" AND o.due_at IS NOT NULL
            AND o.due_at <= $2 AND o.process = ANY($3) AND (o.owner IS NULL OR o.owner = $1)) AS more,
        (SELECT o.due_at FROM operations o WHERE o.class = want.class COLLATE \"C\" AND o.due_at IS NOT NULL
            AND o.due_at > $2 AND o.process = ANY($3) AND (o.owner IS NULL OR o.owner = $1)
            ORDER BY o.due_at LIMIT 1) AS next
    FROM unnest($4::text[]) AS want (class)";

const STEPS_OF: &str = concat!(
    "SELECT ",
    step_columns!(),
    " FROM operation_steps WHERE operation_id = ANY($1) ORDER BY operation_id, seq, stage, step"
);

/// A locked row and what its claim gives and then forgets.
struct Candidate {
    operation: Operation,
    woken_by: Option<String>,
    taken_from: Option<ReplicaId>,
}

pub(super) async fn claim(conn: &mut PgConnection, keyring: &Keyring, request: &ClaimRequest) -> Tried<Claimed> {
    let me = request.replica.as_str();
    if sqlx::query(ALIVE).bind(me).fetch_optional(&mut *conn).await?.is_none() {
        return Ok(Claimed::default());
    }
    let known: Vec<String> = request.known.iter().map(ToString::to_string).collect();
    let mut wants = crate::claims::merged(&request.wants);
    let mut claimed = Claimed::default();
    // Again, as long as some were set aside and left room for others.
    while wants.iter().any(|want| want.limit > 0) {
        let round = round(conn, keyring, request, &known, &wants).await?;
        for claim in &round.claims {
            let class = claim.operation.kind.class();
            if let Some(want) = wants.iter_mut().find(|want| want.class == class && want.limit > 0) {
                want.limit -= 1;
            }
        }
        claimed.claims.extend(round.claims);
        if round.set_aside == 0 {
            break;
        }
    }
    // Later rounds are of later times, so only the classes have to be brought together again.
    claimed.claims.sort_by_key(|claim| wants.iter().position(|want| want.class == claim.operation.kind.class()));
    claimed.next_due = next_due(conn, request, &known, &wants).await?;
    Ok(claimed)
}

struct Round {
    claims: Vec<Claim>,
    set_aside: usize,
}

async fn round(
    conn: &mut PgConnection,
    keyring: &Keyring,
    request: &ClaimRequest,
    known: &[String],
    wants: &[Want],
) -> Tried<Round> {
    let classes: Vec<&str> = wants.iter().map(|want| want.class.as_str()).collect();
    let rooms: Vec<i64> = wants.iter().map(|want| i64::try_from(want.limit).unwrap_or(i64::MAX)).collect();
    let me = request.replica.as_str();
    let query = sqlx::query(CANDIDATES).bind(me).bind(request.now.as_micros()).bind(known).bind(classes).bind(rooms);
    let (mut candidates, mut damaged) = (Vec::new(), Vec::new());
    for row in &query.fetch_all(&mut *conn).await? {
        match rows::operation(row, keyring).and_then(|operation| Ok((operation, rows::claim_notes(row)?))) {
            Ok((operation, (woken_by, taken_from))) => {
                candidates.push(Candidate { operation, woken_by, taken_from });
            }
            Err(error) => {
                tracing::error!(%error, "an operation cannot be read and is left alone for a minute");
                damaged.push(row.uuid("id")?);
            }
        }
    }
    let ids: Vec<Uuid> = candidates.iter().map(|candidate| candidate.operation.id.as_uuid()).collect();
    let mut ledgers: HashMap<OperationId, Vec<StepRecord>> = HashMap::new();
    if !ids.is_empty() {
        for (id, step) in steps_of(conn, &ids).await? {
            match step {
                Ok(step) => ledgers.entry(id).or_default().push(step),
                Err(error) => {
                    tracing::error!(%error, operation = %id, "a ledger cannot be read and is left alone for a minute");
                    damaged.push(id.as_uuid());
                }
            }
        }
    }
    candidates.retain(|candidate| !damaged.contains(&candidate.operation.id.as_uuid()));

    let (starting, blocked) = starting(conn, &candidates, request.now).await?;
    candidates.retain(|candidate| !blocked.contains(&candidate.operation.id.as_uuid()));
    set_aside(conn, &blocked).await?;
    leave_alone(conn, &damaged, request.now + UNREADABLE_PAUSE).await?;
    take(conn, request, &candidates, &starting).await?;

    let claims = candidates.into_iter().map(|candidate| {
        let starts = starting.contains(&candidate.operation.id.as_uuid());
        make_claim(candidate, request, starts, &mut ledgers)
    });
    Ok(Round { claims: claims.collect(), set_aside: blocked.len() + damaged.len() })
}

/// The ledgers of several operations, each row with its operation and judged by itself.
async fn steps_of(conn: &mut PgConnection, ids: &[Uuid]) -> Tried<Vec<(OperationId, StoreResult<StepRecord>)>> {
    let found = sqlx::query(STEPS_OF).bind(ids).fetch_all(conn).await?;
    found.iter().map(|row| Ok((OperationId::from(row.uuid("operation_id")?), rows::step(row)))).collect()
}

/// Which of the pending candidates start, and which are blocked.
async fn starting(conn: &mut PgConnection, candidates: &[Candidate], now: Timestamp) -> Tried<(Vec<Uuid>, Vec<Uuid>)> {
    let willing = candidates.iter().map(|candidate| &candidate.operation).filter(|op| wants_to_start(op, now));
    let pending: Vec<Uuid> = willing.map(|op| op.id.as_uuid()).collect();
    if pending.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let may: Vec<Uuid> = sqlx::query_scalar(MAY_START).bind(&pending).fetch_all(conn).await?;
    let blocked = pending.into_iter().filter(|id| !may.contains(id)).collect();
    Ok((may, blocked))
}

async fn set_aside(conn: &mut PgConnection, ids: &[Uuid]) -> Tried<()> {
    if !ids.is_empty() {
        sqlx::query(SET_ASIDE).bind(ids).execute(conn).await?;
    }
    Ok(())
}

async fn leave_alone(conn: &mut PgConnection, ids: &[Uuid], until: Timestamp) -> Tried<()> {
    if !ids.is_empty() {
        sqlx::query(LEAVE_ALONE).bind(ids).bind(until.as_micros()).execute(conn).await?;
    }
    Ok(())
}

async fn take(
    conn: &mut PgConnection,
    request: &ClaimRequest,
    candidates: &[Candidate],
    starting: &[Uuid],
) -> Tried<()> {
    if candidates.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = candidates.iter().map(|candidate| candidate.operation.id.as_uuid()).collect();
    let starts: Vec<bool> = ids.iter().map(|id| starting.contains(id)).collect();
    let query = sqlx::query(TAKE).bind(ids).bind(request.replica.as_str()).bind(request.now.as_micros());
    query.bind(starts).execute(conn).await?;
    Ok(())
}

/// The claim as [`TAKE`] has just written it.
fn make_claim(
    candidate: Candidate,
    request: &ClaimRequest,
    starts: bool,
    ledgers: &mut HashMap<OperationId, Vec<StepRecord>>,
) -> Claim {
    let Candidate { mut operation, woken_by, taken_from } = candidate;
    let steps = ledgers.remove(&operation.id).unwrap_or_default();
    crate::claims::take(&mut operation, request, starts);
    let lease = Lease { replica: request.replica.clone(), fence: operation.schedule.fence };
    Claim { operation, steps, lease, started: starts, woken_by, taken_from }
}

async fn next_due(
    conn: &mut PgConnection,
    request: &ClaimRequest,
    known: &[String],
    left: &[Want],
) -> Tried<Option<Timestamp>> {
    let classes: Vec<&str> = left.iter().map(|want| want.class.as_str()).collect();
    let query = sqlx::query(NEXT_DUE).bind(request.replica.as_str()).bind(request.now.as_micros());
    let mut earliest = None;
    for row in query.bind(known).bind(classes).fetch_all(conn).await? {
        let class = row.text("class")?;
        let full = left.iter().any(|want| want.class.as_str() == class && want.limit == 0);
        // More is due than there was room for: whoever frees a place asks again, no timer needed.
        if !(full && row.flag("more")?) {
            earliest = [earliest, row.maybe_int("next")?].into_iter().flatten().min();
        }
    }
    Ok(earliest.map(Timestamp::from_micros))
}
