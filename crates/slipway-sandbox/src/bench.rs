//! Benchmarks. Each prints JSON and compares within one run: figures of two runs, let alone of two
//! machines, are not comparable.

pub mod engine;
pub mod kube;
pub mod measure;
pub mod render;
