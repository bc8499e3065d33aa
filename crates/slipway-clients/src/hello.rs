//! The sample outside system: it greets by name, and takes a note that a greeting was passed on.
//!
//! Not a real system. It is here so that the sample steps talk to something, and so that the next
//! client has a file to be copied from: error, wire types, calls, the table of answers, its tests.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use slipway_model::{
    OperationId,
    ports::{Transport, TransportError},
    time::secs,
};

use crate::{answer::Answer, base_url::BaseUrl};

/// The longest a call may take; greetings are answered from memory.
const TIMEOUT: Duration = secs(30);

/// Why a call brought no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not have what was asked for.
    #[error("hello has no such thing")]
    NotFound,
    /// It will not do this, however often it is asked.
    #[error("hello refused the request")]
    Refused(#[source] Answer),
    /// It cannot do this now.
    #[error("hello is busy or broken")]
    Busy(#[source] Answer),
    /// It answered something else than it promised: a page of some proxy, or a half-started server.
    #[error("hello answered something that is not a {0}")]
    Garbled(&'static str),
    /// No answer came. For writing calls the effect is unknown, so they may be repeated.
    #[error("hello gave no answer")]
    Unreachable(#[source] TransportError),
}

impl Error {
    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Garbled(_) | Self::Unreachable(_) => true,
            Self::NotFound | Self::Refused(_) => false,
        }
    }

    /// How long to stay away: what hello asked for, or else `usual`.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match self {
            Self::Busy(answer) => answer.pause_or(usual),
            Self::NotFound | Self::Refused(_) | Self::Garbled(_) | Self::Unreachable(_) => usual,
        }
    }
}

/// A greeting.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Greeting {
    /// The words.
    pub greeting: String,
}

/// A note that a greeting was passed on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Report {
    /// Under which key.
    #[serde(rename = "override")]
    pub override_key: String,
    /// Somebody has read the greeting.
    pub read: bool,
}

#[derive(Serialize)]
struct NewReport<'a> {
    #[serde(rename = "override")]
    override_key: &'a str,
}

/// The client.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    base: BaseUrl,
}

impl Client {
    /// The name in metrics and in the flight recorder.
    pub const SYSTEM: &'static str = "hello";

    /// A client of the hello at this address.
    pub fn new(transport: Arc<dyn Transport>, base: BaseUrl) -> Self {
        Self { transport, base }
    }

    /// How to greet somebody. Changes nothing.
    pub async fn greeting(&self, name: &str) -> Result<Greeting, Error> {
        let answer = self.send(Method::GET, &["greetings", name], Bytes::new()).await?;
        read(&answer, "greeting")
    }

    /// Notes that the greeting was passed on under this key. The same note twice is one note.
    pub async fn report(&self, id: OperationId, override_key: &str) -> Result<(), Error> {
        let body = serde_json::to_vec(&NewReport { override_key }).expect("a text is JSON");
        self.send(Method::PUT, &["reports", &id.to_string()], body.into()).await.map(drop)
    }

    /// The note, and whether the greeting has been read. Changes nothing.
    pub async fn find_report(&self, id: OperationId) -> Result<Report, Error> {
        let answer = self.send(Method::GET, &["reports", &id.to_string()], Bytes::new()).await?;
        read(&answer, "report")
    }

    async fn send(&self, method: Method, path: &[&str], body: Bytes) -> Result<Response<Bytes>, Error> {
        let mut request =
            Request::builder().method(method).uri(self.base.at(path)).header(header::ACCEPT, "application/json");
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(body).expect("a checked address and fixed headers make a request");
        classify(self.transport.send(Self::SYSTEM, request, TIMEOUT).await.map_err(Error::Unreachable)?)
    }
}

/// The table: what each status means.
fn classify(answer: Response<Bytes>) -> Result<Response<Bytes>, Error> {
    match answer.status() {
        StatusCode::OK | StatusCode::CREATED => Ok(answer),
        StatusCode::NOT_FOUND => Err(Error::NotFound),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Error::Busy(Answer::of(&answer))),
        status if status.is_server_error() => Err(Error::Busy(Answer::of(&answer))),
        _ => Err(Error::Refused(Answer::of(&answer))),
    }
}

fn read<T: DeserializeOwned>(answer: &Response<Bytes>, what: &'static str) -> Result<T, Error> {
    serde_json::from_slice(answer.body()).map_err(|_| Error::Garbled(what))
}

#[cfg(test)]
mod tests {
    use slipway_model::ports::BoxFuture;

    use super::*;

    /// Gives everybody the same answer.
    struct Always(Result<Response<Bytes>, TransportError>);

    impl Transport for Always {
        fn send<'a>(
            &'a self,
            _system: &'static str,
            _request: Request<Bytes>,
            _timeout: Duration,
        ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
            Box::pin(async { self.0.clone() })
        }
    }

    async fn asked(answer: Result<Response<Bytes>, TransportError>) -> Result<Greeting, Error> {
        let base = BaseUrl::EXAMPLE.parse().expect("example");
        Client::new(Arc::new(Always(answer)), base).greeting("ann").await
    }

    async fn after(status: u16, body: &'static str) -> Result<Greeting, Error> {
        let response = Response::builder().status(status).header(header::RETRY_AFTER, "7");
        asked(Ok(response.body(Bytes::from_static(body.as_bytes())).expect("response"))).await
    }

    fn answer(status: u16) -> Answer {
        Answer { status: StatusCode::from_u16(status).expect("status"), retry_after: Some(secs(7)) }
    }

    #[tokio::test]
    async fn a_greeting_is_read() {
        let greeting = after(200, r#"{"greeting": "Hello, ann!"}"#).await.expect("a greeting");
        assert_eq!(greeting.greeting, "Hello, ann!");
    }

    #[tokio::test]
    async fn a_missing_thing_is_not_found() {
        assert_eq!(after(404, "").await, Err(Error::NotFound));
    }

    #[tokio::test]
    async fn busy_and_broken_servers_are_temporary_and_name_their_pause() {
        for status in [408, 429, 500, 502, 503, 504, 599] {
            let error = after(status, "").await.expect_err("no greeting");
            assert_eq!(error, Error::Busy(answer(status)));
            assert!(error.is_temporary());
            assert!(error.pause_or(secs(1)) >= secs(7), "{status}");
        }
    }

    #[tokio::test]
    async fn every_other_refusal_is_permanent() {
        for status in [301, 400, 401, 403, 405, 409, 410, 422] {
            let error = after(status, r#"{"greeting": "Hello"}"#).await.expect_err("no greeting");
            assert_eq!(error, Error::Refused(answer(status)));
            assert!(!error.is_temporary());
        }
    }

    #[tokio::test]
    async fn something_else_than_a_greeting_is_temporary() {
        for body in ["<html>", "", "{}", r#"{"greeting": 1}"#, r#"{"greeting": "Hel"#] {
            let error = after(200, body).await.expect_err("no greeting");
            assert_eq!(error, Error::Garbled("greeting"));
            assert!(error.is_temporary());
        }
    }

    #[tokio::test]
    async fn silence_is_temporary_and_told_once() {
        let problem = "the time ran out".to_owned();
        let error = asked(Err(TransportError::NoAnswer { system: "hello", problem })).await.expect_err("no greeting");
        assert!(error.is_temporary());
        assert_eq!(crate::chain(&error), "hello gave no answer: hello did not answer: the time ran out");
    }
}
