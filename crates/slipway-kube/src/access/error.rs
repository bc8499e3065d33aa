//! What went wrong with a call, and what that means: decided here, once, where the answer arrives.
//!
//! | answer | class | why |
//! |---|---|---|
//! | 429 | throttled | the server says how long to stay away |
//! | 5xx, 401, 408, 409, 410, no connection, no answer in time, an answer that cannot be read | transient | the same call may succeed later |
//! | 403 | transient | Gardener answers it wrongly at times; the caller gives up after ten minutes |
//! | 403 that names a field, 400, 404, 405, 413, 415, 422 | permanent | the same call never succeeds |
//!
//! The message is the server's own sentence, because it names the field; it is cut to a length that fits a
//! condition. Bodies that are no Kubernetes `Status` are never repeated: nobody knows what is in them.

use std::time::Duration;

use http::{StatusCode, header, response::Parts};
use serde::Deserialize;

/// Longest sentence kept; Gardener lists every wrong field of a Shoot in one.
const LONGEST: usize = 1_000;

/// What a failure asks of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Stay away for a while; nothing is wrong.
    Throttled,
    /// Ask again, more slowly each time.
    Transient,
    /// Asking again changes nothing until something else changes.
    Permanent,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What it asks of the caller.
    pub class: Class,
    /// HTTP status; none if no answer came.
    pub code: Option<u16>,
    /// The machine's word for it: the `reason` of the `Status`, or one of ours.
    pub reason: String,
    /// A sentence for people, without secrets.
    pub message: String,
    /// How long the server asks to stay away.
    pub retry_after: Option<Duration>,
    /// Whether a write may have had its effect all the same.
    pub effect_unknown: bool,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(default)]
    retry_after_seconds: u64,
}

impl Error {
    fn new(class: Class, reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), cut(&message.into()));
        Self { class, code: None, reason, message, retry_after: None, effect_unknown: false }
    }

    /// No answer in time.
    pub fn timeout(after: Duration) -> Self {
        let message = format!("no answer within {}", slipway_model::time::spell(after));
        Self { effect_unknown: true, ..Self::new(Class::Transient, "Timeout", message) }
    }

    /// The answer ended in the middle.
    pub fn broken_off(problem: &str) -> Self {
        let message = format!("the connection broke before the answer was complete: {problem}");
        Self { effect_unknown: true, ..Self::new(Class::Transient, "BrokenOff", message) }
    }

    /// The answer is not what such a call answers.
    pub fn garbage(problem: &str) -> Self {
        let message = format!("the answer cannot be read: {problem}");
        Self { effect_unknown: true, ..Self::new(Class::Transient, "Garbage", message) }
    }

    /// The circuit breaker is open: nothing was sent.
    pub fn held() -> Self {
        Self::new(Class::Transient, "CircuitOpen", "the API has not answered for a while; work resumes when it does")
    }

    /// A hook of a test says so.
    pub fn injected(message: &str) -> Self {
        Self { effect_unknown: true, ..Self::new(Class::Transient, "Injected", message) }
    }

    /// The request cannot even be written.
    pub fn unsendable(problem: &str) -> Self {
        Self::new(Class::Permanent, "Unsendable", format!("the request cannot be made: {problem}"))
    }

    /// No HTTP answer at all.
    pub fn transport(error: &kube::Error) -> Self {
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
        let mut deepest = error.to_string();
        let mut never_sent = false;
        while let Some(inner) = source {
            if let Some(io) = inner.downcast_ref::<std::io::Error>() {
                never_sent |= io.kind() == std::io::ErrorKind::ConnectionRefused;
            }
            deepest = inner.to_string();
            source = inner.source();
        }
        let reason = if never_sent { "ConnectionRefused" } else { "NoConnection" };
        let message = format!("the API cannot be reached: {deepest}");
        Self { effect_unknown: !never_sent, ..Self::new(Class::Transient, reason, message) }
    }

    /// An HTTP answer that is no success.
    pub fn answer(head: &Parts, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body).ok().filter(|status| status.kind == "Status");
        let code = head.status.as_u16();
        let (reason, message, asked) = match status {
            Some(status) => (status.reason, status.message, status.details.map_or(0, |it| it.retry_after_seconds)),
            None => (String::new(), format!("HTTP {code} without a Kubernetes status"), 0),
        };
        let class = class(head.status, &message);
        let header = head.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let retry_after = header.or((asked > 0).then_some(asked)).map(Duration::from_secs);
        Self { code: Some(code), retry_after, ..Self::new(class, &reason, message) }
    }

    /// There is no such object.
    pub fn is_not_found(&self) -> bool {
        self.code == Some(404)
    }

    /// Somebody else was faster, or has the name already.
    pub fn is_conflict(&self) -> bool {
        self.code == Some(409)
    }

    /// The name is taken: what was to be made is there.
    pub fn is_already_there(&self) -> bool {
        self.is_conflict() && self.reason == "AlreadyExists"
    }

    /// The caller may not, or admission does not want it.
    pub fn is_forbidden(&self) -> bool {
        self.code == Some(403)
    }

    /// What the server was sent breaks its rules.
    pub fn is_invalid(&self) -> bool {
        self.code == Some(422)
    }

    /// The version a watch wants to go on from is forgotten.
    pub fn is_expired(&self) -> bool {
        self.code == Some(410)
    }

    /// Whether the server is to blame, and not the request: what opens a circuit breaker.
    pub fn is_outage(&self) -> bool {
        self.class == Class::Transient && self.reason != "CircuitOpen" && self.code.is_none_or(|code| code >= 500)
    }
}

/// The table.
fn class(status: StatusCode, message: &str) -> Class {
    match status.as_u16() {
        429 => Class::Throttled,
        403 if names_a_field(message) => Class::Permanent,
        401 | 403 | 408 | 409 | 410 => Class::Transient,
        400..=499 => Class::Permanent,
        _ => Class::Transient,
    }
}

/// Admission plugins of Gardener answer 403 where a validation would answer 422; they then name the field and
/// what is wrong with it in the words of field errors.
fn names_a_field(message: &str) -> bool {
    let faults = ["Unsupported value", "Invalid value", "Required value", "Not found", "Duplicate value", "Forbidden:"];
    (message.contains("spec.") || message.contains("metadata.")) && faults.iter().any(|fault| message.contains(fault))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
