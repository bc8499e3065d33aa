//! A Kubernetes API over the port to the wire: what steps use.
//!
//! Steps must not talk to a cluster behind the engine's back: the flight recorder shows their calls, and
//! the failure matrix breaks each of them, because all of them go through one `Transport`. Objects are
//! plain JSON here; who wants a type reads one out of it. What an answer means is decided in this file.

mod client;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use slipway_model::{
    ports::{Transport, TransportError},
    time::{mins, secs},
};

pub use self::client::{ClientTransport, ConnectError, connect};

/// The longest a call may take; a server that needs longer is in trouble.
const TIMEOUT: Duration = secs(30);

/// A server may slow us down, but not put us to sleep.
const PAUSE_MAX: Duration = mins(5);

/// Why a call brought no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such object.
    #[error("there is no such object")]
    NotFound,
    /// The server does not serve this kind at all.
    #[error("the cluster does not know this kind of object")]
    NoKind,
    /// Somebody else was faster, or owns the field.
    #[error("another writer was faster: {0}")]
    Conflict(String),
    /// It will not do this, however often it is asked; the server's own word and sentence.
    #[error("the Kubernetes API refused the request: {message} ({reason})")]
    Refused {
        /// The machine's word.
        reason: String,
        /// In a sentence; it names the field.
        message: String,
    },
    /// It cannot do this now.
    #[error("the Kubernetes API is busy or broken: status {status}")]
    Busy {
        /// HTTP status.
        status: u16,
        /// How long it asks us to stay away.
        retry_after: Option<Duration>,
    },
    /// It answered something that is no object.
    #[error("the Kubernetes API answered something that is not an object")]
    Garbled,
    /// No answer came. For writes the effect is unknown.
    #[error("the Kubernetes API gave no answer")]
    Unreachable(#[source] TransportError),
}

impl Error {
    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Conflict(_) | Self::Busy { .. } | Self::Garbled | Self::Unreachable(_) => true,
            Self::NotFound | Self::NoKind | Self::Refused { .. } => false,
        }
    }

    /// How long to stay away: what was asked for, or else `usual`. A quarter is added, because pauses are
    /// varied by a fifth either way.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match self {
            Self::Busy { retry_after: Some(asked), .. } => asked.mul_f64(1.25),
            _ => usual,
        }
    }

    /// The server's own word, or ours: what goes into `error_reason`.
    pub fn reason(&self) -> &str {
        match self {
            Self::NotFound | Self::NoKind => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::Refused { reason, .. } => reason,
            Self::Busy { status: 429, .. } => "TooManyRequests",
            Self::Busy { .. } | Self::Garbled | Self::Unreachable(_) => "ServiceUnavailable",
        }
    }
}

/// A kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Plural, in lower case.
    pub plural: &'static str,
    /// Objects are in namespaces.
    pub namespaced: bool,
}

impl Kind {
    /// Namespaces.
    pub const NAMESPACE: Self = Self { group: "", version: "v1", plural: "namespaces", namespaced: false };
    /// Secrets.
    pub const SECRET: Self = Self { group: "", version: "v1", plural: "secrets", namespaced: true };
    /// Runtimes.
    pub const RUNTIME: Self =
        Self { group: crate::runtime::GROUP, version: "v1", plural: "runtimes", namespaced: true };
    /// Kymas of the Lifecycle Manager.
    pub const KYMA: Self =
        Self { group: "operator.kyma-project.io", version: "v1beta2", plural: "kymas", namespaced: true };
    /// The agent's connection.
    pub const COMPASS_CONNECTION: Self =
        Self { group: "compass.kyma-project.io", version: "v1alpha1", plural: "compassconnections", namespaced: false };

    fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            quote(namespace, &mut path);
        }
        path.push('/');
        path.push_str(self.plural);
        if !name.is_empty() {
            path.push('/');
            quote(name, &mut path);
        }
        path
    }
}

