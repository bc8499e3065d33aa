//! The client of our own operator API, for the command line and whoever else stands outside.

pub mod wire;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use secrecy::SecretString;
use serde::{Serialize, de::DeserializeOwned};
use slipway_model::{
    ports::{Transport, TransportError},
    time::secs,
};

use crate::{
    base_url::BaseUrl,
    call::{Call, Class, Connection},
    system::{Breaker, Login, OutsideSystem},
};
use wire::{Act, Operation, OperationDetails, OperationList, Problem, RecordList, StartOperation, Wake, Woken};

/// The server a command talks to; given by its flags, so it is not in the table.
static SERVER: OutsideSystem = OutsideSystem {
    name: "slipway",
    title: "the server",
    about: "the operator API",
    used_by: &[],
    login: Login::Token,
    timeout: secs(35), // it gives up a request of its own after 30 s; a little more, so that its answer is read
    in_flight: 1,
    breaker: Breaker::NEVER,
};

/// Why a call brought no result. The descriptions are the server's own sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The token is not the server's.
    #[error("the server does not accept the token; give the right token file")]
    Unauthorized,
    /// The request is wrong, or contradicts what is stored.
    #[error("{0}")]
    Refused(String),
    /// The server cannot do this now.
    #[error("{0}")]
    Unavailable(String),
    /// Something else answers there.
    #[error("the answer (status {0}) is not from a Slipway of this kind; check the address")]
    Garbled(u16),
    /// No answer came.
    #[error("{0}; check the address and that the server runs")]
    Unreachable(TransportError),
}

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only in these states, separated by commas.
    pub state: Option<String>,
    /// Only of this instance.
    pub instance_id: Option<String>,
    /// Only those before this one.
    pub before: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

/// The client.
#[derive(Clone)]
pub struct Client(Connection);

impl Client {
    /// A client of the server at this address.
    pub fn new(transport: Arc<dyn Transport>, base: BaseUrl, token: SecretString) -> Self {
        Self(Connection::to_ours(&SERVER, transport, base, Some(&token)))
    }

    /// `GET /operations`.
    pub async fn operations(&self, filter: &Filter) -> Result<OperationList, Error> {
        let Filter { state, instance_id, before, limit } = filter;
        let query = [
            ("state", state.clone()),
            ("instance_id", instance_id.clone()),
            ("before", before.clone()),
            ("limit", limit.map(|limit| limit.to_string())),
        ];
        self.get(&["operations"], &query).await
    }

    /// `GET /operations/{id}`.
    pub async fn operation(&self, id: &str) -> Result<OperationDetails, Error> {
        self.get(&["operations", id], &[]).await
    }

    /// `GET /operations/{id}/records`.
    pub async fn records(&self, id: &str, after: u64, limit: Option<usize>) -> Result<RecordList, Error> {
        let query = [("after", Some(after.to_string())), ("limit", limit.map(|limit| limit.to_string()))];
        self.get(&["operations", id, "records"], &query).await
    }

    /// `POST /operations`.
    pub async fn start(&self, new: &StartOperation) -> Result<Operation, Error> {
        self.post(&["operations"], new).await
    }

    /// `POST /operations/{id}/actions`.
    pub async fn act(&self, id: &str, act: &Act) -> Result<Operation, Error> {
        self.post(&["operations", id, "actions"], act).await
    }

    /// `POST /wake`.
    pub async fn wake(&self, wake: &Wake) -> Result<Woken, Error> {
        self.post(&["wake"], wake).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str], query: &[(&str, Option<String>)]) -> Result<T, Error> {
        let query: Vec<_> = query.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        read(self.0.call(Method::GET, path).query(&query)).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T, Error> {
        read(self.0.call(Method::POST, path).json(body)).await
    }
}

async fn read<T: DeserializeOwned>(call: Call<'_>) -> Result<T, Error> {
    let answer = call.exchange().await.map_err(|error| match error.class() {
        Class::Unreachable(error) => Error::Unreachable(error.clone()),
        // A token that cannot stand in a header; nothing else goes wrong before there is an answer.
        _ => Error::Unauthorized,
    })?;
    let answer = classify(answer)?;
    serde_json::from_slice(answer.body()).map_err(|_| Error::Garbled(answer.status().as_u16()))
}

/// The table: what each status means.
fn classify(answer: Response<Bytes>) -> Result<Response<Bytes>, Error> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    if status == StatusCode::UNAUTHORIZED {
        return Err(Error::Unauthorized);
    }
    let said = serde_json::from_slice::<Problem>(answer.body()).map(|problem| problem.description);
    let Ok(said) = said else { return Err(Error::Garbled(status.as_u16())) };
    Err(match status {
        StatusCode::NOT_FOUND => Error::NotFound(said),
        status if status.is_server_error() => Error::Unavailable(said),
        _ => Error::Refused(said),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(status: u16, body: &'static str) -> Result<Response<Bytes>, Error> {
        let answer = Response::builder().status(status).body(Bytes::from_static(body.as_bytes()));
        classify(answer.expect("response"))
    }

    #[test]
    fn each_status_has_its_meaning_and_the_servers_sentence_is_kept() {
        let said = r#"{"error": "x", "description": "because"}"#;
        assert!(after(200, "").is_ok() && after(202, "").is_ok());
        for (status, error) in [
            (401, Error::Unauthorized),
            (404, Error::NotFound("because".to_owned())),
            (400, Error::Refused("because".to_owned())),
            (409, Error::Refused("because".to_owned())),
            (500, Error::Unavailable("because".to_owned())),
            (503, Error::Unavailable("because".to_owned())),
        ] {
            assert_eq!(after(status, said).expect_err("an error"), error, "{status}");
        }
        assert_eq!(after(502, "<html>").expect_err("an error"), Error::Garbled(502));
        assert_eq!(after(301, "").expect_err("an error"), Error::Garbled(301));
    }
}
