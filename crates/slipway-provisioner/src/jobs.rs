//! Rounds that nobody asks for: each is one file, and each is a loop over the port of time.

pub mod agents;
pub mod intents;
pub mod tombstones;
