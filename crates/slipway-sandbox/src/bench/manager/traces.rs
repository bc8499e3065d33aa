//! When what became visible, by name: Runtimes and Shoots carry the same one here.
//!
//! Taken from the stores, in the process that holds them, so no poll and no network lies between an event and
//! its time. Whoever waits for something looks every few milliseconds; the times do not depend on that.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube_sandbox::{cluster::Cluster, store::Change};
use slipway_engine::SystemClock;
use slipway_model::{
    ports::Clock as _,
    time::{millis, secs},
};
use slipway_sim::ground::{RUNTIMES, SHOOTS};
use tokio::task::JoinSet;

use super::land::Land;

/// Nothing that is measured takes so long unless it is stuck.
const PATIENCE: Duration = secs(180);

/// What happened to one Runtime and its Shoot.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    /// The Shoot was made.
    pub(super) shoot_made: Option<Duration>,
    /// Gardener was done with this generation of the Shoot: the moment before it is written.
    pub(super) succeeded: Option<Duration>,
    /// The Shoot went.
    pub(super) shoot_gone: Option<Duration>,
    /// The Runtime went.
    pub(super) gone: Option<Duration>,
    /// States of the Runtime: which, for which generation of itself, observed for which, since when.
    pub(super) states: Vec<State>,
}

/// A state that was reported.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) state: String,
    pub(super) observed: i64,
    pub(super) generation: i64,
    pub(super) at: Duration,
}

impl Trace {
    /// When the newest generation was reported `Ready`; none while it is not.
    pub(super) fn ready(&self) -> Option<Duration> {
        let last = self.states.last()?;
        (last.state == "Ready" && last.observed == last.generation).then_some(last.at)
    }

    /// When this generation, or a newer one, was first acknowledged.
    pub(super) fn acknowledged(&self, generation: i64) -> Option<Duration> {
        self.states.iter().find(|state| state.observed >= generation).map(|state| state.at)
    }
}

/// The traces of all.
#[derive(Clone)]
pub(super) struct Traces {
    clock: SystemClock,
    all: Arc<Mutex<HashMap<String, Trace>>>,
}

impl Traces {
    /// Follows both clusters for as long as the tasks live.
    pub(super) fn follow(land: &Land, tasks: &mut JoinSet<()>) -> Self {
        let traces = Self { clock: land.clock, all: Arc::default() };
        tasks.spawn(runtimes(traces.clone(), land.kcp.clone()));
        tasks.spawn(shoots(traces.clone(), land.garden.clone()));
        traces
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Trace>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, name: &str, change: impl FnOnce(&mut Trace, Duration)) {
        let now = self.clock.monotonic();
        change(self.all().entry(name.to_owned()).or_default(), now);
    }

    /// Forgets everything: a new measurement begins.
    pub(super) fn clear(&self) {
        self.all().clear();
    }

    /// Gardener is done, as of now.
    pub(super) fn succeeds(&self, name: &str) {
        self.note(name, |trace, now| trace.succeeded = Some(now));
    }

    /// The trace of one.
    pub(super) fn of(&self, name: &str) -> Trace {
        self.all().get(name).cloned().unwrap_or_default()
    }

    /// Waits until it can be answered for all of these; answers in their order.
    pub(super) async fn until<T>(
        &self,
        what: &str,
        names: &[String],
        answer: impl Fn(&Trace) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let limit = self.clock.monotonic() + PATIENCE;
        loop {
            let (answers, first) = {
                let all = self.all();
                let nothing = Trace::default();
                let missing = names.iter().find(|name| answer(all.get(*name).unwrap_or(&nothing)).is_none());
                match missing {
                    None => {
                        let of = |name: &String| answer(all.get(name).unwrap_or(&nothing));
                        (names.iter().filter_map(of).collect::<Vec<T>>(), None)
                    }
                    Some(name) => (Vec::new(), Some(format!("{name}: {:?}", all.get(name)))),
                }
            };
            match first {
                None => return Ok(answers),
                Some(trace) if self.clock.monotonic() > limit => {
                    return Err(format!("it did not come true in three minutes: {what}; {trace}"));
                }
                Some(_) => self.clock.sleep(millis(5)).await,
            }
        }
    }
}

async fn runtimes(traces: Traces, kcp: Cluster) {
    let Ok(mut changes) = kcp.watch(RUNTIMES, "runtimes", None) else { return };
    while let Some(event) = changes.next().await {
        // A watch that was too slow has lost events; whoever waits for one of them gives up and says so.
        let Ok(event) = event else { continue };
        let runtime = event.object.value();
        let name = runtime["metadata"]["name"].as_str().unwrap_or_default();
        if event.change == Change::Deleted {
            traces.note(name, |trace, now| trace.gone = Some(now));
            continue;
        }
        let status = &runtime["status"];
        let Some(state) = status["state"].as_str() else { continue };
        let observed = status["observedGeneration"].as_i64().unwrap_or_default();
        let generation = runtime["metadata"]["generation"].as_i64().unwrap_or_default();
        traces.note(name, |trace, at| {
            let same = trace.states.last().is_some_and(|last| {
                (last.state.as_str(), last.observed, last.generation) == (state, observed, generation)
            });
            if !same {
                trace.states.push(State { state: state.to_owned(), observed, generation, at });
            }
        });
    }
}

async fn shoots(traces: Traces, garden: Cluster) {
    let Ok(mut changes) = garden.watch(SHOOTS, "shoots", None) else { return };
    while let Some(event) = changes.next().await {
        let Ok(event) = event else { continue };
        let name = event.object.value()["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match event.change {
            Change::Added => traces.note(&name, |trace, now| trace.shoot_made = Some(now)),
            Change::Modified => {}
            Change::Deleted => traces.note(&name, |trace, now| trace.shoot_gone = Some(now)),
        }
    }
}
