//! The step ledger: one row per step of an operation, from which budgets are measured.

use serde::{Deserialize, Serialize};

use crate::{state::spelled, text::BadText, time::Timestamp};
use std::{fmt, str::FromStr};

spelled! {
    /// How a step stands.
    StepStatus, "step status" {
        /// Waiting for something expected; not an error.
        Running => "running",
        /// Ended well.
        Done => "done",
        /// Failed, to be tried again.
        Retrying => "retrying",
        /// Given up; the operation went on.
        Skipped => "skipped",
        /// Failed for good, and the operation with it.
        Failed => "failed",
        /// Its condition did not hold.
        NotApplicable => "not_applicable",
        /// Switched off by configuration.
        Disabled => "disabled",
    }
}

impl StepStatus {
    /// The step needs no further run unless its whole stage starts over.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Done | Self::Skipped | Self::Failed | Self::NotApplicable | Self::Disabled => true,
            Self::Running | Self::Retrying => false,
        }
    }
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Position in the process table when first reached; orders the ledger.
    pub seq: u32,
    /// Stage.
    pub stage: String,
    /// Step.
    pub step: String,
    /// How it stands.
    pub status: StepStatus,
    /// Runs in all, over restarts.
    pub attempts: u32,
    /// Begin of the present series of runs. Wait budgets count from here. A resume after a pause
    /// moves it on by the length of the pause; the flight recorder keeps the true times.
    pub first_run_at: Option<Timestamp>,
    /// First error since the last good answer. Retry budgets count from here; see `first_run_at`.
    pub first_failure_at: Option<Timestamp>,
    /// Latest run.
    pub last_run_at: Option<Timestamp>,
    /// When it will be looked at again.
    pub next_run_at: Option<Timestamp>,
    /// Why it waits, was tried again, was skipped or failed. Never a secret.
    pub reason: Option<String>,
}

impl StepRecord {
    /// A row for a step that has not run.
    pub fn new(seq: u32, stage: &str, step: &str, status: StepStatus) -> Self {
        Self {
            seq,
            stage: stage.to_owned(),
            step: step.to_owned(),
            status,
            attempts: 0,
            first_run_at: None,
            first_failure_at: None,
            last_run_at: None,
            next_run_at: None,
            reason: None,
        }
    }
}
