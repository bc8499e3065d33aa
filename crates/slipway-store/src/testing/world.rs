//! The ports of time and chance as tests and benchmarks want them.

#![allow(clippy::disallowed_methods, reason = "this is the port to real time, for tests and benchmarks")]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock, Entropy, Random},
};

/// The machine's own time.
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// A clock that counts from now.
    #[expect(clippy::disallowed_methods, reason = "this is the port, for tests")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port, for tests")]
    fn wall(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::default() + since
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port, for tests")]
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Numbers that only look random (splitmix64): the same seed gives the same numbers.
pub struct Chance(AtomicU64);

impl Chance {
    /// Chance from a seed.
    pub const fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Random for Chance {
    fn next_u64(&self) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// For keyrings of tests, whose secrets are none.
impl Entropy for Chance {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.chunks_mut(8).for_each(|part| part.copy_from_slice(&self.next_u64().to_be_bytes()[..part.len()]));
    }
}
