//! For tests and benchmarks only: a real PostgreSQL server, real time, seeded chance, and known mistakes.

pub mod bare;
pub mod bare_accept;
mod flawed;
mod server;
mod world;

pub use flawed::{FlawedProgram, FlawedStore};
pub use server::Postgres;
pub use world::{Chance, RealClock};
