//! One call of an outside system, from the request to what its answer means.
//!
//! The table of statuses stands in `error.rs` and nowhere else: whoever calls learns whether to try again, to give
//! up, or that a thing is not there. A system whose errors say more (GraphQL codes, say) has an enum of its
//! own around [`Error`]; the others use [`Error`] as it is.

mod error;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, de::DeserializeOwned};
use slipway_model::ports::{Clock, Transport};

use self::error::classify;
pub use self::error::{Class, Error};
use crate::{
    answer::Answer,
    base_url::BaseUrl,
    connections::{ConnectionSettings, Credentials},
    oauth::Tokens,
    system::{Login, OutsideSystem},
};

/// The way to one system: its address, who we are there, and the wire. Clones are the same connection.
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    system: &'static OutsideSystem,
    transport: Arc<dyn Transport>,
    set_up: Option<SetUp>,
}

struct SetUp {
    url: BaseUrl,
    timeout: Duration,
    authorization: Authorization,
}

enum Authorization {
    None,
    Fixed(HeaderValue),
    Tokens(Tokens),
    /// The credentials cannot stand in a header, so no server would take them.
    Unusable,
}

impl Connection {
    /// To the system as it is set up; without settings every call says that it is not.
    pub fn new(
        system: &'static OutsideSystem,
        settings: Option<&ConnectionSettings>,
        transport: Arc<dyn Transport>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let set_up = settings.map(|ConnectionSettings { url, credentials, timeout, .. }| {
            let authorization = match credentials {
                Credentials::None => Authorization::None,
                Credentials::Basic { user, password } => basic(user, password),
                Credentials::Token(token) => bearer(token),
                Credentials::Client(client) => {
                    let scope = match system.login {
                        Login::ClientCredentials { scope } => scope,
                        Login::None | Login::Basic | Login::Token => "",
                    };
                    let tokens =
                        Tokens::new(transport.clone(), system.name, client.clone(), scope, *timeout, clock.clone());
                    Authorization::Tokens(tokens)
                }
            };
            SetUp { url: url.clone(), timeout: *timeout, authorization }
        });
        Self(Arc::new(Inner { system, transport, set_up }))
    }

    /// To a service of our own, by a token that does not end.
    pub(crate) fn to_ours(
        system: &'static OutsideSystem,
        transport: Arc<dyn Transport>,
        url: BaseUrl,
        token: Option<&SecretString>,
    ) -> Self {
        let authorization = token.map_or(Authorization::None, bearer);
        let set_up = Some(SetUp { url, timeout: system.timeout, authorization });
        Self(Arc::new(Inner { system, transport, set_up }))
    }

    /// The configuration names the system.
    pub fn is_set_up(&self) -> bool {
        self.0.set_up.is_some()
    }

    /// A call; nothing is sent yet.
    pub fn call<'a>(&'a self, method: Method, path: &'a [&'a str]) -> Call<'a> {
        Call { connection: self, method, path, query: &[], headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// An error of this system.
    pub(crate) fn error(&self, class: Class) -> Error {
        Error::new(self.0.system, class)
    }

    /// The answer, if it tells of success.
    pub(crate) fn succeed(&self, answer: Response<Bytes>) -> Result<Response<Bytes>, Error> {
        match classify(answer.status(), Answer::of(&answer)) {
            None => Ok(answer),
            Some(class) => Err(self.error(class)),
        }
    }

    async fn exchange(&self, call: Call<'_>) -> Result<Response<Bytes>, Error> {
        let Call { method, path, query, mut headers, body, .. } = call;
        let Some(SetUp { url, timeout, authorization }) = &self.0.set_up else {
            return Err(self.error(Class::NotSetUp));
        };
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let send = async |authorization: Option<&HeaderValue>| {
            let mut request = Request::new(body.clone());
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.with_query(path, query);
            *request.headers_mut() = headers.clone();
            if let Some(authorization) = authorization {
                request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
            }
            let answer = self.0.transport.send(self.0.system.name, request, *timeout).await;
            answer.map_err(|error| self.error(Class::Unreachable(error)))
        };
        let tokens = match authorization {
            Authorization::None => return send(None).await,
            Authorization::Fixed(header) => return send(Some(header)).await,
            Authorization::Unusable => {
                let answer = Answer { status: StatusCode::UNAUTHORIZED, retry_after: None };
                return Err(self.error(Class::Denied(answer)));
            }
            Authorization::Tokens(tokens) => tokens,
        };
        let no_token = |error| self.error(Class::NoToken(error));
        let token = tokens.authorization().await.map_err(no_token)?;
        let answer = send(Some(&token)).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        // It may have ended, or been taken back: one more try, with another.
        tokens.forget(&token).await;
        let token = tokens.authorization().await.map_err(no_token)?;
        send(Some(&token)).await
    }
}

fn basic(user: &str, password: &SecretString) -> Authorization {
    let pair = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
    fixed(&format!("Basic {pair}"))
}

fn bearer(token: &SecretString) -> Authorization {
    fixed(&format!("Bearer {}", token.expose_secret()))
}

fn fixed(text: &str) -> Authorization {
    match HeaderValue::try_from(text) {
        Ok(mut header) => {
            header.set_sensitive(true);
            Authorization::Fixed(header)
        }
        Err(_) => Authorization::Unusable,
    }
}

/// A call that is being put together.
#[must_use = "nothing is sent yet"]
pub struct Call<'a> {
    connection: &'a Connection,
    method: Method,
    path: &'a [&'a str],
    query: &'a [(&'a str, &'a str)],
    headers: HeaderMap,
    body: Bytes,
}

impl<'a> Call<'a> {
    /// With a query; names are ours, values are quoted.
    pub fn query(mut self, query: &'a [(&'a str, &'a str)]) -> Self {
        self.query = query;
        self
    }

    /// With a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// With this as JSON.
    pub fn json(mut self, body: &impl Serialize) -> Self {
        self.body = serde_json::to_vec(body).expect("what we send has texts for keys").into();
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self
    }

    /// Refuses to send a longer body than the system takes.
    pub fn at_most(self, limit: usize) -> Result<Self, Error> {
        match self.body.len() {
            length if length > limit => Err(self.connection.error(Class::TooLong { length, limit })),
            _ => Ok(self),
        }
    }

    /// Sends it and gives any answer back, whatever its status.
    pub(crate) async fn exchange(self) -> Result<Response<Bytes>, Error> {
        self.connection.exchange(self).await
    }

    /// Sends it; an answer without success is an error.
    pub async fn send(self) -> Result<Response<Bytes>, Error> {
        let connection = self.connection;
        connection.succeed(self.exchange().await?)
    }

    /// Sends it and reads the answer; `what` it is, for the message if it is something else.
    pub async fn read<T: DeserializeOwned>(self, what: &'static str) -> Result<T, Error> {
        let connection = self.connection;
        let answer = self.send().await?;
        serde_json::from_slice(answer.body()).map_err(|_| connection.error(Class::Garbled(what)))
    }
}
