//! The product in a box: what `slipway up` starts, simulations under simulated time, and benchmarks.

pub mod bench;
pub mod engine_sim;
pub mod world;

pub use world::{Options, World};
