//! The HTTP API: one row per endpoint, one file per resource.
//!
//! Whoever adds a row decides who may call it; a test walks the table and makes sure that nothing
//! answers without a token except what is marked [`Access::Open`].

mod actions;
mod api;
mod auth;
mod events;
mod health;
mod input;
mod metrics;
mod operations;
mod problem;
mod records;
mod view;
mod wake;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::Method,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use slipway_model::time::secs;

pub use api::Api;
pub(crate) use api::Startable;
use problem::Problem;

/// Bodies are a few names and sentences; secrets of an operation may add a kubeconfig or two.
const BODY_MAX: usize = 64 * 1024;

/// A request that has taken this long is given up. The stores give up earlier; this is the net.
const REQUEST_MAX: std::time::Duration = secs(30);

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody who reaches the port.
    Open,
    /// Whoever has the token.
    Token,
}

/// One endpoint.
pub struct Endpoint {
    /// Method.
    pub method: Method,
    /// Path, with `{id}` for a name.
    pub path: &'static str,
    /// Who may call.
    pub access: Access,
    handler: fn() -> MethodRouter<Api>,
}

const fn row(method: Method, path: &'static str, access: Access, handler: fn() -> MethodRouter<Api>) -> Endpoint {
    Endpoint { method, path, access, handler }
}

/// Every endpoint.
#[rustfmt::skip]
pub static ENDPOINTS: &[Endpoint] = &[
    row(Method::GET,  "/livez",                   Access::Open,  || get(health::livez)),
    row(Method::GET,  "/readyz",                  Access::Open,  || get(health::readyz)),
    row(Method::GET,  "/metrics",                 Access::Open,  || get(metrics::page)),
    row(Method::GET,  "/operations",              Access::Token, || get(operations::list)),
    row(Method::POST, "/operations",              Access::Token, || post(operations::start)),
    row(Method::GET,  "/operations/{id}",         Access::Token, || get(operations::show)),
    row(Method::GET,  "/operations/{id}/records", Access::Token, || get(records::list)),
    row(Method::POST, "/operations/{id}/actions", Access::Token, || post(actions::act)),
    row(Method::GET,  "/events",                  Access::Token, || get(events::list)),
    row(Method::POST, "/wake",                    Access::Token, || post(wake::wake)),
];

/// The service of the whole table.
pub fn router(api: Api) -> Router {
    let mut router = Router::new();
    for endpoint in ENDPOINTS {
        let handler = match endpoint.access {
            Access::Open => (endpoint.handler)(),
            Access::Token => {
                (endpoint.handler)().layer(middleware::from_fn_with_state(api.clone(), auth::require_token))
            }
        };
        router = router.route(endpoint.path, handler);
    }
    router
        .fallback(|| async { Problem::NotFound("there is no such endpoint".to_owned()) })
        .method_not_allowed_fallback(|| async { Problem::NoSuchMethod })
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(api.clone(), give_up_in_time))
        .with_state(api)
}

async fn give_up_in_time(State(api): State<Api>, request: Request, next: Next) -> Response {
    tokio::select! {
        biased;
        answer = next.run(request) => answer,
        () = api.clock().sleep(REQUEST_MAX) => {
            let said = "the request took too long and was given up; it may have had its effect, and may be repeated";
            Problem::Unavailable(said.to_owned()).into_response()
        }
    }
}
