//! Figures for Prometheus.
//!
//! What the database knows is counted there, at most every 15 s however often the page is read; what happens
//! here is counted as it happens. No label holds an id, a tenant or free text: each combination of labels
//! lives for ever in somebody's database.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use prometheus_client::{
    collector::Collector,
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use slipway_engine::Event;
use slipway_model::{
    OperationId, OperationState,
    ports::{Clock, OperationCount, Runtimes},
    recorder::Outcome,
    runtime_record::AgentConnection,
    time::secs,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::OperationKind;

/// Prefix of all names that are ours.
const PREFIX: &str = "slipway_provisioner";

/// How long a count of the database is good.
const COUNTED_FOR: Duration = secs(15);

/// How long the database may take; then the page has the old figures.
const COUNT_MAX: Duration = secs(2);

/// The gauges whose names others' dashboards know: `kcp_provisioner_in_progress_<…>_operations_total`.
#[rustfmt::skip]
const IN_PROGRESS: [(OperationKind, &str); 8] = [
    (OperationKind::Provision,            "provision"),
    (OperationKind::ProvisionNoInstall,   "provision_no_install"),
    (OperationKind::Deprovision,          "deprovision"),
    (OperationKind::DeprovisionNoInstall, "deprovision_no_install"),
    (OperationKind::Upgrade,              "upgrade"),
    (OperationKind::UpgradeShoot,         "upgrade_shoot"),
    (OperationKind::Hibernate,            "hibernate"),
    (OperationKind::ReconnectRuntime,     "reconnect_runtime"),
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    r#type: &'static str,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    r#type: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    r#type: &'static str,
    stage: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RetryLabels {
    r#type: &'static str,
    stage: &'static str,
    component: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    field: &'static str,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FieldLabels {
    field: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    call: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AgentLabels {
    status: &'static str,
}

/// All figures.
pub struct Metrics {
    registry: Registry,
    in_progress: Vec<(OperationKind, Gauge)>,
    operations: Family<StateLabels, Gauge>,
    operation_duration: Family<ResultLabels, Histogram>,
    stage_duration: Family<StageLabels, Histogram>,
    stage_retries: Family<RetryLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    request_duration: Family<FieldLabels, Histogram>,
    director_requests: Family<CallLabels, Counter>,
    agents: Family<AgentLabels, Gauge>,
    reassignments: Counter,
    takeovers: Counter,
    news_missed: Counter,
    /// The stage each operation is in here, and since when.
    stages: Mutex<HashMap<OperationId, Stage>>,
    counted_at: Mutex<Option<Duration>>,
}

/// A stage that an operation is in.
#[derive(Debug, Clone, Copy)]
struct Stage {
    r#type: &'static str,
    name: &'static str,
    since: Duration,
    has_failed: bool,
}

/// From a millisecond to a minute, the longest a request may take.
fn short() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 9))
}

/// From half a second to some 36 hours.
fn long() -> Histogram {
    Histogram::new(exponential_buckets(0.5, 4.0, 10))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut all = Self {
            registry: Registry::default(),
            in_progress: IN_PROGRESS.iter().map(|(kind, _)| (*kind, Gauge::default())).collect(),
            operations: Family::default(),
            operation_duration: Family::new_with_constructor(long),
            stage_duration: Family::new_with_constructor(long),
            stage_retries: Family::default(),
            requests: Family::default(),
            request_duration: Family::new_with_constructor(short),
            director_requests: Family::default(),
            agents: Family::default(),
            reassignments: Counter::default(),
            takeovers: Counter::default(),
            news_missed: Counter::default(),
            stages: Mutex::default(),
            counted_at: Mutex::default(),
        };
        for ((_, name), (_, gauge)) in IN_PROGRESS.iter().zip(&all.in_progress) {
            let name = format!("kcp_provisioner_in_progress_{name}_operations_total");
            all.registry.register(name, "Operations in progress", gauge.clone());
        }
        let r = all.registry.sub_registry_with_prefix(PREFIX);
        r.register("operations", "Operations by type and state", all.operations.clone());
        let seconds = Unit::Seconds;
        r.register_with_unit("operation_duration", "To the end", seconds.clone(), all.operation_duration.clone());
        r.register_with_unit("stage_duration", "Stages", seconds.clone(), all.stage_duration.clone());
        r.register("stage_retries", "Steps that are tried again", all.stage_retries.clone());
        r.register("graphql_requests", "Queries and mutations", all.requests.clone());
        r.register_with_unit("graphql_duration", "Queries and mutations", seconds, all.request_duration.clone());
        r.register("director_requests", "Calls to the Director", all.director_requests.clone());
        r.register("agent_connection", "Agents by what was last seen of them", all.agents.clone());
        r.register("tenant_reassignments", "Runtimes moved to another tenant", all.reassignments.clone());
        r.register("lease_takeovers", "Operations taken from dead replicas", all.takeovers.clone());
        r.register("news_missed", "Engine news that came too fast to be counted here", all.news_missed.clone());
        all
    }
}

