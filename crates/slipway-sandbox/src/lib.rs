//! The product in a box: simulations under simulated time, and what judges and measures them.

pub mod engine_sim;
pub mod world;
