//! The way to one system: how many are on it, and whether it is open.

use std::{sync::Mutex, time::Duration};

use slipway_model::{Timestamp, ports::Clock};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{BreakerState, Health, locked};
use crate::system::{Breaker, OutsideSystem};

pub(super) struct Lane {
    system: &'static str,
    in_flight: usize,
    breaker: Breaker,
    permits: Semaphore,
    seen: Mutex<LaneFigures>,
}

struct LaneFigures {
    state: BreakerState,
    last_success: Option<Timestamp>,
    last_failure: Option<(Timestamp, String)>,
    answered: u64,
    failed: u64,
    held_back: u64,
}

/// A call that was let through. Dropped without an end it says nothing of the system, and whoever comes next
/// tries in its place.
pub(super) struct Pass<'a> {
    lane: &'a Lane,
    decides: bool,
    _permit: SemaphorePermit<'a>,
}

impl Lane {
    pub(super) fn new(system: &OutsideSystem, in_flight: usize) -> Self {
        let seen = LaneFigures {
            state: BreakerState::Closed { failures: 0 },
            last_success: None,
            last_failure: None,
            answered: 0,
            failed: 0,
            held_back: 0,
        };
        Self {
            system: system.name,
            in_flight,
            breaker: system.breaker,
            permits: Semaphore::new(in_flight),
            seen: Mutex::new(seen),
        }
    }

    /// Waits for a free place. Whether the lane is open is asked before the wait and again after it: those who
    /// queue behind calls that hang are not sent after them.
    pub(super) async fn enter(&self, clock: &dyn Clock) -> Result<Pass<'_>, String> {
        self.admit(clock.monotonic(), false)?;
        let permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let decides = self.admit(clock.monotonic(), true)?;
        Ok(Pass { lane: self, decides, _permit: permit })
    }

    /// Whether a call may go; true if it `goes` now and decides for all others.
    fn admit(&self, now: Duration, goes: bool) -> Result<bool, String> {
        let mut seen = locked(&self.seen);
        let how_long = match seen.state {
            BreakerState::Closed { .. } => return Ok(false),
            BreakerState::Open { until } if until <= now => {
                if goes {
                    seen.state = BreakerState::Trying;
                }
                return Ok(goes);
            }
            BreakerState::Open { until } => format!("for another {} s", (until - now).as_secs_f64().ceil()),
            BreakerState::Trying => "until the one that tries has ended".to_owned(),
        };
        seen.held_back += 1;
        let why = seen.last_failure.as_ref().map_or("", |(_, problem)| problem.as_str());
        Err(format!("calls are held back {how_long}, since {} in a row failed: {why}", self.breaker.failures))
    }

    pub(super) fn give_up_waiting(&self) -> String {
        locked(&self.seen).held_back += 1;
        format!("{} calls were under way for the whole time", self.in_flight)
    }

    pub(super) fn health(&self) -> Health {
        let LaneFigures { state, last_success, last_failure, answered, failed, held_back } = &*locked(&self.seen);
        Health {
            system: self.system,
            state: *state,
            in_flight: self.in_flight - self.permits.available_permits().min(self.in_flight),
            last_success: *last_success,
            last_failure: last_failure.clone(),
            answered: *answered,
            failed: *failed,
            held_back: *held_back,
        }
    }
}

impl Pass<'_> {
    /// The call is over.
    pub(super) fn end(mut self, failure: Option<String>, clock: &dyn Clock) {
        let decided = std::mem::take(&mut self.decides);
        let (lane, now) = (self.lane, clock.monotonic());
        let mut seen = locked(&lane.seen);
        let Some(problem) = failure else {
            seen.answered += 1;
            seen.last_success = Some(clock.wall());
            // An answer to a call from before does not open what has been closed since.
            if decided || matches!(seen.state, BreakerState::Closed { .. }) {
                seen.state = BreakerState::Closed { failures: 0 };
            }
            return;
        };
        seen.failed += 1;
        seen.last_failure = Some((clock.wall(), problem));
        let failures = match seen.state {
            BreakerState::Closed { failures } => failures.saturating_add(1),
            BreakerState::Trying if decided => lane.breaker.failures,
            BreakerState::Trying | BreakerState::Open { .. } => return,
        };
        seen.state = if failures < lane.breaker.failures {
            BreakerState::Closed { failures }
        } else {
            tracing::warn!(system = lane.system, failures, "an outside system does not work; it is left alone");
            BreakerState::Open { until: now + lane.breaker.open_for }
        };
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.decides {
            // Open, and its time is over: the next call tries.
            locked(&self.lane.seen).state = BreakerState::Open { until: Duration::ZERO };
        }
    }
}
