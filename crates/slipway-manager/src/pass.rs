//! One pass over one Runtime: observe, decide, act, report.
//!
//! A pass never waits for the world: it does what can be done now, writes down once what came of it, and
//! ends. What it acts on is what it observed at its beginning; what it finds out on the way it keeps in the
//! observation, so that the next step sees it too.

use std::{sync::Arc, time::Duration};

use slipway_kube::{
    RuntimeState,
    access::{self, Access, Ask, Class, Exactly, resource::RUNTIMES},
    conditions::Status,
};
use slipway_model::time::{millis, mins, secs};
use tracing::Instrument as _;

use crate::{
    controller::acknowledge,
    decide::{self, Apply, PassPlan},
    events,
    memory::{Cell, FailedAt, Memory},
    observe::Observation,
    outcome::{ConditionUpdate, Outcome, give_up},
    registry_caches,
    settings::FIELD_MANAGER,
    shared::Shared,
    status::{self, Report},
};

/// How long the garden may answer 403 until we believe it.
const FORBIDDEN_MAX: Duration = mins(10);
/// The longest pause between two tries.
const PAUSE_MAX: Duration = secs(60);

/// What a step works with.
pub(crate) struct Pass {
    pub(crate) shared: Arc<Shared>,
    pub(crate) seen: Observation,
    /// What becomes of the Shoot.
    pub(crate) apply: Apply,
    /// What is to be told.
    pub(crate) report: Report,
    pub(crate) cell: Arc<Cell>,
    /// The client of the cluster, once it was asked for.
    pub(crate) skr: Option<Access>,
}

impl Pass {
    /// Changes what is remembered, here and for the next pass.
    pub(crate) fn remember(&mut self, change: impl Fn(&mut Memory)) {
        change(&mut self.cell.lock());
        change(&mut self.seen.memory);
    }
}

/// Runs one pass; answers when to look again at the latest. None when there is nothing to look at.
pub(crate) async fn run(shared: &Arc<Shared>, name: &str) -> Option<Duration> {
    let seen = crate::controller::look::observe(shared, name)?;
    let shoot = seen.runtime.spec.shoot.name.clone();
    let generation = seen.generation();
    let span = tracing::info_span!("runtime", runtimeID = name, shootName = shoot, generation);
    pass(shared, seen).instrument(span).await
}

async fn pass(shared: &Arc<Shared>, seen: Observation) -> Option<Duration> {
    let began = shared.clock.monotonic();
    let name = seen.name().to_owned();
    if seen.generation() > seen.observed_generation()
        && let Err(error) = acknowledge::acknowledge(shared, &seen.runtime).await
    {
        tracing::warn!(%error, "the new generation could not be acknowledged");
        return Some(pause(shared, &name, FailedAt::Acknowledging, &error));
    }
    let plan = decide::plan(&seen);
    let apply = decide::apply(&seen);
    let cell = shared.memories.of_runtime(&name);
    let mut pass = Pass { shared: shared.clone(), seen, apply, report: Report::default(), cell, skr: None };
    let (outcome, step) = act(&mut pass, &plan).await;
    let next = report(&mut pass, &plan, outcome.clone(), step).await;
    let took = shared.clock.monotonic().saturating_sub(began);
    shared.metrics.note_pass("runtime", outcome.as_str(), took);
    next
}

async fn act(pass: &mut Pass, plan: &PassPlan) -> (Outcome, &'static str) {
    for row in &plan.steps {
        let began = pass.shared.clock.monotonic();
        let outcome = row.step.run(pass).await;
        let took = pass.shared.clock.monotonic().saturating_sub(began);
        pass.shared.metrics.note_step(row.name, outcome.as_str(), took);
        match &outcome {
            Outcome::Done => tracing::debug!(step = row.name, "done"),
            Outcome::Wait { on, .. } => tracing::info!(step = row.name, on, "waiting"),
            Outcome::Retry { error, .. } => tracing::warn!(step = row.name, %error, "to be tried again"),
            Outcome::Fail { condition } => tracing::warn!(step = row.name, message = condition.message, "failed"),
            Outcome::Halt => tracing::info!(step = row.name, "over"),
        }
        if outcome != Outcome::Done {
            return (outcome, row.name);
        }
    }
    (Outcome::Done, "")
}

