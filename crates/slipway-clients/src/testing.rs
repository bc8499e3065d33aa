//! What the tests of several clients share: a server that always says the same, and the simulators.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, header};
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock, Transport, TransportError},
};

use crate::{
    SYSTEMS,
    call::Connection,
    connections::{ConnectionSettings, Credentials, SystemClient},
    oauth::ClientCredentials,
    system::Login,
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

/// The clock of a paused runtime.
pub(crate) struct PausedClock(tokio::time::Instant);

impl Default for PausedClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn default() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for PausedClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(0) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
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
    pub(crate) fn saying(status: u16, body: &'static str) -> Self {
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
struct SimTransport(slipway_sim::Systems);

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

/// A client over this wire, with some credentials.
pub(crate) fn talking_to<C: SystemClient>(wire: impl Transport) -> C {
    client(wire, ("me".to_owned(), "s".to_owned()))
}

/// A client of the simulators, with the credentials that those who ask for any know.
pub(crate) fn simulated<C: SystemClient>(sim: &slipway_sim::Systems) -> C {
    simulated_as(sim, sim.director.client())
}

/// The same with other credentials.
pub(crate) fn simulated_as<C: SystemClient>(sim: &slipway_sim::Systems, credentials: (String, String)) -> C {
    client(SimTransport(sim.clone()), credentials)
}

fn client<C: SystemClient>(wire: impl Transport, (client_id, secret): (String, String)) -> C {
    let row = SYSTEMS.iter().find(|system| system.name == C::NAME).expect("a row");
    let (base, credentials) = match row.login {
        Login::ClientCredentials { .. } => {
            let url = "http://system/oauth2/token".parse().expect("address");
            let client = ClientCredentials { url, client_id, client_secret: secret.into() };
            ("http://system/graphql", Credentials::Client(client))
        }
        Login::None | Login::Basic | Login::Token => ("http://system", Credentials::None),
    };
    let settings = ConnectionSettings::new(row, base.parse().expect("address"), credentials);
    let clock: Arc<dyn Clock> = Arc::new(StillClock);
    C::over(Connection::new(row, Some(&settings), Arc::new(wire), &clock))
}
