//! The queue of a controller: names, each at most once, never worked on twice at a time.
//!
//! A name that is woken while it is worked on runs once more afterwards, because nobody knows what the
//! running pass had already seen. Each name has one timer, the earliest that anybody asked for.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use slipway_model::ports::Clock;
use tokio::sync::Notify;

/// The queue. Clones are the same queue.
#[derive(Clone)]
pub(crate) struct Queue(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    ready: VecDeque<String>,
    queued: HashSet<String>,
    running: HashSet<String>,
    again: HashSet<String>,
    due: HashMap<String, Duration>,
    timers: BTreeSet<(Duration, String)>,
}

impl State {
    fn push(&mut self, name: String) {
        self.disarm(&name);
        if self.running.contains(&name) {
            self.again.insert(name);
        } else if self.queued.insert(name.clone()) {
            self.ready.push_back(name);
        }
    }

    fn arm(&mut self, name: String, at: Duration) {
        if self.due.get(&name).is_some_and(|due| *due <= at) {
            return;
        }
        self.disarm(&name);
        self.due.insert(name.clone(), at);
        self.timers.insert((at, name));
    }

    fn disarm(&mut self, name: &str) {
        if let Some(at) = self.due.remove(name) {
            self.timers.remove(&(at, name.to_owned()));
        }
    }
}

impl Queue {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { clock, state: Mutex::default(), bell: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is due now.
    pub(crate) fn wake(&self, name: &str) {
        self.state().push(name.to_owned());
        self.0.bell.notify_one();
    }

    /// It is due by then, or earlier.
    pub(crate) fn wake_in(&self, name: &str, delay: Duration) {
        let at = self.0.clock.monotonic().saturating_add(delay);
        self.state().arm(name.to_owned(), at);
        self.0.bell.notify_one();
    }

    /// The next that is due; it counts as worked on until [`Queue::finish`].
    pub(crate) async fn next(&self) -> String {
        loop {
            let wait = {
                let now = self.0.clock.monotonic();
                let mut state = self.state();
                while let Some((at, name)) = state.timers.first().cloned()
                    && at <= now
                {
                    state.push(name);
                }
                if let Some(name) = state.ready.pop_front() {
                    state.queued.remove(&name);
                    state.running.insert(name.clone());
                    return name;
                }
                state.timers.first().map(|(at, _)| at.saturating_sub(now))
            };
            match wait {
                Some(wait) => tokio::select! {
                    () = self.0.bell.notified() => {}
                    () = self.0.clock.sleep(wait) => {}
                },
                None => self.0.bell.notified().await,
            }
        }
    }

    /// It is no longer worked on.
    pub(crate) fn finish(&self, name: &str) {
        let mut state = self.state();
        state.running.remove(name);
        if state.again.remove(name) {
            state.push(name.to_owned());
        }
        drop(state);
        self.0.bell.notify_one();
    }

    /// How many are due.
    pub(crate) fn depth(&self) -> usize {
        let state = self.state();
        state.ready.len() + state.again.len()
    }

    /// Whether nothing is due and nothing is worked on.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        state.ready.is_empty() && state.running.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::{
        ports::BoxFuture,
        time::{Timestamp, secs},
    };

    struct Simulated(tokio::time::Instant);

    #[expect(clippy::disallowed_methods, reason = "this is the clock of the tests")]
    impl Clock for Simulated {
        fn wall(&self) -> Timestamp {
            Timestamp::from_micros(0)
        }
        fn monotonic(&self) -> Duration {
            self.0.elapsed()
        }
        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            Box::pin(tokio::time::sleep(duration))
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock of the tests")]
    fn queue() -> (Queue, Arc<Simulated>) {
        let clock = Arc::new(Simulated(tokio::time::Instant::now()));
        (Queue::new(clock.clone()), clock)
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_waits_once_and_runs_once_at_a_time() {
        let (queue, clock) = queue();
        for name in ["a", "b", "a"] {
            queue.wake(name);
        }
        assert_eq!((queue.next().await, queue.next().await), ("a".to_owned(), "b".to_owned()));
        queue.wake("a");
        let nobody = tokio::select! {
            _ = queue.next() => false,
            () = clock.sleep(secs(1)) => true,
        };
        assert!(nobody, "a is worked on");
        queue.finish("a");
        assert_eq!(queue.next().await, "a", "woken while it was worked on");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_timer_counts_and_a_wake_makes_it_void() {
        let (queue, clock) = queue();
        queue.wake_in("a", secs(60));
        queue.wake_in("a", secs(5));
        queue.wake_in("a", secs(30));
        assert_eq!(queue.next().await, "a");
        assert_eq!(clock.monotonic(), secs(5));
        queue.finish("a");
        queue.wake_in("a", secs(10));
        queue.wake("a");
        assert_eq!(queue.next().await, "a");
        queue.finish("a");
        let nobody = tokio::select! {
            _ = queue.next() => false,
            () = clock.sleep(secs(60)) => true,
        };
        assert!(nobody && queue.is_idle());
    }
}
