//! Durable operations.
//!
//! A request becomes an operation; a static table of stages and steps says how it is done; this
//! crate sees to it that it is done, whatever dies when. It owns time and state: a step says how
//! its run ended, and everything else (when it runs again, what is written, who is told) is
//! decided here.
//!
//! It knows no SQL and no HTTP, reads no clock and draws no random number except through the ports
//! of `slipway-model`; so the very same code runs under simulated time.

mod attempt;
mod committer;
pub mod config;
pub mod context;
mod dispatcher;
mod engine;
pub mod events;
mod hold;
mod housekeeping;
pub mod laws;
mod life;
pub mod matrix;
pub mod memory;
pub mod outcome;
pub mod plan;
pub mod process;
pub mod recording;
mod run;
mod runner;
#[cfg(test)]
mod sample;
pub mod settle;
pub mod simulated;
pub mod step;
pub mod supervisor;
pub mod system;
pub mod time;

pub use config::{EngineConfig, Slots};
pub use context::StepCtx;
pub use engine::{Engine, Parts};
pub use events::Event;
pub use life::Status;
pub use memory::StageMemory;
pub use outcome::{StepError, StepResult};
pub use process::{Process, ProcessTable, Registry, Row, TableError, row};
pub use recording::RecordingTransport;
pub use step::{Domain, DynStep, Op, Step};
pub use supervisor::{Offer, Supervisor};
pub use system::{SystemClock, SystemEntropy, SystemRandom};
