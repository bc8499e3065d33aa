//! Benchmarks. Each prints JSON and compares within one run: figures of two runs, let alone of two
//! machines, are not comparable.

pub mod engine;
pub mod garden;
pub mod kube;
pub mod manager;
pub mod measure;
mod part;
pub mod provisioner;
pub mod render;
