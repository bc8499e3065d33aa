//! The port to chance.

use std::time::Duration;

/// Chance. Seeded in simulations.
pub trait Random: Send + Sync + 'static {
    /// A uniformly drawn number.
    fn next_u64(&self) -> u64;
}

impl dyn Random {
    /// `duration` give or take 20 %, so that many that failed together do not come back together.
    pub fn jitter(&self, duration: Duration) -> Duration {
        let percent = 80 + self.next_u64() % 41;
        duration.mul_f64(percent as f64 / 100.0)
    }
}
