//! Chance from a seed.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use slipway_model::ports::Random;

/// A stream of numbers that depends on nothing but its seed (SplitMix64).
#[derive(Debug)]
pub(crate) struct Chance(AtomicU64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// A stream of its own for a part of the story, so that one part drawing more does not shift
    /// all others.
    pub(crate) fn part(&self) -> Self {
        Self::new(self.next_u64() ^ 0x5851_f42d_4c95_7f2d)
    }

    /// A number below `bound`.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }

    /// A number between the two, both included.
    pub(crate) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `permille` of a thousand cases.
    pub(crate) fn happens(&self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    /// A duration between the two, in milliseconds.
    pub(crate) fn millis(&self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap_or(0)]
    }
}

impl Random for Chance {
    fn next_u64(&self) -> u64 {
        let state = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
