//! Takes back registrations whose runtime was never stored.
//!
//! A request registers before it stores, so a crash in between leaves a registration that belongs to
//! nobody; the intent that was written down first says so. What is younger than any request may take is
//! left alone: its request may still be under way.

use std::{sync::Arc, time::Duration};

use slipway_clients::director;
use slipway_model::{
    ports::{Clock, Random, Runtimes},
    time::{mins, secs},
};

use crate::registration::Registrar;

/// How often the intents are looked at.
const EVERY: Duration = secs(60);

/// A request is answered within half a minute; this is a good deal more.
const YOUNG: Duration = mins(5);

/// Intents of one round; the next takes the rest.
const AT_ONCE: usize = 100;

/// What the rounds need.
pub struct Intents {
    /// The Director.
    pub director: Arc<director::Client>,
    /// Where intents are kept.
    pub runtimes: Arc<dyn Runtimes>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
}

impl Intents {
    /// Round after round, until it is dropped.
    pub async fn run(&self) {
        loop {
            self.clock.sleep(self.random.jitter(EVERY)).await;
            self.round().await;
        }
    }

    /// One round; answers how many intents were looked at.
    pub async fn round(&self) -> usize {
        let registrar = Registrar { director: &self.director, runtimes: &*self.runtimes, clock: &*self.clock };
        registrar.sweep(self.clock.wall() - YOUNG, AT_ONCE).await
    }
}
