//! The provisioner as its clients meet it, and its processes as wholes: against the simulators, on
//! simulated time.

mod api;
mod golden;
mod landscape;
mod laws;
mod matrix;
mod pages;
mod stories;
mod strangers;
