//! Figures: those of the reference by their names, and ours.
//!
//! Series that describe one object are replaced when it changes and removed when it goes. The message of a
//! condition is cut short in its label: free text would make a new series of every sentence.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::text,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Metric, Registry},
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

/// Labels of which only a few values exist.
type Labels<const N: usize> = [(&'static str, &'static str); N];
/// Labels that are made of objects.
type Texts<const N: usize> = [(&'static str, String); N];
type Seconds = Gauge<f64, AtomicU64>;

/// From a tenth of a millisecond to a minute and a half.
fn new_short() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 4.0, 11))
}

/// From a tenth of a second to seven hours.
fn new_long() -> Histogram {
    Histogram::new(exponential_buckets(0.1, 4.0, 10))
}

/// One series for each object, which moves when its labels do.
#[derive(Default)]
struct PerObject<const N: usize> {
    family: Family<Texts<N>, Gauge>,
    shown: Mutex<HashMap<String, Texts<N>>>,
}

impl<const N: usize> PerObject<N> {
    fn shown(&self) -> MutexGuard<'_, HashMap<String, Texts<N>>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, name: &str, labels: Texts<N>, value: i64) {
        let old = self.shown().insert(name.to_owned(), labels.clone());
        if let Some(old) = old.filter(|old| *old != labels) {
            self.family.remove(&old);
        }
        self.family.get_or_create(&labels).set(value);
    }

    fn forget(&self, name: &str) {
        let old = self.shown().remove(name);
        old.iter().for_each(|labels| _ = self.family.remove(labels));
    }
}

pub(crate) struct Metrics {
    registry: Registry,
    runtimes: PerObject<6>,
    clusters: PerObject<4>,
    expiries: PerObject<5>,
    stops: Counter,
    passes: Family<Labels<2>, Histogram>,
    steps: Family<Labels<2>, Histogram>,
    phases: Family<Labels<1>, Histogram>,
    depth: Family<Labels<1>, Gauge>,
    requests: Family<Texts<3>, Gauge>,
    waited: Family<Labels<1>, Seconds>,
    lag: Family<Labels<1>, Seconds>,
    states: Family<Labels<1>, Gauge>,
    skr_clients: Gauge,
    circuit_open: Gauge,
    reloads: Counter,
    unread: Family<[(&'static str, &'static str); 1], Counter>,
}

