//! The faults: how likely each is in this story, until when, and how they strike a replica.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use slipway_model::ports::{StoreError, StoreResult};
use tokio::sync::Notify;

use super::chance::Chance;

/// Likelihoods in parts of a thousand; each story has its own mix, many have none of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// A call fails before it had an effect.
    pub(crate) fail_before: u64,
    /// A call has its effect and its answer is lost.
    pub(crate) fail_after: u64,
    /// The replica dies, before or after the effect.
    pub(crate) crash: u64,
    /// A call takes up to seconds instead of milliseconds.
    pub(crate) slow: u64,
    /// A hint that something is due gets lost.
    pub(crate) lost_hint: u64,
    /// A wake-up never reaches the database.
    pub(crate) lost_wake: u64,
    /// A wake-up is sent twice.
    pub(crate) double_wake: u64,
    /// When the faults stop.
    pub(crate) until: tokio::time::Instant,
}

impl Weather {
    #[expect(clippy::disallowed_methods, reason = "simulated time")]
    pub(crate) fn forecast(chance: &Chance) -> Self {
        let some = |max| if chance.happens(500) { chance.between(1, max) } else { 0 };
        Self {
            fail_before: some(60),
            fail_after: some(60),
            crash: some(8),
            slow: some(40),
            lost_hint: some(400),
            lost_wake: some(400),
            double_wake: some(300),
            until: tokio::time::Instant::now() + chance.millis(20_000, 150_000),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "simulated time")]
    pub(crate) fn is_over(&self) -> bool {
        tokio::time::Instant::now() >= self.until
    }
}

/// One program on one machine: dies and pauses as a whole.
pub(crate) struct Site {
    pub(crate) weather: Weather,
    chance: Chance,
    is_dead: AtomicBool,
    pub(crate) died: Notify,
    paused_until: Mutex<Option<tokio::time::Instant>>,
}

impl Site {
    pub(crate) fn new(weather: Weather, chance: Chance) -> Arc<Self> {
        Arc::new(Self {
            weather,
            chance,
            is_dead: AtomicBool::new(false),
            died: Notify::new(),
            paused_until: Mutex::new(None),
        })
    }

    #[expect(clippy::disallowed_methods, reason = "simulated time")]
    pub(crate) fn pause(&self, length: Duration) {
        *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::time::Instant::now() + length);
    }

    #[expect(clippy::disallowed_methods, reason = "simulated time")]
    pub(crate) async fn wait_while_paused(&self) {
        loop {
            let until = *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
            match until {
                Some(until) if until > tokio::time::Instant::now() => tokio::time::sleep_until(until).await,
                _ => return,
            }
        }
    }

    /// On the way to a call's effect.
    #[expect(clippy::disallowed_methods, reason = "simulated time")]
    pub(crate) async fn before(&self) -> StoreResult<()> {
        let slow = self.faulty(self.weather.slow);
        let latency = if slow { self.chance.millis(500, 5000) } else { self.chance.millis(0, 3) };
        tokio::time::sleep(latency).await;
        self.wait_while_paused().await;
        self.maybe_die().await;
        self.maybe_fail(self.weather.fail_before)
    }

    /// On the way back from it.
    pub(crate) async fn after(&self) -> StoreResult<()> {
        self.wait_while_paused().await;
        self.maybe_die().await;
        self.maybe_fail(self.weather.fail_after)
    }

    pub(crate) fn loses_hint(&self) -> bool {
        self.faulty(self.weather.lost_hint)
    }

    fn faulty(&self, permille: u64) -> bool {
        !self.weather.is_over() && self.chance.happens(permille)
    }

    fn maybe_fail(&self, permille: u64) -> StoreResult<()> {
        if self.faulty(permille) { Err(StoreError::Unavailable("simulated".to_owned())) } else { Ok(()) }
    }

    /// A dead program gets no further than this.
    async fn maybe_die(&self) {
        if self.faulty(self.weather.crash) {
            self.is_dead.store(true, Ordering::Relaxed);
            self.died.notify_one();
        }
        if self.is_dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}
