//! What is kept of an answer that is no good news.

use std::{error::Error, fmt, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode, header::RETRY_AFTER};
use slipway_model::time::mins;

/// An outside system may slow us down, but not put us to sleep: no pause it asks for is longer.
const PAUSE_MAX: Duration = mins(5);

/// An answer that carries no result: its status, and how long the other side asks us to stay away.
/// Never the body, which may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// `Retry-After`, if it was given in seconds; dates are not understood, since nobody's wall
    /// clock is trusted here.
    pub retry_after: Option<Duration>,
}

impl Answer {
    /// What to keep of a response.
    pub fn of(response: &Response<Bytes>) -> Self {
        let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Self {
            status: response.status(),
            retry_after: seconds.map(|seconds| Duration::from_secs(seconds).min(PAUSE_MAX)),
        }
    }

    /// How long to stay away: what the other side asked for, or else `usual`. The engine varies
    /// every pause by a fifth either way, so a quarter is added to stay out for the whole of it.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        self.retry_after.map_or(usual, |asked| asked.mul_f64(1.25))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status.as_u16())
    }
}

impl Error for Answer {}

/// An error and what caused it, in one line for the ledger. `Display` of our errors never repeats
/// its source, so nothing is said twice.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use slipway_model::time::secs;

    use super::*;

    #[test]
    fn a_pause_is_read_in_seconds_and_never_longer_than_five_minutes() {
        for (header, kept) in
            [("7", Some(secs(7))), ("86400", Some(mins(5))), ("Fri, 31 Dec 1999 23:59:59 GMT", None), ("-1", None)]
        {
            let response = Response::builder().status(429).header(RETRY_AFTER, header).body(Bytes::new());
            assert_eq!(Answer::of(&response.expect("response")).retry_after, kept, "{header}");
        }
    }

    #[test]
    fn a_shortened_pause_is_still_what_was_asked_for() {
        let answer = Answer { status: StatusCode::TOO_MANY_REQUESTS, retry_after: Some(secs(20)) };
        assert!(answer.pause_or(secs(1)).mul_f64(0.8) >= secs(20));
        assert_eq!(Answer { retry_after: None, ..answer }.pause_or(secs(1)), secs(1));
    }
}
