//! What went wrong with a call, and what that means: decided here, once, where the answer arrives.
//!
//! | answer | class | why |
//! |---|---|---|
//! | 429 | throttled | the server says how long to stay away |
//! | 404 that names an object | absent | the server knows the kind, and has no such object |
//! | 404 of the server that names none | no kind | somebody has to install it first |
//! | 404 of somebody in between | transient | it tells nothing of the cluster |
//! | 403 that names a field or comes from a webhook | permanent | admission refuses what was sent |
//! | any other 403 | transient | rights arrive after the objects they are for; the caller decides how long it believes that |
//! | 401, 408, 409, 410, 5xx, no connection, no answer in time, half an answer, an answer that cannot be read | transient | the same call may succeed later |
//! | 400, 405, 413, 415, 422, any other 4xx, an answer that is too large | permanent | the same call never succeeds |
//!
//! The message is the server's own sentence, because it names the field; it is cut to a length that fits a
//! condition. Bodies that are no Kubernetes `Status` are never repeated: nobody knows what is in them.

use std::time::Duration;

use http::{StatusCode, header, response::Parts};
use serde::Deserialize;
use slipway_model::{ports::TransportError, time::mins};

/// A server may slow us down, but not put us to sleep.
const RETRY_AFTER_MAX: Duration = mins(5);

/// What a server says, in plain text, at a path it does not serve.
const NO_PATH: &[u8] = b"404 page not found";

/// Longest sentence kept; Gardener lists every wrong field of a Shoot in one.
const LONGEST: usize = 1_000;

/// What a failure asks of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Stay away for a while; nothing is wrong.
    Throttled,
    /// Ask again, more slowly each time.
    Transient,
    /// There is no such object.
    Absent,
    /// The server does not know the kind at all.
    NoKind,
    /// Asking again changes nothing until something else changes.
    Permanent,
}

impl Class {
    /// Whether asking again later may help.
    pub const fn is_temporary(self) -> bool {
        match self {
            Self::Throttled | Self::Transient => true,
            Self::Absent | Self::NoKind | Self::Permanent => false,
        }
    }
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: String,
    message: String,
    reason: String,
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    name: String,
    causes: Vec<Cause>,
    retry_after_seconds: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    field: String,
}

impl Status {
    fn names_an_object(&self) -> bool {
        self.details.as_ref().is_some_and(|details| !details.name.is_empty())
    }

    /// Whether it is what was sent that is refused, and not who sent it. Admission plugins of Gardener answer 403
    /// where a validation would answer 422; they then name the field and what is wrong with it in the words of
    /// field errors. Webhooks are introduced by the server.
    fn refuses_content(&self) -> bool {
        let faults =
            ["Unsupported value", "Invalid value", "Required value", "Not found", "Duplicate value", "Forbidden:"];
        let text = &self.message;
        let is_about_field =
            (text.contains("spec.") || text.contains("metadata.")) && faults.iter().any(|fault| text.contains(fault));
        let has_field =
            self.details.as_ref().is_some_and(|details| details.causes.iter().any(|cause| !cause.field.is_empty()));
        is_about_field || has_field || (text.contains("admission webhook") && text.contains("denied the request"))
    }
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

    /// The answer is larger than may be read; the rest of it was left unread.
    pub fn too_large(most: usize) -> Self {
        let message = format!("the answer is larger than {most} bytes");
        Self { effect_unknown: true, ..Self::new(Class::Permanent, "TooLarge", message) }
    }

    /// There is no such object, as far as we know without asking.
    pub fn absent(message: impl Into<String>) -> Self {
        Self { code: Some(404), ..Self::new(Class::Absent, "NotFound", message) }
    }

    /// A kubeconfig leads nowhere. The next one may: they are rotated.
    pub fn unusable_kubeconfig(why: &super::ConnectError) -> Self {
        Self::new(Class::Transient, "Kubeconfig", why.to_string())
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
        Self::unreached(&deepest, never_sent)
    }

    /// The same behind the port.
    pub fn port(error: &TransportError) -> Self {
        match error {
            TransportError::NotSent { problem, .. } => Self::unreached(problem, true),
            TransportError::NoAnswer { problem, .. } => Self::unreached(problem, false),
        }
    }

    fn unreached(problem: &str, never_sent: bool) -> Self {
        let reason = if never_sent { "ConnectionRefused" } else { "NoConnection" };
        let message = format!("the API cannot be reached: {problem}");
        Self { effect_unknown: !never_sent, ..Self::new(Class::Transient, reason, message) }
    }

    /// An HTTP answer that is no success.
    pub fn answer(head: &Parts, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body).ok().filter(|status| status.kind == "Status");
        let code = head.status.as_u16();
        let class = class(head.status, status.as_ref(), body);
        let (reason, message, asked) = match status {
            Some(status) => (status.reason, status.message, status.details.map_or(0, |it| it.retry_after_seconds)),
            None => (String::new(), format!("HTTP {code} without a Kubernetes status"), 0),
        };
        let header = head.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let asked = header.or((asked > 0).then_some(asked)).map(Duration::from_secs);
        let retry_after = asked.map(|asked| asked.min(RETRY_AFTER_MAX));
        Self { code: Some(code), retry_after, ..Self::new(class, &reason, message) }
    }

    /// How long to stay away: what was asked for, or else `usual`. A quarter is added, because pauses are
    /// varied by a fifth either way.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        self.retry_after.map_or(usual, |asked| asked.mul_f64(1.25))
    }

    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        self.class.is_temporary()
    }

    /// There is no such object.
    pub fn is_not_found(&self) -> bool {
        self.class == Class::Absent
    }

    /// The answer came and is of no use: garbage, or more than may be read.
    pub fn is_unreadable(&self) -> bool {
        self.reason == "Garbage" || self.is_too_large()
    }

    /// There is more of it than may be read.
    pub fn is_too_large(&self) -> bool {
        self.reason == "TooLarge"
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
fn class(status: StatusCode, said: Option<&Status>, body: &[u8]) -> Class {
    match status.as_u16() {
        429 => Class::Throttled,
        404 => match said {
            Some(said) if said.names_an_object() => Class::Absent,
            Some(_) => Class::NoKind,
            None if body.trim_ascii() == NO_PATH => Class::NoKind,
            None => Class::Transient,
        },
        403 if said.is_some_and(Status::refuses_content) => Class::Permanent,
        401 | 403 | 408 | 409 | 410 => Class::Transient,
        400..=499 => Class::Permanent,
        _ => Class::Transient,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
