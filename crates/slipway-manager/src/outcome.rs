//! What a step says when it ends: one of five words, never a tuple of hints.

use std::time::Duration;

use slipway_kube::{
    access,
    conditions::{Reason, Status, Type},
};

/// A condition as a step wants it: without times and generations, which the report knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConditionUpdate {
    pub(crate) of: Type,
    pub(crate) status: Status,
    pub(crate) reason: Reason,
    /// For people.
    pub(crate) message: String,
}

impl ConditionUpdate {
    pub(crate) fn new(of: Type, status: Status, reason: Reason, message: impl Into<String>) -> Self {
        Self { of, status, reason, message: message.into() }
    }
}

/// The reason when trying has ended: the catalogue has other words for it than for trying.
pub(crate) fn give_up(reason: Reason) -> Reason {
    match reason {
        Reason::Initialised | Reason::Pending | Reason::Processing => Reason::ProcessingErr,
        other => other,
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub(crate) enum Outcome {
    /// On to the next.
    Done,
    /// Nothing to do until something happens. Not an error.
    Wait {
        /// On what, for people.
        on: String,
        /// Looked at again by then, whatever happens.
        at_latest: Duration,
    },
    /// A call failed in a way that may pass.
    Retry {
        error: access::Error,
        /// What the Runtime is told meanwhile.
        condition: ConditionUpdate,
    },
    /// Asking again changes nothing: somebody must change something.
    Fail {
        /// What the Runtime is told.
        condition: ConditionUpdate,
    },
    /// This pass is over and there is nothing to report.
    Halt,
}

impl Outcome {
    /// A failed call becomes a retry or a failure, by its class.
    pub(crate) fn from_error(error: access::Error, of: Type, reason: Reason, what: &str) -> Self {
        Self::from_error_with(error, of, reason, Status::False, what)
    }

    /// The same where the catalogue wants another status while it is tried again.
    pub(crate) fn from_error_with(error: access::Error, of: Type, reason: Reason, trying: Status, what: &str) -> Self {
        let message = format!("{what}: {error}");
        match error.is_temporary() {
            true => Self::Retry { error, condition: ConditionUpdate::new(of, trying, reason, message) },
            false => Self::Fail { condition: ConditionUpdate::new(of, Status::False, give_up(reason), message) },
        }
    }

    pub(crate) fn wait(on: impl Into<String>, at_latest: Duration) -> Self {
        Self::Wait { on: on.into(), at_latest }
    }

    /// Its name in metrics and logs.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Wait { .. } => "wait",
            Self::Retry { .. } => "retry",
            Self::Fail { .. } => "fail",
            Self::Halt => "halt",
        }
    }
}
