//! Simulated time: the clock everything in the garden goes by.
//!
//! One clock for everything: timestamps in objects, timelines, certificates, schedules. It runs at a
//! multiple of real time, or stands still until it is told to advance. Stopping and continuing moves
//! no time: the simulated moment is kept in the data folder by whoever owns it, and handed to
//! [`Clock::at`] again.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::{sync::watch, time::Instant};

/// The clock. Clones show the same time.
#[derive(Debug, Clone)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// Rises when the clock was set, so that sleepers look again.
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    /// Simulated moment at `since`.
    base: Timestamp,
    since: Instant,
    pace: Pace,
}

/// How time passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So many simulated seconds in a real one.
    Scale(f64),
    /// It stands still until told to advance.
    Manual,
}

impl Clock {
    /// A clock that shows real time now and passes at this pace from here on.
    pub fn start(pace: Pace) -> Self {
        Self::at(crate::clock::now(), pace)
    }

    /// A clock that shows this moment now.
    pub fn at(base: Timestamp, pace: Pace) -> Self {
        let state = State { base, since: instant(), pace };
        Self { inner: Arc::new(Inner { state: Mutex::new(state), changed: watch::Sender::new(0) }) }
    }

    /// The simulated moment.
    pub fn now(&self) -> Timestamp {
        self.state().now()
    }

    /// The pace.
    pub fn pace(&self) -> Pace {
        self.state().pace
    }

    /// Changes the pace from here on.
    pub fn set_pace(&self, pace: Pace) {
        self.rebase(|now| (now, Some(pace)));
    }

    /// Moves time forward at once, at whatever pace it runs.
    pub fn advance(&self, by: SignedDuration) {
        self.rebase(|now| (now.checked_add(by).unwrap_or(Timestamp::MAX), None));
    }

    /// Moves time forward to this moment; a moment in the past changes nothing.
    pub fn advance_to(&self, to: Timestamp) {
        self.rebase(|now| (now.max(to), None));
    }

    /// Shows another moment from here on, perhaps an earlier one: for a garden that becomes what one was.
    pub(super) fn set(&self, to: Timestamp) {
        self.rebase(|_| (to, None));
    }

    fn rebase(&self, change: impl FnOnce(Timestamp) -> (Timestamp, Option<Pace>)) {
        {
            let mut state = self.state();
            let (base, pace) = change(state.now());
            *state = State { base, since: instant(), pace: pace.unwrap_or(state.pace) };
        }
        self.inner.changed.send_modify(|changes| *changes += 1);
    }

    /// Done when the simulated moment has come.
    pub fn until(&self, moment: Timestamp) -> impl Future<Output = ()> + Send + use<> {
        let clock = self.clone();
        let mut changed = self.inner.changed.subscribe();
        async move {
            loop {
                changed.mark_unchanged();
                let wait = clock.state().real_wait(moment);
                match wait {
                    Some(Duration::ZERO) => return,
                    Some(wait) => tokio::select! {
                        () = crate::clock::sleep(wait) => {}
                        _ = changed.changed() => {}
                    },
                    // The sender is in the clock we hold; it cannot be gone.
                    None => drop(changed.changed().await),
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn now(&self) -> Timestamp {
        match self.pace {
            Pace::Manual => self.base,
            Pace::Scale(scale) => {
                let passed = instant().duration_since(self.since).as_secs_f64() * scale;
                let passed = SignedDuration::try_from_secs_f64(passed).unwrap_or(SignedDuration::MAX);
                self.base.checked_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// Real time until the moment; none if it never comes by itself.
    fn real_wait(&self, moment: Timestamp) -> Option<Duration> {
        let left = moment.duration_since(self.now());
        match self.pace {
            _ if !left.is_positive() => Some(Duration::ZERO),
            Pace::Manual => None,
            // At least a millisecond: the runtime's timers know no less, and a zero would spin.
            Pace::Scale(scale) => Some(Duration::from_secs_f64((left.as_secs_f64() / scale).clamp(1e-3, 1e7))),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "simulated time runs along the monotonic clock")]
fn instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_manual_clock_stands_still_until_told() {
        let start: Timestamp = "2026-01-05T10:00:00Z".parse().expect("time");
        let clock = Clock::at(start, Pace::Manual);
        let later = start + SignedDuration::from_mins(5);
        let sleeper = tokio::spawn(clock.until(later));
        assert_eq!(clock.now(), start);
        clock.advance(SignedDuration::from_mins(2));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance_to(later);
        sleeper.await.expect("woken");
        clock.advance_to(start);
        assert_eq!(clock.now(), later, "never back");
    }

    #[tokio::test]
    async fn a_scaled_clock_makes_ten_minutes_of_a_second() {
        let start: Timestamp = "2026-01-05T10:00:00Z".parse().expect("time");
        let clock = Clock::at(start, Pace::Scale(600.0));
        clock.until(start + SignedDuration::from_mins(1)).await;
        let passed = clock.now().duration_since(start).as_secs();
        assert!((60..600).contains(&passed), "{passed}");
        clock.set_pace(Pace::Manual);
        let now = clock.now();
        crate::clock::sleep(Duration::from_millis(5)).await;
        assert_eq!(clock.now(), now);
    }
}
