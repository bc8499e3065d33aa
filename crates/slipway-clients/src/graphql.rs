//! What GraphQL services have in common: a query with variables in, `result` or errors out. Every query
//! calls its root field `result`.

use bytes::Bytes;
use http::Response;
use serde::{Deserialize, de::DeserializeOwned};

/// What a GraphQL service said.
pub(crate) enum Said<T, E> {
    /// What was asked for.
    Result(T),
    /// The first error, with the extensions that the service puts into its errors.
    Error(Problem<E>),
    /// Neither.
    Nothing,
}

/// An error in an answer.
#[derive(Deserialize)]
#[serde(bound = "E: DeserializeOwned + Default")]
pub(crate) struct Problem<E> {
    /// In a sentence.
    #[serde(default)]
    pub(crate) message: String,
    /// For machines.
    #[serde(default)]
    pub(crate) extensions: E,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned, E: DeserializeOwned + Default")]
struct Reply<T, E> {
    #[serde(default)]
    data: Option<Named<T>>,
    #[serde(default)]
    errors: Vec<Problem<E>>,
}

#[derive(Deserialize)]
struct Named<T> {
    result: Option<T>,
}

/// Reads an answer; one of another shape says nothing.
pub(crate) fn read<T: DeserializeOwned, E: DeserializeOwned + Default>(answer: &Response<Bytes>) -> Said<T, E> {
    let Ok(reply) = serde_json::from_slice::<Reply<T, E>>(answer.body()) else { return Said::Nothing };
    match (reply.errors.into_iter().next(), reply.data.and_then(|data| data.result)) {
        (Some(problem), _) => Said::Error(problem),
        (None, Some(result)) => Said::Result(result),
        (None, None) => Said::Nothing,
    }
}
