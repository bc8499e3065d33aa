//! Bringing a database up to date and checking its keys, when a store is opened.

use slipway_model::ports::Clock;

use super::{Conn, args};
use crate::{
    error::{Fault, OpenError},
    rows::Cells,
    schema::{self, Migration},
    secrets::Keyring,
};

const VERSION: &str = "SELECT coalesce(max(version), 0) AS version FROM schema_migrations";
const MIGRATED: &str = "INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)";
const KEY_CHECKS: &str = "SELECT key_id, sealed FROM key_checks ORDER BY key_id";
const ADD_KEY_CHECK: &str = "INSERT INTO key_checks (key_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// What a database needs, and how it is asked.
pub(crate) struct Needs {
    pub(crate) migrations: &'static [Migration],
    /// One row if the table of migrations is there.
    pub(crate) has_schema: &'static str,
    /// The id of a key that is not in the list `$1` and that something is encrypted with.
    pub(crate) foreign_key_id: &'static str,
}

/// Inside one transaction: whatever is refused leaves the database as it was.
pub(crate) async fn prepare<C: Conn>(
    conn: &mut C,
    needs: &Needs,
    keyring: &Keyring,
    clock: &dyn Clock,
    explain: &(impl Fn(Fault) -> OpenError + Sync),
) -> Result<(), OpenError> {
    migrate(conn, needs, clock, explain).await?;
    check_keys(conn, needs, keyring, explain).await
}

async fn migrate<C: Conn>(
    conn: &mut C,
    needs: &Needs,
    clock: &dyn Clock,
    explain: &(impl Fn(Fault) -> OpenError + Sync),
) -> Result<(), OpenError> {
    let mut found = 0;
    if conn.row(needs.has_schema, args![]).await.map_err(explain)?.is_none() {
        conn.script(schema::CREATE_TABLE).await.map_err(explain)?;
    } else if let Some(row) = conn.row(VERSION, args![]).await.map_err(explain)? {
        found = row.int("version").map_err(|error| explain(error.into()))?;
    }
    for migration in schema::missing(needs.migrations, found)? {
        conn.script(migration.sql).await.map_err(explain)?;
        let done = args![migration.version, migration.name, clock.wall()];
        conn.run(MIGRATED, done).await.map_err(explain)?;
    }
    Ok(())
}

async fn check_keys<C: Conn>(
    conn: &mut C,
    needs: &Needs,
    keyring: &Keyring,
    explain: &(impl Fn(Fault) -> OpenError + Sync),
) -> Result<(), OpenError> {
    let unreadable = |error: slipway_model::ports::StoreError| explain(error.into());
    if let Some(row) = conn.row(needs.foreign_key_id, args![keyring.ids()]).await.map_err(explain)? {
        return Err(OpenError::UnknownKey(row.text("id").map_err(unreadable)?));
    }
    for check in conn.rows(KEY_CHECKS, args![]).await.map_err(explain)? {
        let id = check.text("key_id").map_err(unreadable)?;
        let sealed = check.maybe_bytes("sealed").map_err(unreadable)?.unwrap_or_default();
        if keyring.knows(&id) && !keyring.passes(&id, &sealed) {
            return Err(OpenError::WrongKey(id));
        }
    }
    let add = args![keyring.active(), keyring.check_text()];
    conn.run(ADD_KEY_CHECK, add).await.map_err(explain)?;
    Ok(())
}
