//! Reads configuration, wires the parts, and serves the API.
//!
//! The only production crate that names a storage back end. It decides nothing about operations:
//! what they do stands in `slipway-broker`, how they survive in `slipway-engine`. What it promises
//! is a start that either works or ends in one clear sentence, and a stop that loses nothing.

pub mod config;
pub mod http;
mod listener;
pub mod log;
pub mod manager;
mod metrics;
pub mod provisioner;
mod server;
pub mod shoots;
mod signals;
pub mod systems;

pub use config::{ConfigError, Settings, Sources};
pub use server::{News, Server, StartError, Store};
pub use signals::Signals;
pub use slipway_engine::{SystemClock, SystemEntropy};
pub use slipway_model::ports::{Clock, Entropy};
