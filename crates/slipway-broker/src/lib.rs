//! The broker: what its operations do.
//!
//! One file per step in `steps/`, one table per process in `processes/`. Nothing here knows a
//! database or a clock: the engine owns time and state, a step only says how its run ended.

pub mod domain;
pub mod processes;
pub mod steps;
#[cfg(test)]
mod trial;

pub use domain::{Broker, Data, Systems};
pub use processes::{not_offered, registry};
