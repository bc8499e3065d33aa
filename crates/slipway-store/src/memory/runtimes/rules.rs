//! The tables of runtimes in memory, and the calls that touch several of them. All that can stand
//! against a request is looked at before anything is written, since nothing here rolls back.

use std::collections::BTreeMap;

use slipway_model::{
    Operation, OperationId, RecordKind, RuntimeId, RuntimeRecord, Timestamp,
    ports::{Acceptance, Accepted, NewKyma, Reassignment, RolledBack, StoreError, StoreResult, WhyNotRolledBack},
    runtime_record::{
        Audit, AuditEntry, ConfigRevision, DirectorIntent, IntentState, KymaConfig, KymaUpgrade, KymaUpgradeState,
        ProjectName, ShootName, Tenant,
    },
};
use sqlx::types::Uuid;

use crate::{
    memory::{Row, Tables},
    runtimes::{accept, audit, intents, no_runtime},
};

#[derive(Default)]
pub(in crate::memory) struct RuntimeTables {
    pub(super) runtimes: BTreeMap<RuntimeId, RuntimeRecord>,
    pub(super) configs: BTreeMap<(RuntimeId, u32), ConfigRevision>,
    pub(super) kyma: BTreeMap<Uuid, KymaConfig>,
    pub(super) upgrades: BTreeMap<OperationId, KymaUpgrade>,
    pub(super) intents: BTreeMap<String, DirectorIntent>,
    pub(super) audit: Vec<AuditEntry>,
    /// The operations of each runtime in the order of their acceptance.
    pub(super) turns: BTreeMap<RuntimeId, Vec<OperationId>>,
}

impl RuntimeTables {
    pub(super) fn runtime(&mut self, id: RuntimeId) -> StoreResult<&mut RuntimeRecord> {
        self.runtimes.get_mut(&id).ok_or_else(|| no_runtime(id))
    }

    pub(super) fn by_name(&self, project: &ProjectName, shoot_name: &ShootName) -> Option<&RuntimeRecord> {
        self.runtimes
            .values()
            .find(|runtime| runtime.is_live() && runtime.project == *project && runtime.shoot_name == *shoot_name)
    }

    pub(super) fn active_kyma(&mut self, id: RuntimeId) -> Option<&mut KymaConfig> {
        self.kyma.values_mut().find(|kyma| kyma.runtime == id && kyma.is_active)
    }

    pub(super) fn intent(&mut self, key: &str) -> StoreResult<&mut DirectorIntent> {
        self.intents.get_mut(key).ok_or_else(|| intents::no_intent(key))
    }

    pub(super) fn latest_revision(&self, id: RuntimeId) -> Option<&ConfigRevision> {
        self.configs.range((id, 0)..=(id, u32::MAX)).next_back().map(|(_, config)| config)
    }

    fn log(&mut self, entry: AuditEntry) {
        let id = self.audit.last().map_or(1, |last| last.id + 1);
        self.audit.push(AuditEntry { id, ..entry });
    }

    /// Whether the tenant was changed; none if it is neither the old nor the new one.
    pub(super) fn change_tenant(&mut self, id: RuntimeId, tenant: &Reassignment) -> StoreResult<Option<bool>> {
        let runtime = self.runtime(id)?;
        if runtime.tenant == tenant.new {
            return Ok(Some(false));
        }
        if runtime.tenant != tenant.old {
            return Ok(None);
        }
        runtime.tenant = tenant.new.clone();
        runtime.version += 1;
        Ok(Some(true))
    }

    pub(super) fn log_reassignment(
        &mut self,
        who: &str,
        runtime: RuntimeId,
        tenant: &Reassignment,
        operation: Option<OperationId>,
        at: Timestamp,
    ) {
        let changed_paths = vec![audit::TENANT_PATH.to_owned()];
        let audit = Audit { who: who.to_owned(), action: audit::REASSIGNED.to_owned(), changed_paths };
        let previous_tenant = Some(tenant.old.clone());
        self.log(AuditEntry { previous_tenant, ..entry(&audit, runtime, &tenant.new, operation, at) });
    }

    fn put_kyma_in_force(&mut self, id: RuntimeId, new: &NewKyma, operation: OperationId) {
        let before = self.active_kyma(id).map(|kyma| {
            kyma.is_active = false;
            kyma.id
        });
        let NewKyma { id: post, spec, secrets, is_upgrade } = new.clone();
        self.kyma.insert(post, KymaConfig { id: post, runtime: id, spec, secrets, is_active: true });
        if let (true, Some(pre)) = (is_upgrade, before) {
            let state = KymaUpgradeState::InProgress;
            self.upgrades.insert(operation, KymaUpgrade { operation, pre, post, state });
        }
    }
}

fn entry(
    audit: &Audit,
    runtime: RuntimeId,
    tenant: &Tenant,
    operation: Option<OperationId>,
    at: Timestamp,
) -> AuditEntry {
    let Audit { who, action, changed_paths } = audit.clone();
    let tenant = tenant.clone();
    AuditEntry { id: 0, at, who, tenant, previous_tenant: None, action, runtime, operation, changed_paths }
}

