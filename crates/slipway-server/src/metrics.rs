//! Figures for Prometheus, from the engine's own news.
//!
//! No label holds an id or free text: each combination of labels lives for ever in somebody's
//! database, so their number must be bounded by what we have, not by what happens.

use std::sync::{Arc, atomic::AtomicU64};

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
use slipway_model::{Class, ProcessKey, Reason, RecordKind, recorder::Outcome};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Prefix of all names.
const PREFIX: &str = "slipway_broker";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    r#type: &'static str,
    plan: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    r#type: &'static str,
    step: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    r#type: &'static str,
    step: &'static str,
    result: &'static str,
    component: &'static str,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    r#type: &'static str,
}

/// Names and versions of tables are few.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProcessLabels {
    process: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    system: String,
    call: String,
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    system: String,
    call: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AuthLabels {
    reason: &'static str,
}

/// What only the database knows.
#[derive(Default)]
pub(crate) struct Counts {
    /// Operations due now, by class.
    pub(crate) due: Vec<(Class, usize)>,
    /// Operations that nobody can run.
    pub(crate) stranded: Vec<(ProcessKey, usize)>,
}

/// All figures.
pub(crate) struct Metrics {
    registry: Registry,
    operations: Family<OperationLabels, Counter>,
    operation_duration: Family<OperationLabels, Histogram>,
    step_duration: Family<StepLabels, Histogram>,
    step_results: Family<ResultLabels, Counter>,
    operations_due: Family<ClassLabels, Gauge>,
    operations_stranded: Family<ProcessLabels, Gauge>,
    lease_lost: Counter,
    requests: Family<RequestLabels, Counter>,
    request_duration: Family<CallLabels, Histogram>,
    auth_failures: Family<AuthLabels, Counter>,
    ready: Gauge<f64, AtomicU64>,
    news_missed: Counter,
}

/// From a tenth of a millisecond to two minutes: from a step that does nothing to the longest call.
fn short() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 4.0, 11))
}

