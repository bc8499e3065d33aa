//! What an answer means.

use std::{fmt, time::Duration};

use http::StatusCode;
use slipway_model::ports::TransportError;

use crate::{answer::Answer, oauth, system::OutsideSystem};

/// Why a call brought no result: who, and what class of trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    system: &'static str,
    class: Class,
}

/// What an answer, or the lack of one, means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// The configuration does not name the system.
    NotSetUp,
    /// It does not have what was asked for.
    NotFound,
    /// What is there contradicts the request.
    Conflict(Answer),
    /// Our credentials or their scopes are wrong: somebody must change the configuration.
    Denied(Answer),
    /// It will not do this, however often it is asked.
    Refused(Answer),
    /// The request is longer than it takes, and was not sent.
    TooLong {
        /// Bytes of the request.
        length: usize,
        /// Bytes it takes.
        limit: usize,
    },
    /// It, or what stands before it, cannot do this now. For creating calls the effect is unknown.
    Busy(Answer),
    /// It answered something else than it promised: a page of some proxy, or a half-started server. For
    /// creating calls the effect is unknown.
    Garbled(&'static str),
    /// There is no token to call it with.
    NoToken(oauth::Error),
    /// No answer came. For creating calls the effect is unknown, unless nothing was sent.
    Unreachable(TransportError),
}

impl Error {
    /// An error of this system.
    pub fn new(system: &OutsideSystem, class: Class) -> Self {
        Self { system: system.title, class }
    }

    /// What it means.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The thing is not there.
    pub fn is_not_found(&self) -> bool {
        self.class == Class::NotFound
    }

    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match &self.class {
            Class::Busy(_) | Class::Garbled(_) | Class::Unreachable(_) => true,
            Class::NoToken(error) => error.is_temporary(),
            Class::NotSetUp
            | Class::NotFound
            | Class::Conflict(_)
            | Class::Denied(_)
            | Class::Refused(_)
            | Class::TooLong { .. } => false,
        }
    }

    /// A creating call may have had its effect although it brought no result.
    pub fn is_effect_unknown(&self) -> bool {
        match &self.class {
            Class::Busy(_) | Class::Garbled(_) => true,
            Class::Unreachable(error) => matches!(error, TransportError::NoAnswer { .. }),
            Class::NotSetUp
            | Class::NotFound
            | Class::Conflict(_)
            | Class::Denied(_)
            | Class::Refused(_)
            | Class::TooLong { .. }
            | Class::NoToken(_) => false,
        }
    }

    /// How long to stay away: what was asked for, or else `usual`.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match &self.class {
            Class::Busy(answer) => answer.pause_or(usual),
            Class::NoToken(error) => error.pause_or(usual),
            _ => usual,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, class } = self;
        match class {
            Class::NotSetUp => write!(f, "{system} is not set up; the configuration has no address of it"),
            Class::NotFound => write!(f, "{system} has no such thing"),
            Class::Conflict(_) => write!(f, "{system} has something that contradicts the request"),
            Class::Denied(_) => write!(f, "{system} does not accept our credentials"),
            Class::Refused(_) => write!(f, "{system} refused the request"),
            Class::TooLong { length, limit } => {
                write!(f, "{system} takes at most {limit} bytes, and the request has {length}")
            }
            Class::Busy(_) => write!(f, "{system} is busy or broken"),
            Class::Garbled(what) => write!(f, "{system} answered something that is not {what}"),
            Class::NoToken(_) => write!(f, "no token for {system}"),
            Class::Unreachable(_) => write!(f, "{system} gave no answer"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.class {
            Class::Conflict(answer) | Class::Denied(answer) | Class::Refused(answer) | Class::Busy(answer) => {
                Some(answer)
            }
            Class::NoToken(error) => Some(error),
            Class::Unreachable(error) => Some(error),
            Class::NotSetUp | Class::NotFound | Class::TooLong { .. } | Class::Garbled(_) => None,
        }
    }
}

/// The table: what each status means.
pub(super) fn classify(status: StatusCode, answer: Answer) -> Option<Class> {
    Some(match status {
        status if status.is_success() => return None,
        StatusCode::NOT_FOUND => Class::NotFound,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Class::Denied(answer),
        StatusCode::CONFLICT => Class::Conflict(answer),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => Class::Busy(answer),
        status if status.is_server_error() => Class::Busy(answer),
        _ => Class::Refused(answer),
    })
}
