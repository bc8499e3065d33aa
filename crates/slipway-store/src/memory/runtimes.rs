//! The port to runtimes in memory; what each call means is plainest here and in `rules`.
//!
//! Over the 300 lines because the port is one trait; each method is a few lines on plain maps.

mod rules;

use slipway_model::{
    Operation, OperationId, RuntimeId, RuntimeRecord, Timestamp,
    ports::{
        Acceptance, Accepted, BoxFuture, OperationCount, Reassigned, Reassignment, RolledBack, Runtimes, StoreResult,
    },
    runtime_record::{
        AgentState, Audit, AuditEntry, ConfigRevision, DirectorIntent, IntentState, KymaConfig, KymaUpgrade,
        KymaUpgradeState, ProjectName, ShootName, Tenant,
    },
};

use super::MemoryStore;
use crate::{
    rows::no_operation,
    runtimes::{intents, kyma, limits, records},
};
pub(super) use rules::RuntimeTables;

impl Runtimes for MemoryStore {
    fn accept<'a>(&'a self, request: &'a Acceptance, now: Timestamp) -> BoxFuture<'a, StoreResult<Accepted>> {
        Box::pin(async move {
            let id = limits::check(request)?;
            let mut tables = self.tables();
            if let Some(answer) = tables.objection(request, id)? {
                return Ok(answer);
            }
            let operation = tables.accept(request, id, now)?;
            self.give_hint();
            Ok(Accepted::New(operation))
        })
    }

    fn runtime<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>> {
        Box::pin(async move { Ok(self.tables().of_runtimes.runtimes.get(&id).cloned()) })
    }

