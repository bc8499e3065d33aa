//! The wire: one HTTP exchange with a real server.

use std::{error::Error, sync::Once, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use slipway_model::{
    ports::{BoxFuture, Transport, TransportError},
    time::secs,
};

/// No answer we use comes near this; more is a mistake or an attack, and must not fill the memory.
const BODY_MAX: usize = 8 * 1024 * 1024;

/// A server that does not accept a connection in this time is away. Part of the call's own time.
const CONNECT_MAX: Duration = secs(10);

/// HTTP over TCP and TLS. It decides, where the answer was expected, whether a lost call may have
/// had its effect; it never follows a redirect, which could carry a token to another host.
#[derive(Debug, Clone)]
pub struct HttpTransport {
    client: reqwest::Client,
}

impl HttpTransport {
    /// A transport with the machine's trusted roots. Proxy variables of the environment are not
    /// read: which way a request takes stands in the configuration or nowhere.
    pub fn new() -> Result<Self, TransportError> {
        static TLS: Once = Once::new();
        TLS.call_once(|| {
            // Fails only if the program has chosen a provider already, and that is fine too.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_MAX)
            .no_proxy()
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| TransportError::NotSent { system: "transport", problem: problem(error) })?;
        Ok(Self { client })
    }
}

impl Transport for HttpTransport {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let mut request = reqwest::Request::try_from(request)
                .map_err(|error| TransportError::NotSent { system, problem: problem(error) })?;
            *request.timeout_mut() = Some(timeout);
            let answer = self.client.execute(request).await.map_err(|error| classify(system, error))?;
            whole(system, answer).await
        })
    }
}

/// Only an error before the connection stands proves that nothing happened on the other side.
fn classify(system: &'static str, error: reqwest::Error) -> TransportError {
    if error.is_builder() || error.is_connect() {
        TransportError::NotSent { system, problem: problem(error) }
    } else {
        TransportError::NoAnswer { system, problem: problem(error) }
    }
}

/// Reads the whole body. Half a body is no answer: nobody may act on it.
async fn whole(system: &'static str, mut answer: reqwest::Response) -> Result<Response<Bytes>, TransportError> {
    let too_long = || TransportError::NoAnswer {
        system,
        problem: format!("the answer is longer than {} MiB", BODY_MAX / 1024 / 1024),
    };
    if answer.content_length().is_some_and(|length| length > BODY_MAX as u64) {
        return Err(too_long());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) =
        answer.chunk().await.map_err(|error| TransportError::NoAnswer { system, problem: problem(error) })?
    {
        if body.len() + chunk.len() > BODY_MAX {
            return Err(too_long());
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(body.freeze());
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}

/// What went wrong, without the address: its query may hold a token.
fn problem(error: reqwest::Error) -> String {
    let error = error.without_url();
    if error.is_timeout() {
        return "the time ran out".to_owned();
    }
    let mut deepest: &dyn Error = &error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest.to_string()
}
