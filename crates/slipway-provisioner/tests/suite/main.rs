//! The provisioner's processes as wholes: against the simulators, on simulated time.

mod golden;
mod landscape;
mod laws;
mod matrix;
mod pages;
mod stories;