/// From half a second to some 36 hours: the longest budget is 24.
fn long() -> Histogram {
    Histogram::new(exponential_buckets(0.5, 4.0, 10))
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut all = Self {
            registry: Registry::with_prefix(PREFIX),
            operations: Family::default(),
            operation_duration: Family::new_with_constructor(long),
            step_duration: Family::new_with_constructor(short),
            step_results: Family::default(),
            operations_due: Family::default(),
            operations_stranded: Family::default(),
            lease_lost: Counter::default(),
            requests: Family::default(),
            request_duration: Family::new_with_constructor(short),
            auth_failures: Family::default(),
            ready: Gauge::default(),
            news_missed: Counter::default(),
        };
        let r = &mut all.registry;
        r.register("operations", "Operations that have ended", all.operations.clone());
        r.register_with_unit(
            "operation_duration",
            "From acceptance to end",
            Unit::Seconds,
            all.operation_duration.clone(),
        );
        r.register_with_unit("step_duration", "Runs of step code", Unit::Seconds, all.step_duration.clone());
        r.register("step_results", "Runs of steps by how they ended", all.step_results.clone());
        r.register("operations_due", "Operations due now, by class", all.operations_due.clone());
        let about = "Unfinished operations that no running program has the version of, by process";
        r.register("operations_stranded", about, all.operations_stranded.clone());
        r.register("lease_lost", "How often this replica lost its leases", all.lease_lost.clone());
        r.register("external_requests", "Calls to outside systems", all.requests.clone());
        r.register_with_unit(
            "external_request_duration",
            "Calls to outside systems",
            Unit::Seconds,
            all.request_duration.clone(),
        );
        r.register("auth_failures", "Requests without the right token", all.auth_failures.clone());
        r.register("ready", "1 while the engine is at work", all.ready.clone());
        r.register("news_missed", "Engine news that came too fast to be counted here", all.news_missed.clone());
        all
    }

    /// The same, with figures that are read at each look.
    pub(crate) fn with(mut self, figures: impl Collector) -> Self {
        self.registry.register_collector(Box::new(figures));
        self
    }

    /// Counts the engine's news until there is no engine.
    pub(crate) async fn count(self: Arc<Self>, mut news: Receiver<Event>) {
        loop {
            match news.recv().await {
                Ok(event) => self.note(event),
                Err(RecvError::Lagged(missed)) => {
                    self.news_missed.inc_by(missed);
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn note(&self, event: Event) {
        match event {
            Event::StepProcessed { kind, step, duration, outcome, component, reason, calls, .. } => {
                let (r#type, result) = (kind.as_str(), outcome.as_str());
                self.step_duration.get_or_create(&StepLabels { r#type, step, result }).observe(duration.as_secs_f64());
                let blamed = match outcome {
                    Outcome::Retry | Outcome::Skip | Outcome::Fail => component.as_str(),
                    Outcome::Done | Outcome::Wait | Outcome::Finish => "",
                };
                let labels = ResultLabels { r#type, step, result, component: blamed, reason: bounded(reason) };
                self.step_results.get_or_create(&labels).inc();
                calls.into_iter().for_each(|call| self.note_call(call));
            }
            Event::OperationFinished { kind, plan, state, duration, .. } => {
                let labels = OperationLabels { r#type: kind.as_str(), plan, state: state.as_str() };
                self.operations.get_or_create(&labels).inc();
                self.operation_duration.get_or_create(&labels).observe(duration.as_secs_f64());
            }
            Event::LeaseLost => {
                self.lease_lost.inc();
            }
            Event::LeasesTaken { .. } => {}
        }
    }

    fn note_call(&self, call: RecordKind) {
        let RecordKind::Call { system, method, path, status, took_us, .. } = call else { return };
        let call = format!("{method} {}", shape(&path));
        let code = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        let duration = took_us as f64 / 1e6;
        self.request_duration
            .get_or_create(&CallLabels { system: system.clone(), call: call.clone() })
            .observe(duration);
        self.requests.get_or_create(&RequestLabels { system, call, code }).inc();
    }

    /// A request was refused for want of the right token.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.auth_failures.get_or_create(&AuthLabels { reason }).inc();
    }

    /// The page. The counts are asked for at each look; none when the database did not tell, and then the
    /// old figures are taken away: a wrong number is worse than none.
    pub(crate) fn page(&self, is_ready: bool, counts: Option<Counts>) -> String {
        self.ready.set(f64::from(u8::from(is_ready)));
        self.operations_due.clear();
        self.operations_stranded.clear();
        let Counts { due, stranded } = counts.unwrap_or_default();
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for (class, count) in due {
            self.operations_due.get_or_create(&ClassLabels { r#type: class.as_str() }).set(number(count));
        }
        for (process, count) in stranded {
            let labels = ProcessLabels { process: process.to_string() };
            self.operations_stranded.get_or_create(&labels).set(number(count));
        }
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }
}

/// Reasons of our own are few; those of others are anything.
fn bounded(reason: Option<Reason>) -> String {
    match reason {
        None => String::new(),
        Some(Reason::Foreign(_)) => "other".to_owned(),
        Some(reason) => reason.as_str().to_owned(),
    }
}

/// The path of a call without its ids: a word of lower-case letters, dashes and underscores is
/// taken for a kind of thing if it stands at an even place, everything else for the name of one.
fn shape(path: &str) -> String {
    let mut shape = String::new();
    for (place, part) in path.split('/').skip(1).enumerate() {
        let is_kind = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_');
        shape.push('/');
        shape.push_str(if is_kind && place % 2 == 0 { part } else { "{}" });
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::{OperationState, OperationType, time::secs};

    #[test]
    fn paths_lose_their_ids() {
        assert_eq!(shape("/greetings/shop"), "/greetings/{}");
        assert_eq!(shape("/reports/0198c0de-0000-7000-8000-000000000000"), "/reports/{}");
        assert_eq!(shape("/0198/x"), "/{}/{}");
    }

    #[test]
    fn the_page_has_the_names_of_the_contract_and_no_ids() {
        let metrics = Metrics::new();
        let id: slipway_model::OperationId = "0198c0de-0000-7000-8000-00000000abcd".parse().expect("id");
        let instance_id: slipway_model::InstanceId = "secret-instance".parse().expect("id");
        metrics.note(Event::StepProcessed {
            operation: id,
            instance_id: instance_id.clone(),
            kind: OperationType::Update,
            process: slipway_model::ProcessKey { name: "p".to_owned(), version: 1 },
            plan: "p".to_owned(),
            stage: "s",
            step: "Step",
            duration: secs(1),
            outcome: Outcome::Fail,
            component: slipway_model::Component::Keb,
            reason: Some(Reason::foreign("free text")),
            calls: vec![RecordKind::Call {
                step: "Step".to_owned(),
                system: "hello".to_owned(),
                method: "GET".to_owned(),
                path: format!("/reports/{id}"),
                status: None,
                error: Some("gone".to_owned()),
                took_us: 5,
            }],
        });
        metrics.note(Event::OperationFinished {
            operation: id,
            instance_id,
            kind: OperationType::Update,
            process: slipway_model::ProcessKey { name: "p".to_owned(), version: 1 },
            plan: "p".to_owned(),
            state: OperationState::Failed,
            last_error: None,
            duration: secs(3),
        });
        metrics.note(Event::LeaseLost);
        let stranded = vec![("p@1".parse().expect("a process"), 3)];
        let page = metrics.page(true, Some(Counts { due: vec![(Class::Update, 2)], stranded }));
        for line in [
            "slipway_broker_operations_total{type=\"update\",plan=\"p\",state=\"failed\"} 1",
            "slipway_broker_operation_duration_seconds_count{type=\"update\",plan=\"p\",state=\"failed\"} 1",
            "slipway_broker_step_duration_seconds_count{type=\"update\",step=\"Step\",result=\"fail\"} 1",
            "slipway_broker_step_results_total{type=\"update\",step=\"Step\",result=\"fail\",component=\"keb\",reason=\"other\"} 1",
            "slipway_broker_operations_due{type=\"update\"} 2",
            "slipway_broker_operations_stranded{process=\"p@1\"} 3",
            "slipway_broker_lease_lost_total 1",
            "slipway_broker_external_requests_total{system=\"hello\",call=\"GET /reports/{}\",code=\"none\"} 1",
            "slipway_broker_external_request_duration_seconds_count{system=\"hello\",call=\"GET /reports/{}\"} 1",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(!page.contains("0000abcd") && !page.contains("secret-instance") && !page.contains("free text"));
        assert!(!metrics.page(true, None).contains("operations_due{"), "an unknown figure is not shown");
    }
}