impl Tables {
    /// Looks at everything that can stand against a request; none if nothing does.
    pub(super) fn objection(&mut self, request: &Acceptance, id: RuntimeId) -> StoreResult<Option<Accepted>> {
        if let Some(row) = self.operations.get(&request.operation.id) {
            let first = &row.operation;
            let is_same = first.instance_id == request.operation.instance_id;
            return if is_same { Ok(Some(Accepted::New(first.clone()))) } else { Err(accept::is_foreign(first)) };
        }
        let mut all = self.operations.values().map(|row| &row.operation);
        let instance = &request.operation.instance_id;
        if let Some(running) = all.find(|op| op.instance_id == *instance && !op.state.is_finished()) {
            return Ok(Some(Accepted::Busy(running.clone())));
        }
        let tables = &mut self.of_runtimes;
        let tenant = match (&request.runtime, tables.runtimes.get(&id)) {
            (Some(_), Some(old)) if old.is_live() => return Ok(Some(Accepted::IdTaken(old.clone()))),
            (Some(new), _) => match tables.by_name(&new.project, &new.shoot_name) {
                Some(other) => return Ok(Some(Accepted::NameTaken(other.clone()))),
                None => new.tenant.clone(),
            },
            (None, None) => return Err(no_runtime(id)),
            (None, Some(old)) if !old.is_live() => return Ok(Some(Accepted::Gone(old.clone()))),
            (None, Some(old)) => old.tenant.clone(),
        };
        if request.tenant.as_ref().is_some_and(|change| tenant != change.old && tenant != change.new) {
            return Err(accept::has_another_tenant(id));
        }
        if let Some(key) = &request.intent {
            let state = tables.intent(key)?.state;
            if state != IntentState::Registered {
                return Err(intents::is_elsewhere(key, state, IntentState::Registered));
            }
        }
        if let Some(kyma) = &request.kyma {
            if tables.kyma.contains_key(&kyma.id) {
                return Err(StoreError::Refused(format!("there is a Kyma configuration {} already", kyma.id)));
            }
            // A new runtime in the place of a tombstone has none either.
            if kyma.is_upgrade && (request.runtime.is_some() || tables.active_kyma(id).is_none()) {
                return Err(accept::nothing_to_upgrade(id));
            }
        }
        Ok(None)
    }

    pub(super) fn accept(&mut self, request: &Acceptance, id: RuntimeId, now: Timestamp) -> StoreResult<Operation> {
        let operation = request.operation.clone().accepted(now);
        let tables = &mut self.of_runtimes;
        if let Some(new) = &request.runtime {
            let version = tables.runtimes.get(&id).map_or(1, |tombstone| tombstone.version + 1);
            let record = RuntimeRecord { deleted_at: None, agent: None, version, ..new.clone() };
            tables.runtimes.insert(id, record);
            if let Some(kyma) = tables.active_kyma(id) {
                kyma.is_active = false;
            }
        }
        if let Some(tenant) = &request.tenant
            && tables.change_tenant(id, tenant)? == Some(true)
        {
            tables.log_reassignment(&request.audit.who, id, tenant, Some(operation.id), now);
        }
        if let Some(key) = &request.intent {
            tables.intent(key)?.state = IntentState::Committed;
        }
        if let Some(config) = request.config.clone() {
            let revision = tables.latest_revision(id).map_or(1, |latest| latest.revision + 1);
            let (schema_version, spec, secrets) = (config.schema_version, config.spec, config.secrets);
            let config =
                ConfigRevision { runtime: id, revision, schema_version, spec, secrets, created_by: operation.id };
            tables.configs.insert((id, revision), config);
        }
        if let Some(kyma) = &request.kyma {
            tables.put_kyma_in_force(id, kyma, operation.id);
        }
        tables.turns.entry(id).or_default().push(operation.id);
        let tenant = tables.runtime(id)?.tenant.clone();
        tables.log(entry(&request.audit, id, &tenant, Some(operation.id), now));
        self.record(operation.id, now, RecordKind::Accepted { by: request.operation.by.clone() });
        self.operations.insert(operation.id, Row::of(operation.clone()));
        Ok(operation)
    }

    pub(super) fn roll_back(&mut self, id: RuntimeId, audit: &Audit, now: Timestamp) -> StoreResult<RolledBack> {
        let tenant = self.of_runtimes.runtime(id)?.tenant.clone();
        let latest = self.of_runtimes.turns.get(&id).and_then(|turns| turns.last().copied());
        let latest = latest.ok_or_else(|| StoreError::Unreadable(format!("runtime {id} has no operation")))?;
        if !self.row(latest)?.operation.state.is_finished() {
            return Ok(RolledBack::NotAllowed(WhyNotRolledBack::InProgress(latest)));
        }
        let tables = &mut self.of_runtimes;
        let Some(upgrade) = tables.upgrades.get_mut(&latest) else {
            return Ok(RolledBack::NotAllowed(WhyNotRolledBack::NotAnUpgrade(latest)));
        };
        let (pre, first) = (upgrade.pre, upgrade.state != KymaUpgradeState::RolledBack);
        upgrade.state = KymaUpgradeState::RolledBack;
        if first {
            for kyma in tables.kyma.values_mut().filter(|kyma| kyma.runtime == id) {
                kyma.is_active = kyma.id == pre;
            }
            tables.log(entry(audit, id, &tenant, None, now));
        }
        let active = tables.active_kyma(id).cloned();
        active
            .map(RolledBack::Done)
            .ok_or_else(|| StoreError::Unreadable(format!("runtime {id} has no Kyma configuration in force")))
    }

    pub(super) fn erase(&mut self, id: RuntimeId, now: Timestamp) -> StoreResult<()> {
        let tables = &mut self.of_runtimes;
        let runtime = tables.runtime(id)?;
        if !runtime.is_live() {
            return Ok(());
        }
        runtime.deleted_at = Some(now);
        runtime.version += 1;
        tables.configs.range_mut((id, 0)..=(id, u32::MAX)).for_each(|(_, config)| config.secrets = None);
        tables.kyma.values_mut().filter(|kyma| kyma.runtime == id).for_each(|kyma| kyma.secrets = None);
        let instance = id.instance();
        for row in self.operations.values_mut().filter(|row| row.operation.instance_id == instance) {
            row.operation.secrets = None;
        }
        Ok(())
    }
}
