//! Bearer tokens by client credentials, for the systems that want them.
//!
//! One cache per system and scope: a token is fetched by the first who needs it, shared by all, and
//! replaced when four fifths of its life are over, so that none ends between the look and the use.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use slipway_model::ports::{Clock, Transport, TransportError};
use tokio::sync::Mutex;

use crate::{answer::Answer, base_url::BaseUrl};

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The client, its secret or its scopes are wrong: somebody must change the configuration.
    #[error("the token endpoint does not accept our credentials")]
    Denied(#[source] Answer),
    /// It cannot give one now.
    #[error("the token endpoint is busy or broken")]
    Busy(#[source] Answer),
    /// It answered something else.
    #[error("the token endpoint answered something that is not a token")]
    Garbled,
    /// No answer came.
    #[error("the token endpoint gave no answer")]
    Unreachable(#[source] TransportError),
}

impl Error {
    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Garbled | Self::Unreachable(_) => true,
            Self::Denied(_) => false,
        }
    }

    /// How long to stay away: what was asked for, or else `usual`.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match self {
            Self::Busy(answer) => answer.pause_or(usual),
            Self::Denied(_) | Self::Garbled | Self::Unreachable(_) => usual,
        }
    }
}

/// Who we are, and where tokens are.
#[derive(Debug, Clone)]
pub struct ClientCredentials {
    /// The token endpoint.
    pub url: BaseUrl,
    /// Our id there.
    pub client_id: String,
    /// Our secret there.
    pub client_secret: SecretString,
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
    expires_in: u64,
}

struct CachedToken {
    header: HeaderValue,
    renew_at: Duration,
}

/// The cache.
pub(crate) struct Tokens {
    transport: Arc<dyn Transport>,
    system: &'static str,
    credentials: ClientCredentials,
    scope: &'static str,
    timeout: Duration,
    clock: Arc<dyn Clock>,
    kept: Mutex<Option<CachedToken>>,
}

impl Tokens {
    /// No token yet. `scope` is what the tokens shall allow, separated by spaces; empty asks for nothing in
    /// particular.
    pub(crate) fn new(
        transport: Arc<dyn Transport>,
        system: &'static str,
        credentials: ClientCredentials,
        scope: &'static str,
        timeout: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { transport, system, credentials, scope, timeout, clock, kept: Mutex::new(None) }
    }

    /// The `Authorization` header. Whoever comes while one is fetched waits for that one.
    pub(crate) async fn authorization(&self) -> Result<HeaderValue, Error> {
        let mut kept = self.kept.lock().await;
        if let Some(good) = kept.as_ref().filter(|kept| self.clock.monotonic() < kept.renew_at) {
            return Ok(good.header.clone());
        }
        let fresh = self.fetch().await?;
        let header = fresh.header.clone();
        *kept = Some(fresh);
        Ok(header)
    }

    /// This token was refused: the next caller gets another one. One that was replaced meanwhile stays.
    pub(crate) async fn forget(&self, refused: &HeaderValue) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|kept| kept.header == *refused) {
            *kept = None;
        }
    }

    async fn fetch(&self) -> Result<CachedToken, Error> {
        let ClientCredentials { url, client_id, client_secret } = &self.credentials;
        let pair = STANDARD.encode(format!("{client_id}:{}", client_secret.expose_secret()));
        let mut basic = HeaderValue::try_from(format!("Basic {pair}")).map_err(|_| Error::Garbled)?;
        basic.set_sensitive(true);
        let mut form = "grant_type=client_credentials".to_owned();
        if !self.scope.is_empty() {
            form.push_str("&scope=");
            form.push_str(&self.scope.replace(':', "%3A").replace(' ', "+"));
        }
        let request = Request::post(url.at(&[]))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, basic)
            .body(Bytes::from(form))
            .expect("a checked address and checked headers make a request");
        let asked_at = self.clock.monotonic();
        let answer = self.transport.send(self.system, request, self.timeout).await.map_err(Error::Unreachable)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(Error::Denied(Answer::of(&answer)));
            }
            _ => return Err(Error::Busy(Answer::of(&answer))),
        }
        let granted: Granted = serde_json::from_slice(answer.body()).map_err(|_| Error::Garbled)?;
        let bearer = format!("Bearer {}", granted.access_token.expose_secret());
        let mut header = HeaderValue::try_from(bearer).map_err(|_| Error::Garbled)?;
        header.set_sensitive(true);
        Ok(CachedToken { header, renew_at: asked_at + Duration::from_secs(granted.expires_in).mul_f64(0.8) })
    }
}
