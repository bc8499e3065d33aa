//! The contract of Gardener: one set of assertions, run on the garden simulator and on a real gardener-apiserver.
//!
//! A case is one async function in a themed file and one line in that file's table; how they are run is told in
//! `kube_sandbox::contract`. What only one side can do stands in a short list with its reason, beside the table
//! of themes.
//!
//! `CONTRACT_CASES=<part of a name>` runs only some; `SLIPWAY_REAL` says whether the real servers are used, see
//! `slipway_sim::real::Mode`.

mod gardener;
