//! Figures: those of the reference by their names, and ours.
//!
//! Gauges that describe one Runtime are replaced when it changes and removed when it goes. The message of a
//! condition is cut short in its label: free text would make a new series of every sentence.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use slipway_kube::{
    Runtime, RuntimeState,
    access::{Counters, Priority, Waits},
    labels,
    runtime::RuntimeStatus,
};
use slipway_model::time::{Timestamp, spell};

use crate::memory::Phases;

/// Longest message in a label.
const LONGEST: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
#[expect(non_snake_case, reason = "labels are spelled as the reference spells them")]
struct RuntimeLabels {
    runtimeId: String,
    runtimeName: String,
    shoot: String,
    provider: String,
    state: String,
    message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
#[expect(non_snake_case, reason = "labels are spelled as the reference spells them")]
struct ClusterLabels {
    runtimeId: String,
    shoot: String,
    state: String,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
#[expect(non_snake_case, reason = "labels are spelled as the reference spells them")]
struct ExpiryLabels {
    runtimeId: String,
    shoot: String,
    expires: String,
    rotationDuration: String,
    expirationDuration: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabels {
    controller: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    resource: String,
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PriorityLabels {
    priority: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    resource: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

/// From a tenth of a millisecond to a minute and a half.
fn short() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 4.0, 11))
}

/// From a tenth of a second to seven hours.
fn long() -> Histogram {
    Histogram::new(exponential_buckets(0.1, 4.0, 10))
}

/// All figures.
pub(crate) struct Metrics {
    registry: Registry,
    runtimes: Family<RuntimeLabels, Gauge>,
    clusters: Family<ClusterLabels, Gauge>,
    expiries: Family<ExpiryLabels, Gauge>,
    stops: Counter,
    passes: Family<PassLabels, Histogram>,
    steps: Family<StepLabels, Histogram>,
    phases: Family<PhaseLabels, Histogram>,
    depth: Family<ControllerLabels, Gauge>,
    requests: Family<RequestLabels, Gauge>,
    waited: Family<PriorityLabels, Gauge<f64, std::sync::atomic::AtomicU64>>,
    lag: Family<ResourceLabels, Gauge<f64, std::sync::atomic::AtomicU64>>,
    states: Family<StateLabels, Gauge>,
    skr_clients: Gauge,
    circuit_open: Gauge,
    reloads: Counter,
    /// The labels each object has now, so that they can be taken away.
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    runtimes: HashMap<String, RuntimeLabels>,
    clusters: HashMap<String, ClusterLabels>,
    expiries: HashMap<String, ExpiryLabels>,
}

/// What is measured only when somebody looks.
pub(crate) struct Gauges<'a> {
    /// Names waiting, by controller.
    pub depth: [(&'static str, usize); 2],
    /// Requests so far.
    pub counters: &'a Counters,
    /// Waits for the budget so far.
    pub waits: Vec<(Priority, Waits)>,
    /// How long watches have been silent.
    pub lag: [(&'static str, Duration); 4],
    /// Clients of customers' clusters.
    pub skr_clients: usize,
    /// Whether the garden is held.
    pub circuit_open: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All of them, empty.
    pub(crate) fn new() -> Self {
        let mut all = Self {
            registry: Registry::default(),
            runtimes: Family::default(),
            clusters: Family::default(),
            expiries: Family::default(),
            stops: Counter::default(),
            passes: Family::new_with_constructor(short),
            steps: Family::new_with_constructor(short),
            phases: Family::new_with_constructor(long),
            depth: Family::default(),
            requests: Family::default(),
            waited: Family::default(),
            lag: Family::default(),
            states: Family::default(),
            skr_clients: Gauge::default(),
            circuit_open: Gauge::default(),
            reloads: Counter::default(),
            shown: Mutex::default(),
        };
        let r = &mut all.registry;
        r.register("infrastructure_manager_im_runtime_state", "One per Runtime", all.runtimes.clone());
        r.register(
            "infrastructure_manager_im_gardener_clusters_state",
            "One per GardenerCluster",
            all.clusters.clone(),
        );
        r.register("infrastructure_manager_im_kubeconfig_expiration", "When a kubeconfig ends", all.expiries.clone());
        r.register("unexpected_stops", "Passes that ended in no foreseen way", all.stops.clone());
        r.register("slipway_infra_reconcile_seconds", "Passes", all.passes.clone());
        r.register("slipway_infra_step_seconds", "Steps", all.steps.clone());
        r.register("slipway_infra_alignment_seconds", "From a change to Ready, by phase", all.phases.clone());
        r.register("slipway_infra_queue_depth", "Names waiting", all.depth.clone());
        r.register("slipway_infra_garden_requests_total", "Requests to the garden so far", all.requests.clone());
        r.register("slipway_infra_garden_wait_seconds", "Time waited for the budget so far", all.waited.clone());
        r.register("slipway_infra_watch_lag_seconds", "Since a watch was last heard of", all.lag.clone());
        r.register("slipway_infra_state_total", "Runtimes by state", all.states.clone());
        r.register("slipway_infra_skr_clients", "Clients of customers' clusters", all.skr_clients.clone());
        r.register("slipway_infra_garden_circuit_open", "1 while the garden is left alone", all.circuit_open.clone());
        r.register("slipway_infra_config_reloads", "How often the configuration was read anew", all.reloads.clone());
        for state in [RuntimeState::Pending, RuntimeState::Ready, RuntimeState::Terminating, RuntimeState::Failed] {
            let _ = all.states.get_or_create(&StateLabels { state: state.as_str() });
        }
        all
    }

    /// A Runtime has come, gone, or changed its state: counted as it happens, because a page that opens ten thousand
    /// Runtimes for four numbers is dear.
    pub(crate) fn count_state(&self, before: Option<RuntimeState>, now: Option<RuntimeState>) {
        let gauge = |state: RuntimeState| self.states.get_or_create(&StateLabels { state: state.as_str() }).clone();
        before.map(gauge).iter().for_each(|gauge| _ = gauge.dec());
        now.map(gauge).iter().for_each(|gauge| _ = gauge.inc());
    }

    /// A pass ended.
    pub(crate) fn note_pass(&self, controller: &'static str, outcome: &'static str, took: Duration) {
        self.passes.get_or_create(&PassLabels { controller, outcome }).observe(took.as_secs_f64());
    }

    /// A step ended.
    pub(crate) fn note_step(&self, step: &'static str, outcome: &'static str, took: Duration) {
        self.steps.get_or_create(&StepLabels { step, outcome }).observe(took.as_secs_f64());
    }

    /// A phase of an alignment ended.
    pub(crate) fn note_phase(&self, phase: &'static str, took: Duration) {
        self.phases.get_or_create(&PhaseLabels { phase }).observe(took.as_secs_f64());
    }

    /// A Runtime became what it should be.
    pub(crate) fn note_alignment(&self, Phases { apply, gardener, prepare }: &Phases) {
        for (phase, took) in [("apply", *apply), ("gardener", *gardener), ("prepare", Some(*prepare))] {
            took.into_iter().for_each(|took| self.note_phase(phase, took));
        }
    }

    /// A pass ended in no foreseen way.
    pub(crate) fn count_stop(&self) {
        self.stops.inc();
    }

    /// The configuration was read anew.
    pub(crate) fn count_reload(&self) {
        self.reloads.inc();
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Runtime's state.
    pub(crate) fn set_runtime(&self, runtime: &Runtime, status: &RuntimeStatus) {
        let latest = status.conditions.iter().max_by_key(|condition| condition.last_transition_time.0);
        let name = runtime.metadata.name.clone().unwrap_or_default();
        let labels = RuntimeLabels {
            runtimeId: runtime.label(labels::RUNTIME_ID).unwrap_or(&name).to_owned(),
            runtimeName: name.clone(),
            shoot: runtime.spec.shoot.name.clone(),
            provider: runtime.spec.shoot.provider.provider_type.as_str().to_owned(),
            state: status.state.as_str().to_owned(),
            message: latest.map(|condition| condition.message.chars().take(LONGEST).collect()).unwrap_or_default(),
        };
        let old = self.shown().runtimes.insert(name, labels.clone());
        if let Some(old) = old.filter(|old| *old != labels) {
            self.runtimes.remove(&old);
        }
        self.runtimes.get_or_create(&labels).set(1);
    }

    /// A Runtime is gone.
    pub(crate) fn forget_runtime(&self, name: &str) {
        let old = self.shown().runtimes.remove(name);
        old.iter().for_each(|labels| _ = self.runtimes.remove(labels));
    }

    /// A GardenerCluster's state.
    pub(crate) fn set_cluster(&self, name: &str, shoot: &str, state: &str, reason: &str) {
        let text = str::to_owned;
        let labels =
            ClusterLabels { runtimeId: text(name), shoot: text(shoot), state: text(state), reason: text(reason) };
        let old = self.shown().clusters.insert(name.to_owned(), labels.clone());
        if let Some(old) = old.filter(|old| *old != labels) {
            self.clusters.remove(&old);
        }
        self.clusters.get_or_create(&labels).set(1);
    }

    /// A kubeconfig was issued.
    pub(crate) fn set_expiry(&self, name: &str, shoot: &str, expires: Timestamp, period: Duration, life: Duration) {
        let labels = ExpiryLabels {
            runtimeId: name.to_owned(),
            shoot: shoot.to_owned(),
            expires: expires.to_string(),
            rotationDuration: spell(period),
            expirationDuration: spell(life),
        };
        let old = self.shown().expiries.insert(name.to_owned(), labels.clone());
        old.iter().for_each(|labels| _ = self.expiries.remove(labels));
        self.expiries.get_or_create(&labels).set(expires.as_micros() / 1_000_000);
    }

    /// A GardenerCluster is gone.
    pub(crate) fn forget_cluster(&self, name: &str) {
        let (cluster, expiry) = {
            let mut shown = self.shown();
            (shown.clusters.remove(name), shown.expiries.remove(name))
        };
        cluster.iter().for_each(|labels| _ = self.clusters.remove(labels));
        expiry.iter().for_each(|labels| _ = self.expiries.remove(labels));
    }

    /// The page.
    pub(crate) fn page(&self, now: &Gauges<'_>) -> String {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for (controller, depth) in now.depth {
            self.depth.get_or_create(&ControllerLabels { controller }).set(whole(depth));
        }
        for (counted, count) in now.counters.all().into_iter().filter(|(counted, _)| counted.cluster == "garden") {
            let resource = match counted.subresource {
                "" => counted.resource.to_owned(),
                part => format!("{}/{part}", counted.resource),
            };
            let labels = RequestLabels { verb: counted.verb.as_str(), resource, code: counted.code.to_string() };
            self.requests.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        for (priority, waits) in &now.waits {
            self.waited.get_or_create(&PriorityLabels { priority: priority.as_str() }).set(waits.total.as_secs_f64());
        }
        for (resource, silence) in &now.lag {
            self.lag.get_or_create(&ResourceLabels { resource }).set(silence.as_secs_f64());
        }
        self.skr_clients.set(whole(now.skr_clients));
        self.circuit_open.set(i64::from(now.circuit_open));
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }
}
