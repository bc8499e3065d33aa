//! Limits what goes to each outside system: so many calls at once, and none for a while when it is down.
//!
//! One layer over any transport, by the name of the system, on the clock of the port. It belongs under the
//! flight recorder: a call that is held back never left, and the recorder says just that, with the reason.
//! Such a call ends as [`TransportError::NotSent`], so that nobody looks for an effect it cannot have had.
//!
//! Only what says something of the system's health counts: no answer, and answers of 5xx. A call that is
//! given up by its caller counts for nothing.

mod lane;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock, Transport, TransportError},
};

use self::lane::Lane;
use crate::{connections::SettingsBySystem, system::OutsideSystem};

/// How a system is, as our calls saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Its name.
    pub system: &'static str,
    /// Whether calls are let through.
    pub state: BreakerState,
    /// Calls under way.
    pub in_flight: usize,
    /// When it last answered without a 5xx.
    pub last_success: Option<Timestamp>,
    /// When it last did not, and what happened.
    pub last_failure: Option<(Timestamp, String)>,
    /// Calls that were answered without a 5xx.
    pub answered: u64,
    /// Calls that were not.
    pub failed: u64,
    /// Calls that were not let through.
    pub held_back: u64,
}

/// Whether calls are let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// All are.
    Closed {
        /// So many failed in a row.
        failures: u32,
    },
    /// None is, until the monotonic clock says this.
    Open {
        /// Until then.
        until: Duration,
    },
    /// One is, and its end decides.
    Trying,
}

/// The layer.
pub struct Guard<T> {
    inner: T,
    book: HealthBook,
}

impl<T: Transport> Guard<T> {
    /// Guards the systems of this table with its limits, or those of the settings. Names that are not in the
    /// table (an issuer's keys, say) pass.
    pub fn new(inner: T, table: &'static [OutsideSystem], settings: &SettingsBySystem, clock: Arc<dyn Clock>) -> Self {
        let lane = |system: &OutsideSystem| {
            let in_flight = settings.get(system.name).map_or(system.in_flight, |settings| settings.in_flight);
            (system.name, Lane::new(system, in_flight))
        };
        Self { inner, book: HealthBook { lanes: Arc::new(table.iter().map(lane).collect()), clock } }
    }

    /// A look at every system, now and later.
    pub fn health(&self) -> HealthBook {
        self.book.clone()
    }
}

/// How all systems are. Clones see the same.
#[derive(Clone)]
pub struct HealthBook {
    lanes: Arc<BTreeMap<&'static str, Lane>>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for HealthBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.look().fmt(f)
    }
}

impl HealthBook {
    /// Every system of the table, by name.
    pub fn look(&self) -> Vec<Health> {
        self.lanes.values().map(Lane::health).collect()
    }
}

impl<T: Transport> Transport for Guard<T> {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let Some(lane) = self.book.lanes.get(system) else { return self.inner.send(system, request, timeout) };
        Box::pin(async move {
            let clock = &*self.book.clock;
            let begun = clock.monotonic();
            let pass = tokio::select! {
                biased;
                pass = lane.enter(clock) => pass,
                () = clock.sleep(timeout) => Err(lane.give_up_waiting()),
            };
            let pass = pass.map_err(|problem| TransportError::NotSent { system, problem })?;
            let left = timeout.saturating_sub(clock.monotonic().saturating_sub(begun));
            let answer = self.inner.send(system, request, left).await;
            let failure = match &answer {
                Ok(answer) if answer.status().is_server_error() => Some(format!("status {}", answer.status().as_u16())),
                Ok(_) => None,
                Err(TransportError::NotSent { problem, .. } | TransportError::NoAnswer { problem, .. }) => {
                    Some(problem.clone())
                }
            };
            pass.end(failure, clock);
            answer
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