/// Names come from requests; none may leave its place in the path.
fn quote(name: &str, path: &mut String) {
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => path.push(char::from(byte)),
            b'.' if name != "." && name != ".." => path.push('.'),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// One cluster.
#[derive(Clone)]
pub struct Api {
    transport: Arc<dyn Transport>,
    system: &'static str,
    base: String,
}

impl Api {
    /// The cluster at the other end of this transport. `base` goes before every path; a transport that
    /// knows its own address needs none.
    pub fn new(transport: Arc<dyn Transport>, system: &'static str, base: &str) -> Self {
        Self { transport, system, base: base.trim_end_matches('/').to_owned() }
    }

    /// One object.
    pub async fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Result<Value, Error> {
        self.send(Method::GET, &kind.path(namespace, name), None).await
    }

    /// All objects of a kind, of one namespace or (empty) of all.
    pub async fn list(&self, kind: &Kind, namespace: &str) -> Result<Vec<Value>, Error> {
        let mut list = self.send(Method::GET, &kind.path(namespace, ""), None).await?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Err(Error::Garbled),
        }
    }

    /// Makes an object what it should be, as far as we write it: fields of others stay. Fields that others
    /// have taken from us are taken back.
    pub async fn apply(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        manager: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        let path = format!("{}?fieldManager={manager}&force=true", kind.path(namespace, name));
        self.send(Method::PATCH, &path, Some(("application/apply-patch+yaml", object))).await
    }

    /// The same for an object that is not there: no field of others is taken, so that one which somebody else made
    /// in this moment is a conflict and stays as it is.
    pub async fn apply_new(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        manager: &str,
        object: &Value,
    ) -> Result<Value, Error> {
        let path = format!("{}?fieldManager={manager}", kind.path(namespace, name));
        self.send(Method::PATCH, &path, Some(("application/apply-patch+yaml", object))).await
    }

    /// Changes the given fields of an object that is there.
    pub async fn merge(&self, kind: &Kind, namespace: &str, name: &str, patch: &Value) -> Result<Value, Error> {
        self.send(Method::PATCH, &kind.path(namespace, name), Some(("application/merge-patch+json", patch))).await
    }

    /// Asks for the end of an object; it may take its time.
    pub async fn delete(&self, kind: &Kind, namespace: &str, name: &str) -> Result<(), Error> {
        self.send(Method::DELETE, &kind.path(namespace, name), None).await.map(drop)
    }

    /// The same for this very object: another one of its name is a conflict and stays.
    pub async fn delete_exactly(&self, kind: &Kind, namespace: &str, name: &str, uid: &str) -> Result<(), Error> {
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid } });
        let body = Some(("application/json", &options));
        self.send(Method::DELETE, &kind.path(namespace, name), body).await.map(drop)
    }

    async fn send(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Value, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::ACCEPT, "application/json");
        let mut bytes = Bytes::new();
        if let Some((media, body)) = body {
            request = request.header(header::CONTENT_TYPE, media);
            bytes = body.to_string().into();
        }
        let request = request.body(bytes).map_err(|_| Error::Garbled)?;
        let answer = self.transport.send(self.system, request, TIMEOUT).await.map_err(Error::Unreachable)?;
        classify(&answer)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: String,
    message: String,
    reason: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    name: String,
}

/// What the server says, in plain text, at a path it does not serve.
const NO_PATH: &[u8] = b"404 page not found";

/// The table: what each status means. A 404 that names no object is about the kind; one that is not the
/// server's own is of somebody in between, and tells nothing. 401 and 403 may pass:
/// credentials are rotated, and rights arrive after the objects they are for.
fn classify(answer: &Response<Bytes>) -> Result<Value, Error> {
    let status = answer.status();
    if status.is_success() {
        let object: Value = serde_json::from_slice(answer.body()).map_err(|_| Error::Garbled)?;
        return if object.is_object() { Ok(object) } else { Err(Error::Garbled) };
    }
    let said: Status = serde_json::from_slice(answer.body()).unwrap_or_default();
    let is_status = said.kind == "Status";
    let refused = || Error::Refused {
        reason: if is_status { said.reason.clone() } else { format!("status {}", status.as_u16()) },
        message: if is_status { said.message.clone() } else { "no Kubernetes status".to_owned() },
    };
    let retry_after =
        answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let busy = || Error::Busy {
        status: status.as_u16(),
        retry_after: retry_after.map(|seconds| Duration::from_secs(seconds).min(PAUSE_MAX)),
    };
    Err(match status {
        StatusCode::NOT_FOUND if is_status && !said.details.name.is_empty() => Error::NotFound,
        StatusCode::NOT_FOUND if is_status || answer.body().trim_ascii() == NO_PATH => Error::NoKind,
        StatusCode::NOT_FOUND => Error::Garbled,
        StatusCode::CONFLICT => Error::Conflict(said.message.clone()),
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::GONE
        | StatusCode::TOO_MANY_REQUESTS => busy(),
        status if status.is_server_error() => busy(),
        _ => refused(),
    })
}
