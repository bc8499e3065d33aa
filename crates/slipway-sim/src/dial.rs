//! Faults at will: what a simulator does instead of answering well.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, StatusCode, header};

/// One thing that goes wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Answers this status without doing anything.
    Status(u16),
    /// Answers 429 with `Retry-After` without doing anything.
    Busy {
        /// Seconds to stay away.
        retry_after: u32,
    },
    /// Does what it should, but only after this time.
    Delay(Duration),
    /// Does what it should, then breaks the connection before the first byte of the body.
    DropAfterEffect,
    /// Does what it should, then breaks the connection in the middle of the body.
    HalfBody,
    /// Does what it should, then answers JSON of another shape.
    WrongJson,
}

/// Sets faults; each is used up by one request, in the order they were set.
#[derive(Debug, Clone, Default)]
pub struct Dial(Arc<Mutex<VecDeque<Fault>>>);

impl Dial {
    /// The next request that has no fault yet gets this one.
    pub fn next(&self, fault: Fault) {
        self.times(1, fault);
    }

    /// The same for the next `count` requests.
    pub fn times(&self, count: usize, fault: Fault) {
        self.queue().extend(std::iter::repeat_n(fault, count));
    }

    /// All is well from now on; answers how many faults nobody met.
    pub fn clear(&self) -> usize {
        self.queue().drain(..).count()
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The layer around a simulator that makes the faults.
pub(crate) async fn misbehave(State(dial): State<Dial>, request: Request, next: Next) -> Response {
    let fault = dial.queue().pop_front();
    match fault {
        None => next.run(request).await,
        Some(Fault::Status(status)) => {
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
        }
        Some(Fault::Busy { retry_after }) => {
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, HeaderValue::from(retry_after))]).into_response()
        }
        Some(Fault::Delay(time)) => {
            delay(time).await;
            next.run(request).await
        }
        Some(Fault::DropAfterEffect) => broken(next.run(request).await, 0).await,
        Some(Fault::HalfBody) => broken(next.run(request).await, 2).await,
        Some(Fault::WrongJson) => {
            let (mut head, _) = next.run(request).await.into_parts();
            head.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(head, Body::from(r#"{"unexpected":[]}"#))
        }
    }
}

/// The same answer, but the connection breaks behind the first `1/part` of its body; 0 means at once.
async fn broken(response: Response, part: usize) -> Response {
    let (head, body) = response.into_parts();
    let whole = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let kept = whole.len().checked_div(part).map_or_else(Bytes::new, |length| whole.slice(..length));
    let broken = || std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the simulator breaks the connection");
    Response::from_parts(head, Body::from_stream(stream::iter([Ok(kept), Err(broken())])))
}

#[expect(clippy::disallowed_methods, reason = "a slow server is slow in the runtime's own time, real or simulated")]
async fn delay(time: Duration) {
    tokio::time::sleep(time).await;
}
