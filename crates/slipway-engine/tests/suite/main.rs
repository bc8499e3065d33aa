//! Stories about the engine, on simulated time.

mod budgets;
mod ends;
mod matrix;
mod operators;
mod queue;
mod restarts;
mod theatre;
mod versions;
mod waits;
