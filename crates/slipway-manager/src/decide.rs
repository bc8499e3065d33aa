//! Decisions, without any I/O: an observation in, a plan out.
//!
//! | question | answered by |
//! |---|---|
//! | which steps run | [`plan`] |
//! | is the Shoot written, and how | [`apply`](apply()) |
//! | how far is Gardener | [`judge`](judge()) |
//! | are these errors worth another attempt | [`errors`] |
//! | may this deletion go on | [`brake`] |

mod apply;
pub(crate) mod brake;
pub(crate) mod errors;
mod judge;

use slipway_kube::RuntimeState;

pub(crate) use self::{
    apply::{Apply, apply, until_compared},
    judge::{ShootVerdict, count_attempts, judge, shorten},
};
use crate::{
    observe::Observation,
    runtime::{ALIGN, DELETE, Row},
};

/// What is to be done in one pass: steps in order, until one says otherwise.
#[derive(Debug, Clone)]
pub(crate) struct PassPlan {
    /// The state while it is not done.
    pub(crate) meanwhile: RuntimeState,
    /// The steps that apply.
    pub(crate) steps: Vec<&'static Row>,
}

/// Which steps run.
pub(crate) fn plan(seen: &Observation) -> PassPlan {
    let (meanwhile, table) =
        if seen.is_deleting() { (RuntimeState::Terminating, DELETE) } else { (RuntimeState::Pending, ALIGN) };
    let steps = table.iter().filter(|row| row.step.applies(seen)).collect();
    PassPlan { meanwhile, steps }
}

#[cfg(test)]
pub(crate) mod tests;
