//! For tests and benchmarks only: a real PostgreSQL server, real time, and seeded chance.

mod server;
mod world;

pub use server::Postgres;
pub use world::{Chance, RealClock};
