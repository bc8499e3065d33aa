//! The port to runtimes in SQL, written once for both databases.
//!
//! Unlike the queue of operations nothing here is on a hot path, so one text of each statement serves
//! both databases. All that differs is that PostgreSQL, where several write at once, needs a lock per
//! instance; SQLite has one writer.
//!
//! **Why no two requests are both accepted.** `accept` holds the lock of its instance from before it
//! looks until it is durable, and so does every commit that ends an operation. Should a program ever
//! insert without the lock, the unique index over unfinished operations refuses the second row, the
//! call is made again, and then sees the first. Names are kept apart by their unique index alone, in
//! the same way: two new runtimes of one name have different instances and so different locks.

pub(crate) mod accept;
pub(crate) mod audit;
mod columns;
pub(crate) mod intents;
pub(crate) mod keys;
pub(crate) mod kyma;
pub(crate) mod limits;
pub(crate) mod records;

use slipway_model::{
    Operation, OperationId, RuntimeId, RuntimeRecord, Timestamp,
    ports::{
        Acceptance, Accepted, BoxFuture, OperationCount, Reassigned, Reassignment, RolledBack, Runtimes, StoreError,
        StoreResult,
    },
    runtime_record::{
        AgentState, Audit, AuditEntry, ConfigRevision, DirectorIntent, KymaConfig, KymaUpgrade, KymaUpgradeState,
        ProjectName, ShootName, Tenant,
    },
};

use crate::sql::{Database, SqlStore, call};

impl<D: Database> Runtimes for SqlStore<D> {
    fn accept<'a>(&'a self, request: &'a Acceptance, now: Timestamp) -> BoxFuture<'a, StoreResult<Accepted>> {
        Box::pin(async move {
            let accepted = call!(self, Transaction, conn => accept::accept(conn, &self.keyring, request, now))?;
            if matches!(accepted, Accepted::New(_)) {
                self.tell();
            }
            Ok(accepted)
        })
    }

    fn runtime<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>> {
        Box::pin(async move { call!(self, Read, conn => records::runtime(conn, id)) })
    }

    fn runtime_by_name<'a>(
        &'a self,
        project: &'a ProjectName,
        shoot_name: &'a ShootName,
    ) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>> {
        Box::pin(async move { call!(self, Read, conn => records::runtime_by_name(conn, project, shoot_name)) })
    }

    fn live_runtimes<'a>(
        &'a self,
        after: Option<RuntimeId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<RuntimeRecord>>> {
        Box::pin(async move { call!(self, Read, conn => records::live_runtimes(conn, after, limit)) })
    }

    fn config<'a>(
        &'a self,
        id: RuntimeId,
        revision: Option<u32>,
    ) -> BoxFuture<'a, StoreResult<Option<ConfigRevision>>> {
        Box::pin(async move { call!(self, Read, conn => records::config(conn, &self.keyring, id, revision)) })
    }

    fn kyma<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<KymaConfig>>> {
        Box::pin(async move { call!(self, Read, conn => kyma::active(conn, &self.keyring, id)) })
    }

    fn kyma_upgrade<'a>(&'a self, operation: OperationId) -> BoxFuture<'a, StoreResult<Option<KymaUpgrade>>> {
        Box::pin(async move { call!(self, Read, conn => kyma::upgrade(conn, operation)) })
    }

    fn kyma_upgrade_ended<'a>(
        &'a self,
        operation: OperationId,
        state: KymaUpgradeState,
    ) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { call!(self, Transaction, conn => kyma::upgrade_ended(conn, operation, state)) })
    }

    fn roll_back_kyma<'a>(
        &'a self,
        id: RuntimeId,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<RolledBack>> {
        Box::pin(async move { call!(self, Transaction, conn => kyma::roll_back(conn, &self.keyring, id, audit, now)) })
    }

    fn reassign<'a>(
        &'a self,
        id: RuntimeId,
        tenant: &'a Reassignment,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Reassigned>> {
        Box::pin(async move { call!(self, Transaction, conn => accept::reassign(conn, id, tenant, audit, now)) })
    }

    fn runtime_operations<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<OperationId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move { call!(self, Read, conn => records::operations(conn, &self.keyring, id, before, limit)) })
    }

    fn set_agent<'a>(&'a self, id: RuntimeId, agent: &'a AgentState) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { call!(self, Transaction, conn => records::set_agent(conn, id, agent)) })
    }

    fn tombstone<'a>(&'a self, id: RuntimeId, now: Timestamp) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { call!(self, Transaction, conn => records::tombstone(conn, id, now)) })
    }

    fn forget_tombstones<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move { call!(self, Transaction, conn => records::forget_tombstones(conn, before, limit)) })
    }

    fn plan_intent<'a>(
        &'a self,
        key: &'a str,
        tenant: &'a Tenant,
        name: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<DirectorIntent>> {
        Box::pin(async move { call!(self, Transaction, conn => intents::plan(conn, key, tenant, name, now)) })
    }

    fn registered<'a>(&'a self, key: &'a str, director_id: &'a str) -> BoxFuture<'a, StoreResult<DirectorIntent>> {
        Box::pin(async move { call!(self, Transaction, conn => intents::registered(conn, key, director_id)) })
    }

    fn abandon_intent<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<Option<DirectorIntent>>> {
        Box::pin(async move { call!(self, Transaction, conn => intents::abandon(conn, key)) })
    }

    fn unregistered<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { call!(self, Transaction, conn => intents::unregistered(conn, key)) })
    }

    fn open_intents<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<Vec<DirectorIntent>>> {
        Box::pin(async move { call!(self, Read, conn => intents::open(conn, before, limit)) })
    }

    fn audit_entries<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<AuditEntry>>> {
        Box::pin(async move { call!(self, Read, conn => audit::entries(conn, id, before, limit)) })
    }

    fn operation_counts<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<OperationCount>>> {
        Box::pin(async move { call!(self, Read, conn => records::counts(conn)) })
    }
}

pub(crate) fn no_runtime(id: RuntimeId) -> StoreError {
    StoreError::NotFound { what: "runtime", id: id.to_string() }
}
