//! The circuit breaker: an API that is away is left alone, and noticed within seconds of its return.
//!
//! After ten failures in a row that are the server's fault, calls fail at once, without being sent; whoever
//! made them is woken when the breaker closes. One cheap read every five seconds asks whether the API is
//! back. The alternative, letting calls wait inside, would let them act on a world they saw half an hour ago.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use slipway_model::time::secs;
use tokio::sync::watch;

use super::{Access, Ask, Error};

/// Failures in a row that open it.
const OPENS_AFTER: u32 = 10;
/// How often an open one probes.
const PROBE_EVERY: Duration = secs(5);

/// The breaker. Clones are the same breaker.
#[derive(Clone)]
pub struct Breaker(Arc<Inner>);

struct Inner {
    failures: AtomicU32,
    probing: AtomicBool,
    open: watch::Sender<bool>,
    since: Mutex<Option<Duration>>,
    probe: Ask,
}

impl Breaker {
    /// Closed; once open, it asks this until it is answered.
    pub fn new(probe: Ask) -> Self {
        let (failures, probing) = (AtomicU32::new(0), AtomicBool::new(false));
        Self(Arc::new(Inner { failures, probing, open: watch::Sender::new(false), since: Mutex::new(None), probe }))
    }

    /// Whether calls are held.
    pub fn is_open(&self) -> bool {
        *self.0.open.borrow()
    }

    /// How long calls have been held.
    pub fn open_for(&self, now: Duration) -> Option<Duration> {
        let since = *self.0.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| now.saturating_sub(since))
    }

    fn set_since(&self, since: Option<Duration>) {
        *self.0.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Changes between open and closed.
    pub fn changes(&self) -> watch::Receiver<bool> {
        self.0.open.subscribe()
    }

    pub(super) fn note(&self, error: Option<&Error>, access: &Access) {
        match error {
            Some(error) if error.is_outage() => {
                if self.0.failures.fetch_add(1, Ordering::Relaxed) + 1 >= OPENS_AFTER {
                    self.open(access);
                }
            }
            // Any answer shows that somebody is there.
            Some(_) | None => self.0.failures.store(0, Ordering::Relaxed),
        }
    }

    fn open(&self, access: &Access) {
        if self.0.probing.swap(true, Ordering::AcqRel) {
            return;
        }
        tracing::warn!(cluster = access.options().cluster, "the API does not answer; its work is held until it does");
        self.set_since(Some(access.clock().monotonic()));
        self.0.open.send_replace(true);
        let (breaker, access) = (self.clone(), access.clone());
        tokio::spawn(async move {
            loop {
                access.clock().sleep(PROBE_EVERY).await;
                let answered = access.unbudgeted(&breaker.0.probe).await;
                if answered.is_ok() {
                    break;
                }
            }
            breaker.0.failures.store(0, Ordering::Relaxed);
            breaker.0.probing.store(false, Ordering::Release);
            breaker.set_since(None);
            breaker.0.open.send_replace(false);
            tracing::info!(cluster = access.options().cluster, "the API answers again");
        });
    }
}
