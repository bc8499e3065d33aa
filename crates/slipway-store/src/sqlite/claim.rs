//! Claiming due operations.

use slipway_model::{
    Operation, Timestamp,
    ports::{Claim, ClaimRequest, Claimed, Lease, StoreError, Want},
};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::{
    claims::{self, UNREADABLE_PAUSE},
    error::{Fault, Tried},
    operations,
    rows::{self, Cells, json, operation_columns},
    secrets::Keyring,
    sql::{Conn, args},
};

const ALIVE: &str = "SELECT 1 FROM replicas WHERE id = $1";

const CANDIDATES: &str = concat!(
    "SELECT ",
    operation_columns!(),
    " FROM operations WHERE class = $1 AND due_at IS NOT NULL AND due_at <= $2
        AND process IN (SELECT value FROM json_each($3)) AND (owner IS NULL OR owner = $4)
      ORDER BY due_at, id LIMIT $5"
);

/// The rule and the order of `preemption::may_start`.
const MAY_START: &str = "
    SELECT NOT EXISTS (
        SELECT 1 FROM operations o INDEXED BY operations_instance, operations p
        WHERE p.id = $1 AND o.instance_id = p.instance_id AND o.id <> p.id AND (
            o.state IN ('in progress', 'canceling')
            OR o.state = 'pending'
                AND (NOT (o.kind = 'deprovision' AND NOT o.temporary), o.created_at, o.id)
                  < (NOT (p.kind = 'deprovision' AND NOT p.temporary), p.created_at, p.id))) AS may";

const SET_ASIDE: &str = "UPDATE operations SET due_at = $2 WHERE id = $1";

const TAKE: &str = "
    UPDATE operations SET
        due_at = NULL, owner = $2, woken_by = NULL, taken_from = NULL, fence = $3, commits = $4, state = $5,
        started_at = $6, budget_from = $7, updated_at = $8, version = $9
    WHERE id = $1";

const NEXT_DUE: &str = "
    SELECT min(due_at) AS next FROM operations WHERE class = $1 AND due_at IS NOT NULL AND due_at > $2
        AND process IN (SELECT value FROM json_each($3)) AND (owner IS NULL OR owner = $4)";
const MORE_DUE: &str = "
    SELECT EXISTS (SELECT 1 FROM operations WHERE class = $1 AND due_at IS NOT NULL AND due_at <= $2
        AND process IN (SELECT value FROM json_each($3)) AND (owner IS NULL OR owner = $4)) AS more";

pub(super) async fn claim(conn: &mut SqliteConnection, keyring: &Keyring, request: &ClaimRequest) -> Tried<Claimed> {
    if sqlx::query(ALIVE).bind(request.replica.as_str()).fetch_optional(&mut *conn).await?.is_none() {
        return Ok(Claimed::default());
    }
    let known = json(&request.known.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut claimed = Claimed::default();
    for want in claims::merged(&request.wants) {
        let (mut room, mut all_seen) = (want.limit, false);
        // Again, as long as some were set aside and left room for others.
        while room > 0 && !all_seen {
            let limit = i64::try_from(room).unwrap_or(i64::MAX);
            let query = sqlx::query(CANDIDATES).bind(want.class.as_str()).bind(request.now.as_micros());
            let found = query.bind(&known).bind(request.replica.as_str()).bind(limit).fetch_all(&mut *conn).await?;
            all_seen = found.len() < room;
            for row in &found {
                if let Some(claim) = claim_one(conn, keyring, request, row).await? {
                    claimed.claims.push(claim);
                    room -= 1;
                }
            }
        }
        let next = next_due(conn, request, &known, Want { limit: room, ..want }).await?;
        claimed.next_due = [claimed.next_due, next].into_iter().flatten().min();
    }
    Ok(claimed)
}

/// Takes one operation, or sets it aside: a blocked one until another's end makes it due or its budget ends, one that
/// cannot be read for a minute, so that it neither holds up the others nor is forgotten.
async fn claim_one(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    request: &ClaimRequest,
    row: &SqliteRow,
) -> Tried<Option<Claim>> {
    let id = row.uuid("id")?;
    let mut claim = match read_claim(conn, keyring, request, row).await {
        Ok(claim) => claim,
        Err(Fault::Store(error @ StoreError::Unreadable(_))) => {
            tracing::error!(%error, "an operation cannot be read and is left alone for a minute");
            let later = request.now + UNREADABLE_PAUSE;
            conn.run(SET_ASIDE, args![id, later]).await?;
            return Ok(None);
        }
        Err(other) => return Err(other),
    };
    let op = &claim.operation;
    let willing = claims::wants_to_start(op, request.now);
    if willing && !sqlx::query(MAY_START).bind(id).fetch_one(&mut *conn).await?.flag("may")? {
        conn.run(SET_ASIDE, args![id, op.deadline()]).await?;
        return Ok(None);
    }
    claims::take(&mut claim.operation, request, willing);
    claim.started = willing;
    claim.lease.fence = claim.operation.schedule.fence;
    take(conn, request, &claim.operation).await?;
    Ok(Some(claim))
}

async fn read_claim(
    conn: &mut SqliteConnection,
    keyring: &Keyring,
    request: &ClaimRequest,
    row: &SqliteRow,
) -> Tried<Claim> {
    let operation = rows::operation(row, keyring)?;
    let (woken_by, taken_from) = rows::claim_notes(row)?;
    let steps = operations::steps(conn, operation.id).await?;
    let lease = Lease { replica: request.replica.clone(), fence: operation.schedule.fence };
    Ok(Claim { operation, steps, lease, started: false, woken_by, taken_from })
}

async fn take(conn: &mut SqliteConnection, request: &ClaimRequest, op: &Operation) -> Tried<()> {
    let args = args![
        op.id,
        request.replica.as_str(),
        op.schedule.fence,
        op.schedule.commits,
        op.state.as_str(),
        op.started_at,
        op.budget_from,
        op.updated_at,
        op.version,
    ];
    conn.run(TAKE, args).await?;
    Ok(())
}

async fn next_due(
    conn: &mut SqliteConnection,
    request: &ClaimRequest,
    known: &str,
    left: Want,
) -> Tried<Option<Timestamp>> {
    let ask = |sql: &'static str| {
        let query = sqlx::query(sql).bind(left.class.as_str()).bind(request.now.as_micros());
        query.bind(known).bind(request.replica.as_str())
    };
    // More is due than there was room for: whoever frees a place asks again, no timer needed.
    if left.limit == 0 && ask(MORE_DUE).fetch_one(&mut *conn).await?.flag("more")? {
        return Ok(None);
    }
    Ok(ask(NEXT_DUE).fetch_one(conn).await?.maybe_int("next")?.map(Timestamp::from_micros))
}
