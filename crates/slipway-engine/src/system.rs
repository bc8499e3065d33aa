//! Time, chance and entropy of the real world. The only place that reads a clock, sleeps or draws.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ring::rand::SecureRandom as _;
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock, Entropy, Random},
};

/// The machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn wall(&self) -> Timestamp {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Chance, seeded by the operating system: for ids and jitter. Keys, nonces and tokens come from [`SystemEntropy`].
#[derive(Debug, Default)]
pub struct SystemRandom {
    seed: RandomState,
    count: AtomicU64,
}

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        // SipHash of a counter under a random 128-bit key: a keyed pseudo-random function.
        self.seed.hash_one(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

/// The generator of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        ring::rand::SystemRandom::new().fill(bytes).expect("the operating system gives random bytes");
    }
}
