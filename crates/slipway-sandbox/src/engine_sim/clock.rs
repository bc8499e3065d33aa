//! Simulated clocks: one for the database, one for each replica, each with jumps of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock},
};

use super::weather::Site;

/// Midnight of some day; stories need no real date.
const BEGINNING: i64 = 1_800_000_000_000_000;

/// The runtime's timers tick in milliseconds from an origin that differs from run to run by less
/// than one: only whole milliseconds pass the same way every time.
pub(crate) fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
}

/// A clock over the runtime's paused time.
pub(crate) struct SimClock {
    origin: tokio::time::Instant,
    offset: AtomicI64,
    site: Option<Arc<Site>>,
}

impl SimClock {
    /// A clock of a machine; a paused machine's sleeps end late.
    #[expect(clippy::disallowed_methods, reason = "this is the simulated clock")]
    pub(crate) fn new(site: Option<Arc<Site>>) -> Arc<Self> {
        Arc::new(Self { origin: tokio::time::Instant::now(), offset: AtomicI64::new(0), site })
    }

    /// Lets simulated time pass.
    pub(crate) async fn rest(&self, duration: Duration) {
        self.sleep(duration).await;
    }

    /// Sets the wall clock forward or back.
    pub(crate) fn jump(&self, micros: i64) {
        self.offset.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn wall(&self) -> Timestamp {
        let elapsed = i64::try_from(self.monotonic().as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(BEGINNING + elapsed + self.offset.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the simulated clock")]
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let site = self.site.clone();
        Box::pin(async move {
            tokio::time::sleep(whole_millis(duration)).await;
            if let Some(site) = site {
                site.wait_while_paused().await;
            }
        })
    }
}
