//! The port to runtimes on SQLite: each write is one transaction of the one writer. What it does is
//! written in the crate's module `runtimes`.

use slipway_model::{
    InstanceId, Operation, OperationId, RecordKind, RuntimeId, RuntimeRecord, Timestamp,
    ports::{
        Acceptance, Accepted, BoxFuture, OperationCount, Reassigned, Reassignment, RolledBack, Runtimes, StoreError,
        StoreResult,
    },
    runtime_record::{
        AgentState, Audit, AuditEntry, ConfigRevision, DirectorIntent, KymaConfig, KymaUpgrade, KymaUpgradeState,
        ProjectName, ShootName, Tenant,
    },
};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use super::{SqliteStore, enqueue};
use crate::{
    error::{Fault, Tried},
    runtimes::{Arg, Conn, accept, audit, intents, kyma, records, send_by_sqlx},
    secrets::Keyring,
};

impl Conn for SqliteConnection {
    send_by_sqlx!(SqliteRow);

    /// Nobody else writes.
    async fn lock_instance(&mut self, _: &InstanceId) -> Tried<()> {
        Ok(())
    }

    async fn insert_operation(&mut self, keyring: &Keyring, operation: &Operation, turn: i64) -> Tried<()> {
        enqueue::insert(self, keyring, operation, Some(turn)).await
    }

    async fn record(&mut self, operation: &Operation, at: Timestamp, kind: &RecordKind) -> Tried<()> {
        enqueue::record(self, operation.id, at, kind).await
    }
}

impl Runtimes for SqliteStore {
    fn accept<'a>(&'a self, request: &'a Acceptance, now: Timestamp) -> BoxFuture<'a, StoreResult<Accepted>> {
        Box::pin(async move {
            let accepted = write!(self, tx => accept::accept(&mut **tx, &self.keyring, request, now))?;
            if matches!(accepted, Accepted::New(_)) {
                self.hints.give();
            }
            Ok(accepted)
        })
    }

    fn runtime<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>> {
        Box::pin(async move { read!(self, conn => records::runtime(conn, id)) })
    }

    fn runtime_by_name<'a>(
        &'a self,
        project: &'a ProjectName,
        shoot_name: &'a ShootName,
    ) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>> {
        Box::pin(async move { read!(self, conn => records::runtime_by_name(conn, project, shoot_name)) })
    }

    fn live_runtimes<'a>(
        &'a self,
        after: Option<RuntimeId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<RuntimeRecord>>> {
        Box::pin(async move { read!(self, conn => records::live_runtimes(conn, after, limit)) })
    }

    fn config<'a>(
        &'a self,
        id: RuntimeId,
        revision: Option<u32>,
    ) -> BoxFuture<'a, StoreResult<Option<ConfigRevision>>> {
        Box::pin(async move { read!(self, conn => records::config(conn, &self.keyring, id, revision)) })
    }

    fn kyma<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<KymaConfig>>> {
        Box::pin(async move { read!(self, conn => kyma::active(conn, &self.keyring, id)) })
    }

    fn kyma_upgrade<'a>(&'a self, operation: OperationId) -> BoxFuture<'a, StoreResult<Option<KymaUpgrade>>> {
        Box::pin(async move { read!(self, conn => kyma::upgrade(conn, operation)) })
    }

    fn kyma_upgrade_ended<'a>(
        &'a self,
        operation: OperationId,
        state: KymaUpgradeState,
    ) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { write!(self, tx => kyma::upgrade_ended(&mut **tx, operation, state)) })
    }

    fn roll_back_kyma<'a>(
        &'a self,
        id: RuntimeId,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<RolledBack>> {
        Box::pin(async move { write!(self, tx => kyma::roll_back(&mut **tx, &self.keyring, id, audit, now)) })
    }

    fn reassign<'a>(
        &'a self,
        id: RuntimeId,
        tenant: &'a Reassignment,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Reassigned>> {
        Box::pin(async move { write!(self, tx => accept::reassign(&mut **tx, id, tenant, audit, now)) })
    }

    fn runtime_operations<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<OperationId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move { read!(self, conn => records::operations(conn, &self.keyring, id, before, limit)) })
    }

    fn set_agent<'a>(&'a self, id: RuntimeId, agent: &'a AgentState) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { write!(self, tx => records::set_agent(&mut **tx, id, agent)) })
    }

    fn tombstone<'a>(&'a self, id: RuntimeId, now: Timestamp) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { write!(self, tx => records::tombstone(&mut **tx, id, now)) })
    }

    fn forget_tombstones<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move { write!(self, tx => records::forget_tombstones(&mut **tx, before, limit)) })
    }

    fn plan_intent<'a>(
        &'a self,
        key: &'a str,
        tenant: &'a Tenant,
        name: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<DirectorIntent>> {
        Box::pin(async move { write!(self, tx => intents::plan(&mut **tx, key, tenant, name, now)) })
    }

    fn registered<'a>(&'a self, key: &'a str, director_id: &'a str) -> BoxFuture<'a, StoreResult<DirectorIntent>> {
        Box::pin(async move { write!(self, tx => intents::registered(&mut **tx, key, director_id)) })
    }

    fn abandon_intent<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<Option<DirectorIntent>>> {
        Box::pin(async move { write!(self, tx => intents::abandon(&mut **tx, key)) })
    }

    fn unregistered<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { write!(self, tx => intents::unregistered(&mut **tx, key)) })
    }

    fn open_intents<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<Vec<DirectorIntent>>> {
        Box::pin(async move { read!(self, conn => intents::open(conn, before, limit)) })
    }

    fn audit_entries<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<AuditEntry>>> {
        Box::pin(async move { read!(self, conn => audit::entries(conn, id, before, limit)) })
    }

    fn operation_counts<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<OperationCount>>> {
        Box::pin(async move { read!(self, conn => records::counts(conn)) })
    }
}
