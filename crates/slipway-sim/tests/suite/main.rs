//! The contract suites: one set of assertions, run on our own servers and on the real ones.
//!
//! A case is one async function in a themed file and one line in that file's table. It gets a
//! namespace of its own on a server it knows nothing about, so all cases run side by side and none
//! can ask which server it is talking to. What only one side can do stands in a short list with its
//! reason, beside the table of themes.
//!
//! `SLIPWAY_CASES=<part of a name>` runs only some; `SLIPWAY_REAL` says whether the real servers are
//! used, see `slipway_sim::real::Mode`.

mod answer;
mod contract;
mod cx;
mod gardener;
mod kubectl;
mod kubernetes;
mod target;