/// What is measured only when somebody looks.
pub(crate) struct Gauges<'a> {
    /// Names waiting, by controller.
    pub(crate) depth: [(&'static str, usize); 2],
    pub(crate) counters: &'a Counters,
    /// Waits for the budget so far.
    pub(crate) waits: Vec<(Priority, Waits)>,
    /// How long watches have been silent.
    pub(crate) lag: [(&'static str, Duration); 4],
    /// Clients of customers' clusters.
    pub(crate) skr_clients: usize,
    /// Whether the garden is held.
    pub(crate) circuit_open: bool,
}

impl Metrics {
    /// All of them, empty.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let r = &mut registry;
        let states: Family<Labels<1>, Gauge> = keep(r, "slipway_infra_state_total", "Runtimes by state");
        for state in [RuntimeState::Pending, RuntimeState::Ready, RuntimeState::Terminating, RuntimeState::Failed] {
            let _ = states.get_or_create(&[("state", state.as_str())]);
        }
        let (runtimes, clusters, expiries) = (PerObject::default(), PerObject::default(), PerObject::default());
        r.register("infrastructure_manager_im_runtime_state", "One per Runtime", runtimes.family.clone());
        r.register(
            "infrastructure_manager_im_gardener_clusters_state",
            "One per GardenerCluster",
            clusters.family.clone(),
        );
        r.register(
            "infrastructure_manager_im_kubeconfig_expiration",
            "When a kubeconfig ends",
            expiries.family.clone(),
        );
        let (short, long) = (new_short as fn() -> Histogram, new_long as fn() -> Histogram);
        let passes = Family::new_with_constructor(short);
        r.register("slipway_infra_reconcile_seconds", "Passes", passes.clone());
        let steps = Family::new_with_constructor(short);
        r.register("slipway_infra_step_seconds", "Steps", steps.clone());
        let phases = Family::new_with_constructor(long);
        r.register("slipway_infra_alignment_seconds", "From a change to Ready, by phase", phases.clone());
        Self {
            runtimes,
            clusters,
            expiries,
            stops: keep(r, "unexpected_stops", "Passes that ended in no foreseen way"),
            passes,
            steps,
            phases,
            depth: keep(r, "slipway_infra_queue_depth", "Names waiting"),
            requests: keep(r, "slipway_infra_garden_requests_total", "Requests to the garden so far"),
            waited: keep(r, "slipway_infra_garden_wait_seconds", "Time waited for the budget so far"),
            lag: keep(r, "slipway_infra_watch_lag_seconds", "Since a watch was last heard of"),
            states,
            skr_clients: keep(r, "slipway_infra_skr_clients", "Clients of customers' clusters"),
            circuit_open: keep(r, "slipway_infra_garden_circuit_open", "1 while the garden is left alone"),
            reloads: keep(r, "slipway_infra_config_reloads", "How often the configuration was read anew"),
            unread: keep(r, "slipway_infra_config_unread", "How often a source of the configuration could not be read"),
            registry,
        }
    }

    /// A Runtime has come, gone, or changed its state: counted as it happens, because a page that opens ten thousand
    /// Runtimes for four numbers is dear.
    pub(crate) fn count_state(&self, before: Option<RuntimeState>, now: Option<RuntimeState>) {
        if before == now {
            return;
        }
        let labels = |state: RuntimeState| [("state", state.as_str())];
        before.into_iter().for_each(|state| _ = self.states.get_or_create(&labels(state)).dec());
        now.into_iter().for_each(|state| _ = self.states.get_or_create(&labels(state)).inc());
    }

    pub(crate) fn note_pass(&self, controller: &'static str, outcome: &'static str, took: Duration) {
        let labels = [("controller", controller), ("outcome", outcome)];
        self.passes.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn note_step(&self, step: &'static str, outcome: &'static str, took: Duration) {
        self.steps.get_or_create(&[("step", step), ("outcome", outcome)]).observe(took.as_secs_f64());
    }

    /// A phase of an alignment ended.
    pub(crate) fn note_phase(&self, phase: &'static str, took: Duration) {
        self.phases.get_or_create(&[("phase", phase)]).observe(took.as_secs_f64());
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

    /// A source of the configuration could not be read; what was read last stays in force.
    pub(crate) fn count_unread(&self, source: &'static str) {
        self.unread.get_or_create(&[("source", source)]).inc();
    }

    pub(crate) fn set_runtime(&self, runtime: &Runtime, status: &RuntimeStatus) {
        let latest = status.conditions.iter().max_by_key(|condition| condition.last_transition_time.0);
        let message = latest.map(|condition| condition.message.chars().take(LONGEST).collect()).unwrap_or_default();
        let name = runtime.metadata.name.as_deref().unwrap_or_default();
        let labels = [
            ("runtimeId", runtime.label(labels::RUNTIME_ID).unwrap_or(name).to_owned()),
            ("runtimeName", name.to_owned()),
            ("shoot", runtime.spec.shoot.name.clone()),
            ("provider", runtime.spec.shoot.provider.provider_type.as_str().to_owned()),
            ("state", status.state.as_str().to_owned()),
            ("message", message),
        ];
        self.runtimes.set(name, labels, 1);
    }

    /// A Runtime is gone.
    pub(crate) fn forget_runtime(&self, name: &str) {
        self.runtimes.forget(name);
    }

    pub(crate) fn set_cluster(&self, name: &str, shoot: &str, state: &str, reason: &str) {
        let labels = [("runtimeId", name), ("shoot", shoot), ("state", state), ("reason", reason)];
        self.clusters.set(name, labels.map(|(key, value)| (key, value.to_owned())), 1);
    }

    /// A kubeconfig was issued.
    pub(crate) fn set_expiry(&self, name: &str, shoot: &str, expires: Timestamp, period: Duration, life: Duration) {
        let labels = [
            ("runtimeId", name.to_owned()),
            ("shoot", shoot.to_owned()),
            ("expires", expires.to_string()),
            ("rotationDuration", spell(period)),
            ("expirationDuration", spell(life)),
        ];
        self.expiries.set(name, labels, expires.as_micros() / 1_000_000);
    }

    /// A GardenerCluster is gone.
    pub(crate) fn forget_cluster(&self, name: &str) {
        self.clusters.forget(name);
        self.expiries.forget(name);
    }

    pub(crate) fn page(&self, now: &Gauges<'_>) -> String {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for (controller, depth) in now.depth {
            self.depth.get_or_create(&[("controller", controller)]).set(whole(depth));
        }
        for (counted, count) in now.counters.all().into_iter().filter(|(counted, _)| counted.cluster == "garden") {
            let resource = match counted.subresource {
                "" => counted.resource.to_owned(),
                part => format!("{}/{part}", counted.resource),
            };
            let verb = counted.verb.as_str().to_owned();
            let labels = [("verb", verb), ("resource", resource), ("code", counted.code.to_string())];
            self.requests.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        for (priority, waits) in &now.waits {
            self.waited.get_or_create(&[("priority", priority.as_str())]).set(waits.total.as_secs_f64());
        }
        for (resource, silence) in now.lag {
            self.lag.get_or_create(&[("resource", resource)]).set(silence.as_secs_f64());
        }
        self.skr_clients.set(whole(now.skr_clients));
        self.circuit_open.set(i64::from(now.circuit_open));
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }
}

/// A figure that is on the page.
fn keep<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(metrics: &Metrics) -> String {
        metrics.page(&Gauges {
            depth: [("runtime", 0), ("gardener-cluster", 0)],
            counters: &Counters::default(),
            waits: Vec::new(),
            lag: [("runtimes", Duration::ZERO); 4],
            skr_clients: 0,
            circuit_open: false,
        })
    }

    #[test]
    fn states_are_counted_as_they_change() {
        let metrics = Metrics::new();
        let line = |state: &str, count: usize| format!("slipway_infra_state_total{{state=\"{state}\"}} {count}\n");
        assert!(page(&metrics).contains(&line("Ready", 0)), "also those that nobody has");
        for (before, now) in [
            (None, Some(RuntimeState::Pending)),
            (None, Some(RuntimeState::Pending)),
            (Some(RuntimeState::Pending), Some(RuntimeState::Ready)),
            (Some(RuntimeState::Ready), Some(RuntimeState::Ready)),
            (Some(RuntimeState::Pending), None),
        ] {
            metrics.count_state(before, now);
        }
        let page = page(&metrics);
        assert!(page.contains(&line("Ready", 1)) && page.contains(&line("Pending", 0)), "{page}");
    }

    #[test]
    fn a_series_of_one_object_moves_with_it_and_goes_with_it() {
        let metrics = Metrics::new();
        metrics.set_cluster("shop", "shop", "Error", "FailedToGetKubeconfig");
        metrics.set_cluster("shop", "shop", "Ready", "SecretCreated");
        let line =
            "im_gardener_clusters_state{runtimeId=\"shop\",shoot=\"shop\",state=\"Ready\",reason=\"SecretCreated\"} 1";
        let shown = page(&metrics);
        assert!(shown.contains(line) && !shown.contains("FailedToGetKubeconfig"), "{shown}");
        metrics.forget_cluster("shop");
        assert!(!page(&metrics).contains("SecretCreated"));
    }
}
