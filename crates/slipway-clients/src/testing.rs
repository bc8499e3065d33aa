//! What the tests of several clients share: a server that always says the same, and the simulators.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, header};
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock, Transport, TransportError},
};

/// Time that stands still.
pub(crate) struct StillClock;

impl Clock for StillClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

/// Gives everybody the same answer; those who ask for a token get one.
#[derive(Clone)]
pub(crate) struct Always {
    status: u16,
    body: &'static str,
    lost: bool,
}

impl Always {
    pub(crate) fn with_token(status: u16, body: &'static str) -> Self {
        Self { status, body, lost: false }
    }

    /// No answer at all.
    pub(crate) fn silent() -> Self {
        Self { status: 0, body: "", lost: true }
    }
}

impl Transport for Always {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if self.lost {
                return Err(TransportError::NoAnswer { system, problem: "the time ran out".to_owned() });
            }
            let is_token = request.uri().path().ends_with("/token");
            let token = r#"{"access_token":"t","token_type":"bearer","expires_in":3600}"#;
            let (status, body) = if is_token { (200, token) } else { (self.status, self.body) };
            let answer = Response::builder().status(status).header(header::RETRY_AFTER, "7");
            Ok(answer.body(Bytes::from_static(body.as_bytes())).expect("response"))
        })
    }
}

/// The simulators without a network.
pub(crate) struct SimTransport(pub(crate) slipway_sim::Systems);

impl Transport for SimTransport {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let answer = self.0.exchange(system, request).await;
            answer.map_err(|broken| TransportError::NoAnswer { system, problem: broken.to_string() })
        })
    }
}

/// A transport for clients that want it shared.
pub(crate) fn shared(transport: impl Transport) -> Arc<dyn Transport> {
    Arc::new(transport)
}
