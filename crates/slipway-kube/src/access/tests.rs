//! The door, its budget, its breaker and its caches, over a server made of a function, on simulated time.

mod bench;
mod budget;
mod caches;
mod errors;
mod leases;
mod limits;
