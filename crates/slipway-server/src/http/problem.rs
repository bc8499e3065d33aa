//! Answers that are no good news: a status, a word for programs, and a sentence for people.
//!
//! The status is decided here, once, for every cause. What the database says about itself reaches
//! the caller only as far as it helps to decide what to do.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use slipway_clients::broker::wire;
use slipway_model::ports::StoreError;

/// When to come back while the database is away. The engine tries again twice a second.
const RETRY_AFTER_SECONDS: u32 = 2;

/// Why a request is not met.
#[derive(Debug)]
pub(super) enum Problem {
    /// The request is wrong. The sentence names the field, says why, and what to do.
    BadInput(String),
    /// No token, or not the right one.
    Unauthorized,
    /// There is no such thing.
    NotFound(String),
    /// This path is called in another way.
    NoSuchMethod,
    /// It contradicts what is stored.
    Conflict(String),
    /// The body is too long.
    TooLong,
    /// Not now; nothing is lost, and the same request may be repeated.
    Unavailable(String),
    /// A defect, or damage; the log has the details.
    Internal,
}

impl Problem {
    /// A wrong field.
    pub(super) fn field(name: &str, problem: impl AsRef<str>) -> Self {
        Self::BadInput(format!("field {name}: {}", problem.as_ref()))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(problem) => Self::Unavailable(format!(
                "the database cannot be reached ({problem}); nothing accepted is lost, and this may be repeated"
            )),
            StoreError::NotFound { .. } => Self::NotFound(error.to_string()),
            StoreError::Refused(problem) => Self::Conflict(problem),
            StoreError::Unreadable(_) => {
                tracing::error!(%error, "a request met a row that cannot be read");
                Self::Internal
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, error, description) = match self {
            Self::BadInput(sentence) => (StatusCode::BAD_REQUEST, "bad_request", sentence),
            Self::Unauthorized => (
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "a bearer token is needed; send it as Authorization: Bearer <token>".to_owned(),
            ),
            Self::NotFound(sentence) => (StatusCode::NOT_FOUND, "not_found", sentence),
            Self::NoSuchMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this path is called with another method; the header Allow names it".to_owned(),
            ),
            Self::Conflict(sentence) => (StatusCode::CONFLICT, "conflict", sentence),
            Self::TooLong => {
                (StatusCode::PAYLOAD_TOO_LARGE, "too_long", "the body is longer than 64 KiB; send less".to_owned())
            }
            Self::Unavailable(sentence) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the server met a defect; its log has the details".to_owned(),
            ),
        };
        let mut answer = (status, Json(wire::Problem { error: error.to_owned(), description })).into_response();
        let headers = answer.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer realm=\"slipway\""));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        answer
    }
}
