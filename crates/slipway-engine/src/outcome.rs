//! How a run of a step ends.

use std::time::Duration;

use slipway_model::{Component, OperationState, Reason, WaitKey};

/// What a step says at the end of a run. The engine owns time and state: a step neither sleeps,
/// nor loops while it waits, nor marks anything failed.
#[must_use = "the engine acts on what the step says"]
#[derive(Debug)]
pub enum StepResult {
    /// The goal is reached; the next step runs.
    Done,
    /// An expected state is not reached yet. Not an error.
    Wait {
        /// What ends the wait early, when somebody wakes it.
        on: Option<WaitKey>,
        /// The safety net: look again after this time at the latest.
        at_latest: Duration,
        /// What is waited for, one plain sentence for the operator.
        reason: String,
    },
    /// An error, to be tried again.
    Retry {
        /// When.
        after: Duration,
        /// What went wrong.
        reason: String,
    },
    /// Give this step up, remember that, and go on.
    Skip {
        /// Why.
        reason: String,
    },
    /// The operation has failed.
    Fail {
        /// Why.
        error: StepError,
    },
    /// End the whole operation now.
    Finish {
        /// `succeeded`, `failed` or `canceled`.
        state: OperationState,
        /// The sentence users read.
        description: String,
    },
}

/// Why a step failed, for two audiences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StepError {
    /// The details, for operators. Never a secret.
    pub message: String,
    /// The fixed sentence that users read: no ids of others, no details.
    pub user_message: String,
    /// Why.
    pub reason: Reason,
    /// Who is to blame; none for the step's own component.
    pub component: Option<Component>,
}

impl StepError {
    /// A failure with this reason; users read `user_message`, operators `message`.
    pub fn new(reason: Reason, user_message: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), user_message: user_message.into(), reason, component: None }
    }

    /// A defect of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Reason::KebInternal, "internal error", message)
    }

    /// Charges another component.
    pub fn blamed_on(mut self, component: Component) -> Self {
        self.component = Some(component);
        self
    }
}
