//! The rows of an accepted provisioning written without server and store: what the benchmark of the
//! provisioner compares it with.
//!
//! Five rows in one transaction: the runtime, its configuration, the operation, an entry of the flight
//! recorder and one of the audit log. What is left out is everything that needs a decision: whose the name
//! is, what else runs, and the encryption.

use sqlx::types::Uuid;

use super::bare::Bare;

/// What is written for one.
#[derive(Debug, Clone)]
pub struct BareAcceptance {
    /// The runtime.
    pub runtime: Uuid,
    /// The operation.
    pub operation: Uuid,
    /// A free name.
    pub name: String,
    /// The configuration: JSON text of a usual length.
    pub spec: String,
    /// Time of the write.
    pub at: i64,
}

const RUNTIME: &str = "INSERT INTO runtimes
    (id, tenant, shoot_name, project, director_owned, created_at, data_key, data_key_id, version)
    VALUES ($1, 'acme', $2, 'dev', FALSE, $3, $4, 'bench', 1)";
const CONFIG: &str = "INSERT INTO runtime_configs (runtime_id, revision, schema_version, spec, secrets, created_by)
    VALUES ($1, 1, 1, $2, $3, $4)";
const OPERATION: &str = "INSERT INTO operations (id, instance_id, kind, class, temporary, plan, process, state,
        description, finished_stages, skipped_steps, data, version, budget, created_at, updated_at, due_at, turn)
    VALUES ($1, $2, 'provision', 'provision', FALSE, 'provisioner', 'bare@1', 'pending', '', '[]', '[]', $3, 1,
        86400000000, $4, $4, $4, 1)";
const RECORD: &str = "INSERT INTO records (operation_id, at, kind) VALUES ($1, $2, $3)";
const AUDIT: &str = "INSERT INTO audit_log (at, who, tenant, action, runtime_id, operation_id, changed_paths)
    VALUES ($1, 'bench', 'acme', 'provisionRuntime', $2, $3, '[]')";

/// As long as a wrapped key, and as a sealed list of nobody.
const SEALED: [u8; 60] = [7; 60];

macro_rules! write {
    ($tx:ident, $new:ident) => {{
        let BareAcceptance { runtime, operation, name, spec, at } = $new;
        sqlx::query(RUNTIME).bind(runtime).bind(name).bind(at).bind(&SEALED[..]).execute(&mut *$tx).await?;
        sqlx::query(CONFIG).bind(runtime).bind(spec).bind(&SEALED[..]).bind(operation).execute(&mut *$tx).await?;
        let (instance, begin) = (format!("runtime:{runtime}"), r#"{"changesCluster":true,"changesKyma":false}"#);
        sqlx::query(OPERATION).bind(operation).bind(instance).bind(begin).bind(at).execute(&mut *$tx).await?;
        sqlx::query(RECORD).bind(operation).bind(at).bind(r#"{"accepted":{"by":"bench"}}"#).execute(&mut *$tx).await?;
        sqlx::query(AUDIT).bind(at).bind(runtime).bind(operation).execute(&mut *$tx).await?;
        $tx.commit().await
    }};
}

impl Bare {
    /// Writes one, in a transaction of its own.
    pub async fn accept(&self, new: &BareAcceptance) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(pool) => {
                let mut tx = pool.begin().await?;
                write!(tx, new)
            }
            Self::Sqlite(pool) => {
                let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
                write!(tx, new)
            }
        }
    }
}