impl Metrics {
    /// The same, with figures that are read at each look.
    #[must_use]
    pub fn with(mut self, figures: impl Collector) -> Self {
        self.registry.sub_registry_with_prefix(PREFIX).register_collector(Box::new(figures));
        self
    }

    /// Counts the engine's news until there is no engine.
    pub async fn count(&self, mut news: Receiver<Event>, clock: &dyn Clock) {
        loop {
            match news.recv().await {
                Ok(event) => self.note(event, clock.monotonic()),
                Err(RecvError::Lagged(missed)) => {
                    self.news_missed.inc_by(missed);
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn note(&self, event: Event, now: Duration) {
        match event {
            Event::StepProcessed { operation, process, stage, outcome, component, .. } => {
                let Some(kind) = OperationKind::of(&process) else { return };
                let r#type = kind.as_str();
                if outcome == Outcome::Retry {
                    let labels = RetryLabels { r#type, stage, component: component.as_str() };
                    self.stage_retries.get_or_create(&labels).inc();
                }
                let mut entered = Stage { r#type, name: stage, since: now, has_failed: outcome == Outcome::Fail };
                let before = locked(&self.stages).get(&operation).copied();
                match before {
                    Some(same) if same.name == stage => entered.since = same.since,
                    Some(left) => self.leave(left, now),
                    None => {}
                }
                locked(&self.stages).insert(operation, entered);
            }
            Event::OperationFinished { operation, process, state, duration, .. } => {
                let Some(kind) = OperationKind::of(&process) else { return };
                let result = spelled(state);
                let left = locked(&self.stages).remove(&operation);
                if let Some(left) = left {
                    self.leave(left, now);
                }
                let labels = ResultLabels { r#type: kind.as_str(), result };
                self.operation_duration.get_or_create(&labels).observe(duration.as_secs_f64());
            }
            Event::LeasesTaken { operations } => {
                self.takeovers.inc_by(u64::try_from(operations).unwrap_or(u64::MAX));
            }
            // Others have them now, and will see their ends.
            Event::LeaseLost => locked(&self.stages).clear(),
        }
    }

    fn leave(&self, left: Stage, now: Duration) {
        let Stage { r#type, name: stage, since, has_failed } = left;
        let labels = StageLabels { r#type, stage, result: if has_failed { "failed" } else { "done" } };
        self.stage_duration.get_or_create(&labels).observe(now.saturating_sub(since).as_secs_f64());
    }

    /// A query or mutation was answered with this code; 200 when nothing was wrong with it.
    pub(crate) fn answered(&self, field: &'static str, code: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { field, code }).inc();
        self.request_duration.get_or_create(&FieldLabels { field }).observe(took.as_secs_f64());
    }

    /// The Director was asked.
    pub fn asked_director(&self, call: &'static str, result: &'static str) {
        self.director_requests.get_or_create(&CallLabels { call, result }).inc();
    }

    /// A runtime has moved to another tenant.
    pub(crate) fn reassigned(&self) {
        self.reassignments.inc();
    }

    /// What a round over all agents has seen.
    pub(crate) fn saw_agents(&self, seen: &[(AgentConnection, usize)]) {
        for (state, count) in seen {
            let gauge = self.agents.get_or_create(&AgentLabels { status: state.as_str() });
            gauge.set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
    }

    /// The page.
    pub async fn page(&self, runtimes: &dyn Runtimes, clock: &dyn Clock) -> String {
        let is_old = locked(&self.counted_at).is_none_or(|at| clock.monotonic().saturating_sub(at) >= COUNTED_FOR);
        if is_old {
            let counts = tokio::select! {
                biased;
                counts = runtimes.operation_counts() => counts.ok(),
                () = clock.sleep(COUNT_MAX) => None,
            };
            match counts {
                Some(counts) => {
                    self.show(&counts);
                    *locked(&self.counted_at) = Some(clock.monotonic());
                }
                None => tracing::warn!("the database did not count its operations; the figures are the old ones"),
            }
        }
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }

    fn show(&self, counts: &[OperationCount]) {
        self.operations.clear();
        for (_, gauge) in &self.in_progress {
            gauge.set(0);
        }
        for OperationCount { process, state, count } in counts {
            let Some(kind) = OperationKind::all().find(|kind| kind.process_name() == process) else { continue };
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.operations.get_or_create(&StateLabels { r#type: kind.as_str(), state: spelled(*state) }).inc_by(count);
            let known = self.in_progress.iter().find(|(other, _)| *other == kind);
            if let Some((_, gauge)) = known.filter(|_| !state.is_finished()) {
                gauge.inc_by(count);
            }
        }
    }
}

/// The contract's word for a state of the engine.
fn spelled(state: OperationState) -> &'static str {
    match state {
        OperationState::Succeeded => "Succeeded",
        state if state.is_finished() => "Failed",
        _ => "InProgress",
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use slipway_engine::SystemClock;
    use slipway_model::{Component, OperationType};

    use super::*;

    fn step(id: OperationId, stage: &'static str, outcome: Outcome) -> Event {
        Event::StepProcessed {
            operation: id,
            instance_id: "secret-instance".parse().expect("id"),
            kind: OperationType::Provision,
            process: "provisioner_provision_no_install@2".parse().expect("a process"),
            plan: "p".to_owned(),
            stage,
            step: "Step",
            duration: secs(1),
            outcome,
            component: Component::Provisioner,
            reason: None,
            calls: Vec::new(),
        }
    }

    #[tokio::test]
    async fn the_page_has_the_names_of_the_contract_and_no_ids() {
        let metrics = Metrics::default();
        let id = OperationId::from(uuid::Uuid::from_u128(0xabcd));
        metrics.note(step(id, "A", Outcome::Retry), secs(10));
        metrics.note(step(id, "A", Outcome::Done), secs(20));
        metrics.note(step(id, "B", Outcome::Fail), secs(21));
        metrics.note(step(id, "Finished", Outcome::Done), secs(25));
        metrics.note(
            Event::OperationFinished {
                operation: id,
                instance_id: "secret-instance".parse().expect("id"),
                kind: OperationType::Provision,
                process: "provisioner_provision_no_install@2".parse().expect("a process"),
                plan: "p".to_owned(),
                state: OperationState::Failed,
                last_error: None,
                duration: secs(33),
            },
            secs(25),
        );
        metrics.note(Event::LeasesTaken { operations: 3 }, secs(26));
        metrics.answered("provisionRuntime", 400, secs(1));
        metrics.asked_director("registerRuntime", "succeeded");
        metrics.reassigned();
        metrics.saw_agents(&[(AgentConnection::Connected, 7)]);
        let count =
            |state, count| OperationCount { process: OperationKind::Upgrade.process_name().to_owned(), state, count };
        metrics.show(&[
            count(OperationState::Pending, 1),
            count(OperationState::InProgress, 2),
            count(OperationState::Succeeded, 9),
        ]);
        *locked(&metrics.counted_at) = Some(SystemClock::default().monotonic() + secs(60));
        let store = slipway_store::MemoryStore::new(std::sync::Arc::new(SystemClock::default()));
        let page = metrics.page(&store, &SystemClock::default()).await;
        for line in [
            "kcp_provisioner_in_progress_upgrade_operations_total 3",
            "kcp_provisioner_in_progress_provision_operations_total 0",
            "slipway_provisioner_operations{type=\"Upgrade\",state=\"InProgress\"} 3",
            "slipway_provisioner_operations{type=\"Upgrade\",state=\"Succeeded\"} 9",
            "slipway_provisioner_operation_duration_seconds_sum{type=\"ProvisionNoInstall\",result=\"Failed\"} 33",
            "slipway_provisioner_stage_duration_seconds_sum{type=\"ProvisionNoInstall\",stage=\"A\",result=\"done\"} 11",
            "slipway_provisioner_stage_duration_seconds_sum{type=\"ProvisionNoInstall\",stage=\"B\",result=\"failed\"} 4",
            "slipway_provisioner_stage_retries_total{type=\"ProvisionNoInstall\",stage=\"A\",component=\"provisioner\"} 1",
            "slipway_provisioner_graphql_requests_total{field=\"provisionRuntime\",code=\"400\"} 1",
            "slipway_provisioner_graphql_duration_seconds_count{field=\"provisionRuntime\"} 1",
            "slipway_provisioner_director_requests_total{call=\"registerRuntime\",result=\"succeeded\"} 1",
            "slipway_provisioner_agent_connection{status=\"connected\"} 7",
            "slipway_provisioner_tenant_reassignments_total 1",
            "slipway_provisioner_lease_takeovers_total 3",
        ] {
            assert!(page.to_lowercase().contains(&line.to_lowercase()), "{line}\n{page}");
        }
        assert!(!page.contains("abcd") && !page.contains("secret-instance"));
    }
}
