//! Engine time: the same for all replicas, and it never jumps.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use slipway_model::{
    Timestamp,
    ports::Clock,
    time::{millis, secs},
};

/// Counts on from what the database said at registration with the monotonic clock. Wall clocks are
/// not read again, so a jump of one neither fires nor stalls a timer nor spends a budget.
pub struct EngineTime {
    clock: Arc<dyn Clock>,
    origin: Mutex<Option<Origin>>,
}

#[derive(Clone, Copy)]
struct Origin {
    at: Timestamp,
    monotonic: Duration,
}

impl EngineTime {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, origin: Mutex::new(None) }
    }

    /// Engine time. Before the first registration, the wall clock is the best guess.
    pub fn now(&self) -> Timestamp {
        let origin = *self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        match origin {
            Some(origin) => origin.at + self.clock.monotonic().saturating_sub(origin.monotonic),
            None => self.clock.wall(),
        }
    }

    /// A registration told the time. Never goes back: timers were set by our own time before.
    pub(crate) fn begin(&self, told: Timestamp) {
        let at = if self.has_begun() { told.max(self.now()) } else { told };
        self.set(at);
    }

    /// A heartbeat told the database's time: follows slow drift gently. A difference of seconds is
    /// a jump of somebody's wall clock, and is ignored.
    pub(crate) fn follow(&self, database: Timestamp) {
        let now = self.now();
        let (ahead, behind) = (now.since(database), database.since(now));
        if ahead.max(behind) < millis(50) || ahead.max(behind) > secs(2) {
            return;
        }
        self.set(now + behind / 8 - ahead / 8);
    }

    fn has_begun(&self) -> bool {
        self.origin.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn set(&self, at: Timestamp) {
        let origin = Origin { at, monotonic: self.clock.monotonic() };
        *self.origin.lock().unwrap_or_else(PoisonError::into_inner) = Some(origin);
    }
}
