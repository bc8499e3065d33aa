//! Reads configuration, wires the parts, and serves the API.
pub mod config;
