//! The listener: GraphQL at `/graphql`, its explorer at `/`, and two pages for probes.
//!
//! Whatever is asked, the answer is JSON with `errors` in it, and its status tells a document that was
//! executed (200, errors of resolvers included) from one that was not (4xx). Every answer with an error
//! carries its code, because clients retry what has none.

mod explorer;
mod graphql;
mod socket;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};
use slipway_model::{OperationId, Reason, ports::StoreError};

pub use self::socket::Sockets;
use crate::{
    api::Api,
    errors::ApiError,
    graphql::{Schema, schema},
};

/// What the handlers share. Clones are the same.
#[derive(Clone)]
pub struct Listener {
    pub(crate) api: Arc<Api>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) sockets: Sockets,
}

impl Listener {
    /// Serves this API.
    pub fn new(api: Arc<Api>, sockets: Sockets) -> Self {
        let schema = Arc::new(schema(&api.settings));
        Self { api, schema, sockets }
    }
}

/// The service.
#[rustfmt::skip]
pub fn router(api: Arc<Api>, sockets: Sockets) -> Router {
    Router::new()
        .route("/graphql",         get(graphql::by_query).post(graphql::by_body))
        .route("/",                get(explorer::page))
        .route("/graphiql/{file}", get(explorer::file))
        .route("/healthz",         get(|| async { "ok" }))
        .route("/readyz",          get(readyz))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, &ApiError::bad(Reason::Validation, "there is nothing at this path; GraphQL is at /graphql")) })
        .method_not_allowed_fallback(|| async { refusal(StatusCode::METHOD_NOT_ALLOWED, &ApiError::bad(Reason::Validation, "this path is called with another method; the header Allow names it")) })
        .with_state(Listener::new(api, sockets))
}

/// Ready while the database answers: a row that cannot be there is asked for.
async fn readyz(State(listener): State<Listener>) -> Response {
    let nobody = OperationId::from(uuid::Uuid::nil());
    match listener.api.store.operation(nobody).await {
        Ok(_) | Err(StoreError::NotFound { .. }) => "ok".into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database cannot be reached").into_response()
        }
    }
}

/// An answer to a request that was not executed.
pub(crate) fn refusal(status: StatusCode, error: &ApiError) -> Response {
    answer(status, &json!({ "errors": [error_body(error)] }))
}

/// An error as it goes under `errors`.
pub(crate) fn error_body(error: &ApiError) -> Value {
    json!({ "message": error.message, "extensions": error.extensions() })
}

/// Always `application/json`: known clients know nothing else.
pub(crate) fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let challenge = axum::http::HeaderValue::from_static("Bearer realm=\"slipway\"");
        response.headers_mut().insert(axum::http::header::WWW_AUTHENTICATE, challenge);
    }
    response
}