/// Writes down what came of it, once, and says when to look again.
async fn report(pass: &mut Pass, plan: &PassPlan, outcome: Outcome, step: &'static str) -> Option<Duration> {
    let shared = pass.shared.clone();
    let (resync, name) = (shared.settings.resync, pass.seen.name().to_owned());
    let outcome = believe_forbidden(pass, outcome);
    let next = match outcome {
        Outcome::Halt => return None,
        Outcome::Done => {
            pass.remember(|memory| memory.retries.forget());
            let caches = registry_caches::until_look(&pass.seen, shared.clock.monotonic());
            let soonest = decide::until_compared(&pass.seen).into_iter().chain(caches).min();
            soonest.map_or(resync.ready, |left| resync.ready.min(left.max(secs(1))))
        }
        Outcome::Wait { at_latest, .. } => {
            pass.remember(|memory| memory.retries.forget());
            pass.report.state = Some(plan.meanwhile);
            at_latest.min(resync.pending)
        }
        Outcome::Retry { error, condition } => {
            let place = FailedAt::Step(step, condition.of);
            pass.report.state = Some(plan.meanwhile);
            pass.report.set(condition);
            pause(&shared, &name, place, &error)
        }
        Outcome::Fail { condition } => {
            pass.remember(|memory| memory.retries.forget());
            // A deletion that fails is still a deletion.
            let deleting = plan.meanwhile == RuntimeState::Terminating;
            pass.report.state = Some(if deleting { RuntimeState::Terminating } else { RuntimeState::Failed });
            pass.report.set(condition);
            if deleting { resync.pending } else { resync.failed }
        }
    };
    match write(pass).await {
        Ok(()) => Some(shared.random.jitter(next)),
        Err(error) if error.is_not_found() => None,
        Err(error) => {
            tracing::warn!(%error, "the status could not be written");
            Some(pause(&shared, &name, FailedAt::Reporting, &error))
        }
    }
}

/// A 403 is believed after ten minutes; any other end forgets it.
fn believe_forbidden(pass: &mut Pass, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Retry { error, condition } if error.is_forbidden() => {
            let now = pass.seen.now;
            pass.remember(|memory| memory.troubles.forbidden.note(true, now));
            if pass.seen.memory.troubles.forbidden.lasts(now) < FORBIDDEN_MAX {
                return Outcome::Retry { error, condition };
            }
            let (status, reason) = (Status::False, give_up(condition.reason));
            Outcome::Fail { condition: ConditionUpdate { status, reason, ..condition } }
        }
        other => {
            pass.remember(|memory| memory.troubles.forbidden.end());
            other
        }
    }
}

async fn write(pass: &mut Pass) -> Result<(), access::Error> {
    let shared = pass.shared.clone();
    let cell = pass.cell.clone();
    let _order = cell.writing.lock().await;
    let (before, acknowledged) = {
        let memory = cell.lock();
        let before = memory.reported.status(pass.seen.runtime.status.as_ref()).cloned().unwrap_or_default();
        (before, memory.reported.acknowledged())
    };
    let mut generation = pass.seen.generation();
    if acknowledged > generation {
        // A newer generation was acknowledged while we worked: what we found out is about the old one.
        generation = acknowledged;
        if pass.report.state.is_some_and(|state| state != RuntimeState::Terminating) {
            pass.report.state = Some(before.state);
        }
    }
    pass.report.aligned = cell.lock().shoot.aligned_generation();
    let after = status::merge(&before, &pass.report, pass.seen.shoot.as_deref(), generation, shared.clock.wall());
    shared.metrics.set_runtime(&pass.seen.runtime, &after);
    if !status::is_news(&before, &after) {
        return Ok(());
    }
    let metadata = &pass.seen.runtime.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let document = status::build_document(namespace, pass.seen.name(), &after);
    let ask = Ask::apply(&RUNTIMES, namespace, pass.seen.name(), FIELD_MANAGER, document).part("status");
    shared.kcp.tell(ask.only_if(&Exactly::this(metadata))).await?;
    cell.lock().reported.note(after.clone());
    drop(_order);
    events::emit(&shared, &RUNTIMES, metadata, &status::changed_conditions(&before, &after), "runtime-controller")
        .await;
    Ok(())
}

/// How long until the next try, by the class of the failure.
fn pause(shared: &Shared, name: &str, place: FailedAt, error: &access::Error) -> Duration {
    let attempts = shared.memories.of_runtime(name).lock().retries.count(place);
    let doubled = |first: Duration| (first * 2_u32.saturating_pow(attempts.min(10) - 1)).min(PAUSE_MAX);
    match error.class {
        Class::Throttled => error.retry_after.unwrap_or_else(|| doubled(secs(1))),
        Class::Transient | Class::Absent | Class::NoKind | Class::Permanent => {
            let most = doubled(millis(500)).max(error.retry_after.unwrap_or_default());
            // Full jitter: many that failed together come back spread over the whole pause.
            let part = (shared.random.next_u64() % 1_000) as f64 / 1_000.0;
            most.mul_f64(part).max(millis(50)).max(error.retry_after.unwrap_or_default())
        }
    }
}
