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

    /// A heartbeat told the database's time: follows slow drift gently. A difference of seconds
    /// was a jump of the database's clock: it is walked off at about one part in a hundred, which
    /// no budget notices, so that the times people read come right again.
    pub(crate) fn follow(&self, database: Timestamp) {
        let now = self.now();
        let (ahead, behind) = (now.since(database), database.since(now));
        let step = |difference: Duration| match difference {
            small if small < millis(50) => Duration::ZERO,
            drift if drift < secs(2) => drift / 8,
            _ => millis(10),
        };
        self.set(now + step(behind) - step(ahead));
    }

    /// Others are far ahead: one of us was told a wrong time, and nobody knows who. All go by the
    /// latest, because a timer that fires early does no harm and one that never fires does.
    pub(crate) fn join(&self, others: Option<Timestamp>) {
        if let Some(latest) = others.filter(|latest| latest.since(self.now()) > secs(2)) {
            tracing::warn!(%latest, "other replicas go by a later time; joining them");
            self.set(latest);
        }
    }

    fn has_begun(&self) -> bool {
        self.origin.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn set(&self, at: Timestamp) {
        let origin = Origin { at, monotonic: self.clock.monotonic() };
        *self.origin.lock().unwrap_or_else(PoisonError::into_inner) = Some(origin);
    }
}
