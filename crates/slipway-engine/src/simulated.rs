//! Test machinery: time that passes only when nothing else can happen, chance with a seed, and a wire
//! to whatever answers.
//!
//! For tests with `#[tokio::test(start_paused = true)]`: the runtime jumps to the next timer as soon
//! as every task waits, so a day of waiting takes a moment and every run is the same.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock, Random, Transport, TransportError},
};

/// 2026-01-01T00:00:00Z: when simulated time begins.
const BEGIN: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// The clock of a paused runtime.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedClock {
    origin: tokio::time::Instant,
}

impl Default for SimulatedClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn default() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }
}

impl Clock for SimulatedClock {
    fn wall(&self) -> Timestamp {
        BEGIN + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Chance that is the same in every run: the SplitMix64 sequence of a seed.
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Answers a request to the system of this name, or says why no answer came. A simulator, mostly.
type Answering =
    dyn Fn(&'static str, Request<Bytes>) -> BoxFuture<'static, Result<Response<Bytes>, String>> + Send + Sync;

/// A wire without a network: the same clients, the same requests, and time as simulated.
#[derive(Clone)]
pub struct SimulatedWire {
    clock: Arc<dyn Clock>,
    answering: Arc<Answering>,
}

impl SimulatedWire {
    /// A wire to `answering`.
    pub fn new(
        clock: Arc<dyn Clock>,
        answering: impl Fn(&'static str, Request<Bytes>) -> BoxFuture<'static, Result<Response<Bytes>, String>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { clock, answering: Arc::new(answering) }
    }
}

impl Transport for SimulatedWire {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let answer = tokio::select! {
                biased;
                answer = (self.answering)(system, request) => answer,
                () = self.clock.sleep(timeout) => Err("the time ran out".to_owned()),
            };
            answer.map_err(|problem| TransportError::NoAnswer { system, problem })
        })
    }
}
