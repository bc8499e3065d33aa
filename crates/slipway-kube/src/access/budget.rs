//! The budget of requests: one token bucket for everything, handed out by importance.
//!
//! A rotation at start-up must not keep a customer's new cluster waiting, and nothing may keep an expired
//! kubeconfig waiting. So a freed token goes to the most important who waits, and to the one who waited
//! longest among equals. Work that nobody waits for gets at most half of the rate, so that it can never be
//! the reason why an urgent call finds the bucket empty for long. The lists of caches do not draw from it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use slipway_model::ports::Clock;
use tokio::sync::oneshot;

/// How important a call is. The order is the order of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// P0: a kubeconfig is expired or missing.
    Expired,
    /// P1: a spec changed, a cluster is being made.
    Change,
    /// P2: a deletion.
    Deletion,
    /// P3: a rotation is due.
    Rotation,
    /// P4: drift and resync; at most half of the rate.
    Background,
}

impl Priority {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Expired, Self::Change, Self::Deletion, Self::Rotation, Self::Background];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "P0",
            Self::Change => "P1",
            Self::Deletion => "P2",
            Self::Rotation => "P3",
            Self::Background => "P4",
        }
    }
}

/// How long calls of one priority waited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// All together.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
}

/// The budget. Clones are the same budget.
#[derive(Clone)]
pub struct Budget(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    rate: f64,
    burst: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tokens: f64,
    /// Tokens of [`Priority::Background`]: it needs one of both.
    background: f64,
    filled: Duration,
    next: u64,
    waiting: BTreeMap<(Priority, u64), oneshot::Sender<()>>,
    pumping: bool,
    waits: BTreeMap<Priority, Waits>,
}

impl Budget {
    /// So many requests a second, and so many at once.
    pub fn new(rate: f64, burst: u32, clock: Arc<dyn Clock>) -> Self {
        let burst = f64::from(burst.max(1));
        let state =
            State { tokens: burst, background: (burst / 2.0).max(1.0), filled: clock.monotonic(), ..State::default() };
        Self(Arc::new(Inner { clock, rate: rate.max(0.01), burst, state: Mutex::new(state) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when the call may be made. Giving up the wait gives nothing away.
    pub async fn take(&self, priority: Priority) {
        let began = self.0.clock.monotonic();
        let turn = {
            let mut state = self.state();
            state.fill(&self.0, began);
            let (sender, turn) = oneshot::channel();
            let place = (priority, state.next);
            state.next += 1;
            state.waiting.insert(place, sender);
            state.grant();
            if !state.waiting.is_empty() && !state.pumping {
                state.pumping = true;
                tokio::spawn(pump(self.clone()));
            }
            turn
        };
        // The sender lives in the state until it is used; it is dropped unused only with the whole budget.
        let _ = turn.await;
        let waited = self.0.clock.monotonic().saturating_sub(began);
        let mut state = self.state();
        let waits = state.waits.entry(priority).or_default();
        waits.count += 1;
        waits.total += waited;
        waits.longest = waits.longest.max(waited);
    }

    /// How long calls waited so far.
    pub fn waits(&self) -> Vec<(Priority, Waits)> {
        self.state().waits.iter().map(|(priority, waits)| (*priority, *waits)).collect()
    }
}

/// Grants tokens as they come, while anybody waits.
async fn pump(budget: Budget) {
    loop {
        let wait = Duration::from_secs_f64((1.0 / budget.0.rate).min(1.0));
        budget.0.clock.sleep(wait).await;
        let now = budget.0.clock.monotonic();
        let mut state = budget.state();
        state.fill(&budget.0, now);
        state.grant();
        if state.waiting.is_empty() {
            state.pumping = false;
            return;
        }
    }
}

impl State {
    fn fill(&mut self, inner: &Inner, now: Duration) {
        let passed = now.saturating_sub(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + passed * inner.rate).min(inner.burst);
        self.background = (self.background + passed * inner.rate / 2.0).min((inner.burst / 2.0).max(1.0));
    }

    fn grant(&mut self) {
        // A hair less than one: sums of fractions do not always reach it.
        const ONE: f64 = 0.999_999;
        loop {
            self.waiting.retain(|_, turn| !turn.is_closed());
            if self.tokens < ONE {
                return;
            }
            let first =
                self.waiting.keys().find(|(priority, _)| *priority != Priority::Background || self.background >= ONE);
            let Some(place) = first.copied() else { return };
            let given = self.waiting.remove(&place).is_some_and(|turn| turn.send(()).is_ok());
            if given {
                self.tokens -= 1.0;
                if place.0 == Priority::Background {
                    self.background -= 1.0;
                }
            }
        }
    }
}
