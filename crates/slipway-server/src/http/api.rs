//! What the handlers share.

use std::{sync::Arc, time::Duration};

use secrecy::SecretString;
use slipway_broker::Broker;
use slipway_engine::{Engine, Status};
use slipway_model::{WaitKey, ports::Clock};
use tokio::sync::{RwLock, RwLockReadGuard, watch};

use super::problem::Problem;
use crate::metrics::Metrics;

/// The API. Clones are the same.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    /// Taken away by a stop, which so waits for requests that are using it.
    engine: RwLock<Option<Engine<Broker>>>,
    status: watch::Receiver<Status>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    token: SecretString,
    operation_timeout: Duration,
}

impl Api {
    pub(crate) fn new(
        engine: Engine<Broker>,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        token: SecretString,
        operation_timeout: Duration,
    ) -> Self {
        let status = engine.status();
        Self(Arc::new(Inner { engine: RwLock::new(Some(engine)), status, metrics, clock, token, operation_timeout }))
    }

    /// The engine; refused while the server stops.
    pub(super) async fn engine(&self) -> Result<RwLockReadGuard<'_, Engine<Broker>>, Problem> {
        RwLockReadGuard::try_map(self.0.engine.read().await, Option::as_ref)
            .map_err(|_| Problem::Unavailable("the server is stopping; ask another replica, or later".to_owned()))
    }

    /// Stops the engine in good order.
    pub(crate) async fn stop_engine(&self) {
        let engine = self.0.engine.write().await.take();
        if let Some(engine) = engine {
            engine.stop().await;
        }
    }

    /// News from a part in the same process, as `POST /wake` is from outside. If it cannot be told,
    /// the timers of those who wait are the safety net.
    pub(crate) async fn wake(&self, key: &WaitKey, cause: &str) {
        let Ok(engine) = self.engine().await else { return };
        if let Err(error) = engine.wake(std::slice::from_ref(key), cause).await {
            tracing::warn!(%key, %error, "news could not be told");
        }
    }

    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.0.status.clone()
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
