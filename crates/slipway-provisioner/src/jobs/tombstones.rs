//! Forgets what is left of removed runtimes when nobody can want it any more.
//!
//! A removal erases secrets and people at once; ids, types and times stay for the retention, so that a client
//! that asks late still learns that its runtime is gone.

use std::{sync::Arc, time::Duration};

use slipway_model::{
    ports::{Clock, Random, Runtimes},
    time::hours,
};

/// How often tombstones are looked at.
const EVERY: Duration = hours(1);

/// Tombstones of one call; a round makes as many calls as it takes.
const AT_ONCE: usize = 100;

/// What the rounds need.
pub struct Tombstones {
    /// Where runtimes are kept.
    pub runtimes: Arc<dyn Runtimes>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// How long tombstones stay.
    pub retention: Duration,
}

impl Tombstones {
    /// Round after round, until it is dropped.
    pub async fn run(&self) {
        loop {
            self.clock.sleep(self.random.jitter(EVERY)).await;
            self.round().await;
        }
    }

    /// One round; answers how many were forgotten.
    pub async fn round(&self) -> usize {
        let mut forgotten = 0;
        loop {
            match self.runtimes.forget_tombstones(self.clock.wall() - self.retention, AT_ONCE).await {
                Ok(0) => return forgotten,
                Ok(count) => forgotten += count,
                Err(error) => {
                    tracing::warn!(%error, "tombstones cannot be forgotten now; later");
                    return forgotten;
                }
            }
        }
    }
}
