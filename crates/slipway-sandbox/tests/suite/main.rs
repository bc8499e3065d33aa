//! Everything that is judged from outside the parts.

mod engine_sim;
mod scenarios;
