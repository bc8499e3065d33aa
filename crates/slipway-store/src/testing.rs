//! For tests and benchmarks only: a real PostgreSQL server, real time, and seeded chance.

pub mod bare;
pub mod bare_accept;
mod server;
mod world;

pub use server::Postgres;
pub use world::{Chance, RealClock};
