//! Registrations in the Director that were begun and not yet settled.
//!
//! ```text
//! PLANNED ──▶ REGISTERED ──▶ COMMITTED          by a request
//!    └────────────┴──▶ ABANDONED ──▶ UNREGISTERED   by the sweeper, or the request itself
//! ```
//!
//! Every move is one statement that names the state it starts from, so of a request that commits and a
//! sweeper that gives up exactly one succeeds. A Director that answers after all was taken back makes
//! the intent `ABANDONED` once more, since there is something to take back again.

use slipway_model::{
    Timestamp,
    ports::{StoreError, StoreResult},
    runtime_record::{DirectorIntent, IntentState, Tenant},
};

use super::{columns, limits};
use crate::{
    error::Tried,
    sql::{Conn, args},
};

const PLAN: &str = "
    INSERT INTO director_intents (key, tenant, name, state, created_at) VALUES ($1, $2, $3, 'PLANNED', $4)
    ON CONFLICT (key) DO NOTHING";
const ONE: &str = "SELECT key, tenant, name, director_id, state, created_at FROM director_intents WHERE key = $1";
const REGISTERED: &str = "
    UPDATE director_intents SET director_id = $2,
        state = CASE state WHEN 'PLANNED' THEN 'REGISTERED' WHEN 'UNREGISTERED' THEN 'ABANDONED' ELSE state END
    WHERE key = $1 AND (director_id IS NULL OR director_id = $2)";
const ABANDON: &str = "
    UPDATE director_intents SET state = 'ABANDONED' WHERE key = $1 AND state IN ('PLANNED', 'REGISTERED', 'ABANDONED')
    RETURNING key, tenant, name, director_id, state, created_at";
const UNREGISTERED: &str =
    "UPDATE director_intents SET state = 'UNREGISTERED' WHERE key = $1 AND state IN ('ABANDONED', 'UNREGISTERED')";
const COMMIT: &str = "UPDATE director_intents SET state = 'COMMITTED' WHERE key = $1 AND state = 'REGISTERED'";
const OPEN: &str = "
    SELECT key, tenant, name, director_id, state, created_at FROM director_intents
    WHERE state IN ('PLANNED', 'REGISTERED', 'ABANDONED') AND created_at < $1 ORDER BY created_at, key LIMIT $2";

pub(crate) fn no_intent(key: &str) -> StoreError {
    StoreError::NotFound { what: "director intent", id: key.to_owned() }
}

/// The refusal of an intent that is not where it should be.
pub(crate) fn is_elsewhere(key: &str, found: IntentState, wanted: IntentState) -> StoreError {
    StoreError::Refused(format!("director intent {key} is {found}, not {wanted}"))
}

/// The refusal of a second answer of the Director.
pub(crate) fn has_another_id(key: &str) -> StoreError {
    StoreError::Refused(format!("director intent {key} has another id already; take the second registration back"))
}

async fn one<C: Conn>(conn: &mut C, key: &str) -> Tried<DirectorIntent> {
    let row = conn.row(ONE, args![key]).await?.ok_or_else(|| no_intent(key))?;
    Ok(columns::intent(&row)?)
}

pub(crate) async fn plan<C: Conn>(
    conn: &mut C,
    key: &str,
    tenant: &Tenant,
    name: &str,
    now: Timestamp,
) -> Tried<DirectorIntent> {
    limits::text("intent", key)?;
    limits::text("name", name)?;
    conn.run(PLAN, args![key, tenant.as_str(), name, now]).await?;
    one(conn, key).await
}

pub(crate) async fn registered<C: Conn>(conn: &mut C, key: &str, director_id: &str) -> Tried<DirectorIntent> {
    limits::text("director_id", director_id)?;
    let changed = conn.run(REGISTERED, args![key, director_id]).await?;
    let intent = one(conn, key).await?;
    match changed {
        0 => Err(has_another_id(key).into()),
        _ => Ok(intent),
    }
}

pub(crate) async fn abandon<C: Conn>(conn: &mut C, key: &str) -> Tried<Option<DirectorIntent>> {
    match conn.row(ABANDON, args![key]).await? {
        Some(row) => Ok(Some(columns::intent(&row)?)),
        None => one(conn, key).await.map(|_| None),
    }
}

pub(crate) async fn unregistered<C: Conn>(conn: &mut C, key: &str) -> Tried<()> {
    match conn.run(UNREGISTERED, args![key]).await? {
        0 => Err(is_elsewhere(key, one(conn, key).await?.state, IntentState::Abandoned).into()),
        _ => Ok(()),
    }
}

/// Fulfils an intent, inside an acceptance.
pub(super) async fn commit<C: Conn>(conn: &mut C, key: &str) -> Tried<()> {
    match conn.run(COMMIT, args![key]).await? {
        0 => Err(is_elsewhere(key, one(conn, key).await?.state, IntentState::Registered).into()),
        _ => Ok(()),
    }
}

pub(crate) async fn open<C: Conn>(conn: &mut C, before: Timestamp, limit: usize) -> Tried<Vec<DirectorIntent>> {
    let rows = conn.rows(OPEN, args![before, limit]).await?;
    Ok(rows.iter().map(columns::intent).collect::<StoreResult<_>>()?)
}
