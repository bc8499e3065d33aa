//! What the handlers share.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use secrecy::SecretString;
use slipway_engine::{Offer, Status, Supervisor};
use slipway_model::{ProcessKey, WaitKey, ports::Clock};

use super::problem::Problem;
use crate::metrics::Metrics;

/// The API. Clones are the same.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    /// The engines of this process. Each of them reaches every operation of the database.
    engines: RwLock<Vec<Supervisor>>,
    startable: OnceLock<Startable>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    token: SecretString,
    operation_timeout: Duration,
}

/// What can be started by name: the processes of the broker, where it runs.
pub(crate) struct Startable {
    /// Its processes.
    pub(crate) offers: Vec<Offer>,
    /// Those that are not offered here, and why.
    pub(crate) closed: BTreeMap<&'static str, String>,
}

impl Api {
    pub(crate) fn new(
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        token: SecretString,
        operation_timeout: Duration,
    ) -> Self {
        let (engines, startable) = (RwLock::default(), OnceLock::new());
        Self(Arc::new(Inner { engines, startable, metrics, clock, token, operation_timeout }))
    }

    /// Shows and steers the operations of one more engine. Those that have ended are forgotten.
    pub(crate) fn supervise(&self, engine: Supervisor) {
        let mut engines = self.0.engines.write().unwrap_or_else(PoisonError::into_inner);
        engines.retain(|other| other.status().has_changed().is_ok());
        engines.push(engine);
    }

    /// Lets these be started by name; once.
    pub(crate) fn let_start(&self, startable: Startable) {
        let _ = self.0.startable.set(startable);
    }

    pub(crate) fn engines(&self) -> Vec<Supervisor> {
        self.0.engines.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The way to the operations of the database; refused while no engine is there.
    pub(super) fn supervisor(&self) -> Result<Supervisor, Problem> {
        let first = self.engines().into_iter().next();
        first.ok_or_else(|| Problem::Unavailable("the engine is starting".to_owned()))
    }

    /// The process of this name that a new operation begins on.
    pub(super) fn offer(&self, name: &str) -> Result<&Offer, Problem> {
        let Some(Startable { offers, closed }) = self.0.startable.get() else {
            let problem = "cannot be started here: the broker runs elsewhere; ask a server with the role broker";
            return Err(Problem::field("process", problem));
        };
        if let Some(why) = closed.get(name) {
            return Err(Problem::field("process", format!("is not offered here: {why}")));
        }
        offers.iter().find(|offer| offer.process.name == name).ok_or_else(|| {
            let names = offers.iter().map(|offer| offer.process.name.as_str());
            let known: Vec<_> = names.filter(|name| !closed.contains_key(name)).collect();
            Problem::field("process", format!("is none of ours; choose one of: {}", known.join(", ")))
        })
    }

    /// The processes that no running program has the version of. An operation is shown without this rather
    /// than not at all.
    pub(super) async fn stranded(&self) -> Vec<(ProcessKey, usize)> {
        let Ok(engine) = self.supervisor() else { return Vec::new() };
        engine.store().stranded().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "it is not known which operations are stranded");
            Vec::new()
        })
    }

    /// News from a part in the same process, as `POST /wake` is from outside. If it cannot be told,
    /// the timers of those who wait are the safety net.
    pub(crate) async fn wake(&self, key: &WaitKey, cause: &str) {
        let Ok(engine) = self.supervisor() else { return };
        if let Err(error) = engine.wake(std::slice::from_ref(key), cause).await {
            tracing::warn!(%key, %error, "news could not be told");
        }
    }

    /// Whether all engines of this process are at work; if not, why.
    pub(super) fn ready(&self) -> Result<(), Problem> {
        let engines = self.engines();
        let status = |engine: &Supervisor| engine.status().borrow().clone();
        match engines.iter().map(status).find(|status| *status != Status::Ready) {
            None if !engines.is_empty() => Ok(()),
            Some(Status::Ready | Status::Starting) | None => {
                Err(Problem::Unavailable("the engine is starting".to_owned()))
            }
            Some(Status::Waiting { reason }) => {
                Err(Problem::Unavailable(format!("the engine waits and goes on by itself: {reason}")))
            }
            Some(Status::Stopped) => Err(Problem::Unavailable("the engine has stopped".to_owned())),
        }
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    pub(super) fn token(&self) -> &SecretString {
        &self.0.token
    }

    pub(super) fn operation_timeout(&self) -> Duration {
        self.0.operation_timeout
    }
}
