//! What every simulated system has: faults at will, a memory of wrong requests, and a refusal of whatever it
//! does not know.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{
    Json, Router,
    extract::Request,
    middleware,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::dial::{Dial, misbehave};

/// The front desk of a system. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Desk {
    dial: Dial,
    complaints: Shared<Vec<String>>,
}

impl Desk {
    /// Its faults.
    pub fn dial(&self) -> &Dial {
        &self.dial
    }

    /// Requests that were wrong. A test that ends with any has found a fault of the client.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().clone()
    }

    /// Remembers what was wrong with a request.
    pub(super) fn note(&self, what: impl IntoIterator<Item = String>) {
        self.complaints.lock().extend(what);
    }

    /// Remembers it, and refuses the request.
    pub(super) fn complain(&self, status: StatusCode, what: String) -> Response {
        let answer = (status, Json(json!({ "error": what }))).into_response();
        self.note([what]);
        answer
    }

    /// The body, which must be sent as JSON and have no field that `T` does not know.
    pub(super) fn parse_body<T: DeserializeOwned>(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        what: &str,
    ) -> Result<T, Box<Response>> {
        let is_json = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        match serde_json::from_slice(body) {
            Ok(read) if is_json => Ok(read),
            Ok(_) => Err(Box::new(self.complain(StatusCode::BAD_REQUEST, format!("{what} is sent as JSON")))),
            Err(error) => Err(Box::new(self.complain(StatusCode::BAD_REQUEST, format!("this is not {what}: {error}")))),
        }
    }

    /// The service: these routes, a refusal of all others, and the faults around them.
    pub(super) fn serve(&self, routes: Router) -> Router {
        let refuse = {
            let desk = self.clone();
            move |request: Request| {
                let what = format!("there is no {} {}", request.method(), request.uri().path());
                let answer = desk.complain(StatusCode::BAD_REQUEST, what);
                async { answer }
            }
        };
        routes
            .fallback(refuse.clone())
            .method_not_allowed_fallback(refuse)
            .layer(middleware::from_fn_with_state(self.dial.clone(), misbehave))
    }
}

/// State that the clones of a simulator share.
#[derive(Debug, Default)]
pub(super) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    pub(super) fn new(state: T) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
