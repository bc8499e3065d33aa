//! How long a part took. The only clock in the workshop.

use std::time::{Duration, Instant};

/// Time since a part began.
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "measures real builds; nothing here runs on simulated time")]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn took(&self) -> Duration {
        self.0.elapsed()
    }
}