    fn runtime_by_name<'a>(
        &'a self,
        project: &'a ProjectName,
        shoot_name: &'a ShootName,
    ) -> BoxFuture<'a, StoreResult<Option<RuntimeRecord>>> {
        Box::pin(async move { Ok(self.tables().of_runtimes.by_name(project, shoot_name).cloned()) })
    }

    fn live_runtimes<'a>(
        &'a self,
        after: Option<RuntimeId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<RuntimeRecord>>> {
        Box::pin(async move {
            let tables = self.tables();
            let live = tables.of_runtimes.runtimes.values().filter(|runtime| runtime.is_live());
            Ok(live.filter(|runtime| after.is_none_or(|after| runtime.id > after)).take(limit).cloned().collect())
        })
    }

    fn config<'a>(
        &'a self,
        id: RuntimeId,
        revision: Option<u32>,
    ) -> BoxFuture<'a, StoreResult<Option<ConfigRevision>>> {
        Box::pin(async move {
            let tables = &self.tables().of_runtimes;
            Ok(match revision {
                Some(revision) => tables.configs.get(&(id, revision)),
                None => tables.latest_revision(id),
            }
            .cloned())
        })
    }

    fn kyma<'a>(&'a self, id: RuntimeId) -> BoxFuture<'a, StoreResult<Option<KymaConfig>>> {
        Box::pin(async move { Ok(self.tables().of_runtimes.active_kyma(id).cloned()) })
    }

    fn kyma_upgrade<'a>(&'a self, operation: OperationId) -> BoxFuture<'a, StoreResult<Option<KymaUpgrade>>> {
        Box::pin(async move { Ok(self.tables().of_runtimes.upgrades.get(&operation).cloned()) })
    }

    fn kyma_upgrade_ended<'a>(
        &'a self,
        operation: OperationId,
        state: KymaUpgradeState,
    ) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move {
            kyma::check_end(state)?;
            let mut tables = self.tables();
            let upgrades = &mut tables.of_runtimes.upgrades;
            let upgrade = upgrades.get_mut(&operation).ok_or_else(|| kyma::no_upgrade(operation))?;
            if upgrade.state == KymaUpgradeState::InProgress {
                upgrade.state = state;
            }
            Ok(())
        })
    }

    fn roll_back_kyma<'a>(
        &'a self,
        id: RuntimeId,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<RolledBack>> {
        Box::pin(async move {
            limits::check_audit(audit)?;
            self.tables().roll_back(id, audit, now)
        })
    }

    fn reassign<'a>(
        &'a self,
        id: RuntimeId,
        tenant: &'a Reassignment,
        audit: &'a Audit,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<Reassigned>> {
        Box::pin(async move {
            limits::check_audit(audit)?;
            let tables = &mut self.tables().of_runtimes;
            match tables.change_tenant(id, tenant)? {
                Some(true) => {
                    tables.log_reassignment(&audit.who, id, tenant, None, now);
                    Ok(Reassigned::Done)
                }
                Some(false) => Ok(Reassigned::Done),
                None => Ok(Reassigned::Conflict),
            }
        })
    }

    fn runtime_operations<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<OperationId>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<Operation>>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let turns = tables.of_runtimes.turns.get(&id).cloned().unwrap_or_default();
            let end = match before {
                None => turns.len(),
                Some(before) => turns.iter().position(|turn| *turn == before).ok_or_else(|| no_operation(before))?,
            };
            let newest = turns[..end].iter().rev().take(limit);
            newest.map(|turn| Ok(tables.row(*turn)?.operation.clone())).collect()
        })
    }

    fn set_agent<'a>(&'a self, id: RuntimeId, agent: &'a AgentState) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move {
            limits::check_agent(agent)?;
            let mut tables = self.tables();
            let runtime = tables.of_runtimes.runtime(id)?;
            if runtime.agent.as_ref().is_none_or(|old| old.observed_at < agent.observed_at) {
                runtime.agent = Some(agent.clone());
                runtime.version += 1;
            }
            Ok(())
        })
    }

    fn tombstone<'a>(&'a self, id: RuntimeId, now: Timestamp) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move { self.tables().erase(id, now) })
    }

    fn forget_tombstones<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<usize>> {
        Box::pin(async move {
            let tables = &mut self.tables().of_runtimes;
            let old = tables.runtimes.values().filter_map(|runtime| Some((runtime.deleted_at?, runtime.id)));
            let mut old: Vec<_> = old.filter(|(at, _)| *at < before).collect();
            old.sort_unstable();
            old.truncate(limit);
            for (_, id) in &old {
                tables.runtimes.remove(id);
                tables.configs.retain(|(runtime, _), _| runtime != id);
                tables.kyma.retain(|_, kyma| kyma.runtime != *id);
            }
            let RuntimeTables { upgrades, kyma, .. } = tables;
            upgrades.retain(|_, upgrade| kyma.contains_key(&upgrade.post));
            Ok(old.len())
        })
    }

    fn plan_intent<'a>(
        &'a self,
        key: &'a str,
        tenant: &'a Tenant,
        name: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, StoreResult<DirectorIntent>> {
        Box::pin(async move {
            limits::text("intent", key)?;
            limits::text("name", name)?;
            let mut tables = self.tables();
            let planned = || DirectorIntent {
                key: key.to_owned(),
                tenant: tenant.clone(),
                name: name.to_owned(),
                director_id: None,
                state: IntentState::Planned,
                created_at: now,
            };
            Ok(tables.of_runtimes.intents.entry(key.to_owned()).or_insert_with(planned).clone())
        })
    }

    fn registered<'a>(&'a self, key: &'a str, director_id: &'a str) -> BoxFuture<'a, StoreResult<DirectorIntent>> {
        Box::pin(async move {
            limits::text("director_id", director_id)?;
            let mut tables = self.tables();
            let intent = tables.of_runtimes.intent(key)?;
            if intent.director_id.as_deref().is_some_and(|stored| stored != director_id) {
                return Err(intents::has_another_id(key));
            }
            intent.director_id = Some(director_id.to_owned());
            intent.state = match intent.state {
                IntentState::Planned | IntentState::Registered => IntentState::Registered,
                IntentState::Abandoned | IntentState::Unregistered => IntentState::Abandoned,
                IntentState::Committed => IntentState::Committed,
            };
            Ok(intent.clone())
        })
    }

    fn abandon_intent<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<Option<DirectorIntent>>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let intent = tables.of_runtimes.intent(key)?;
            match intent.state {
                IntentState::Planned | IntentState::Registered | IntentState::Abandoned => {
                    intent.state = IntentState::Abandoned;
                    Ok(Some(intent.clone()))
                }
                IntentState::Committed | IntentState::Unregistered => Ok(None),
            }
        })
    }

    fn unregistered<'a>(&'a self, key: &'a str) -> BoxFuture<'a, StoreResult<()>> {
        Box::pin(async move {
            let mut tables = self.tables();
            let intent = tables.of_runtimes.intent(key)?;
            match intent.state {
                IntentState::Abandoned | IntentState::Unregistered => intent.state = IntentState::Unregistered,
                elsewhere => return Err(intents::is_elsewhere(key, elsewhere, IntentState::Abandoned)),
            }
            Ok(())
        })
    }

    fn open_intents<'a>(&'a self, before: Timestamp, limit: usize) -> BoxFuture<'a, StoreResult<Vec<DirectorIntent>>> {
        Box::pin(async move {
            let tables = self.tables();
            let is_open = |intent: &&DirectorIntent| match intent.state {
                IntentState::Planned | IntentState::Registered | IntentState::Abandoned => intent.created_at < before,
                IntentState::Committed | IntentState::Unregistered => false,
            };
            let mut open: Vec<_> = tables.of_runtimes.intents.values().filter(is_open).cloned().collect();
            open.sort_by(|a, b| (a.created_at, &a.key).cmp(&(b.created_at, &b.key)));
            open.truncate(limit);
            Ok(open)
        })
    }

    fn audit_entries<'a>(
        &'a self,
        id: RuntimeId,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, StoreResult<Vec<AuditEntry>>> {
        Box::pin(async move {
            let tables = self.tables();
            let newest = tables.of_runtimes.audit.iter().rev().filter(|entry| entry.runtime == id);
            let newest = newest.filter(|entry| before.is_none_or(|before| entry.id < before));
            Ok(newest.take(limit).cloned().collect())
        })
    }

    fn operation_counts<'a>(&'a self) -> BoxFuture<'a, StoreResult<Vec<OperationCount>>> {
        Box::pin(async move {
            let tables = self.tables();
            let turns = tables.of_runtimes.turns.values().flatten();
            let operations = turns.filter_map(|id| Some(&tables.operations.get(id)?.operation));
            Ok(records::summed(operations.map(|op| (op.process.clone(), op.state, 1))))
        })
    }
}
