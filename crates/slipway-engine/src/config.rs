//! The engine's settings and their defaults.

use std::time::Duration;

use slipway_model::{
    Bugs, Class,
    time::{hours, millis, secs},
};

/// Settings of one engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// How many operations of a class run step code at once. Waiting ones do not count.
    pub slots: Slots,
    /// How often a replica says that it lives: one write, whatever it holds.
    pub heartbeat: Duration,
    /// A replica whose heartbeat has not moved for this long, by the observer's clock, is given
    /// up. With the default a dead replica's work moves again in 2.5 to 4.5 s.
    pub lease: Duration,
    /// How often to look for due operations when nobody gives a hint.
    pub poll: Duration,
    /// Waits up to this long keep lease and stage memory.
    pub park_memory_max: Duration,
    /// How long a stop waits for running steps.
    pub grace: Duration,
    /// How often to compare what the database says we run with what we run.
    pub audit: Duration,
    /// How many finished steps are written together at most.
    pub group_max: usize,
    /// How long the flight recorder remembers ended operations.
    pub retention: Duration,
    /// How often old entries are forgotten and old keys replaced.
    pub housekeeping: Duration,
    /// For the simulation's own test. One known bug asks for it; the others are made around the store.
    pub bugs: Bugs,
}

/// Places for running step code, per class; a field each, so that a new class cannot be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// Provisionings.
    pub provision: usize,
    /// Deprovisionings.
    pub deprovision: usize,
    /// Updates.
    pub update: usize,
    /// Both kinds of upgrades.
    pub upgrade: usize,
}

impl Slots {
    /// The same number for every class.
    pub const fn each(count: usize) -> Self {
        Self { provision: count, deprovision: count, update: count, upgrade: count }
    }

    /// The places of one class.
    pub const fn of(self, class: Class) -> usize {
        match class {
            Class::Provision => self.provision,
            Class::Deprovision => self.deprovision,
            Class::Update => self.update,
            Class::Upgrade => self.upgrade,
        }
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self::each(64)
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            slots: Slots::default(),
            heartbeat: secs(1),
            lease: millis(2500),
            poll: secs(1),
            park_memory_max: secs(60),
            grace: secs(10),
            audit: secs(30),
            group_max: 256,
            retention: hours(336),
            housekeeping: hours(1),
            bugs: Bugs::NONE,
        }
    }
}
