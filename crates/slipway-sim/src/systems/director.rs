//! The Director: the registry of runtimes, GraphQL over HTTP with bearer tokens.
//!
//! `POST /graphql` takes `{"query", "variables"}` and the header `Tenant`; `POST /oauth2/token` gives
//! the token that `/graphql` wants. Names are unique in a tenant, one-time tokens open once and for five
//! minutes. A request that does not fit the schema is refused with 422 and remembered as a complaint;
//! errors of the registry come with status 200 and a code, as the real one has it.

mod graphql;
mod registry;
mod schema;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Request, State},
    middleware,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::registry::{Connection, Redeemed, Runtime};
use self::registry::{Problem, Registry};
use super::oauth::{Denied, Tokens};
use crate::{
    dial::{Dial, misbehave},
    kept,
    listening::Listening,
};

/// Where agents take their one-time tokens to.
pub const CONNECTOR_URL: &str = "https://connector.director.example.com/graphql";

/// The simulator. Clones are the same system.
#[derive(Debug, Clone)]
pub struct Director {
    inner: Arc<Mutex<Inner>>,
    dial: Dial,
}

#[derive(Debug)]
struct Inner {
    tokens: Tokens,
    registry: Registry,
    complaints: Vec<String>,
    file: Option<PathBuf>,
}

impl Inner {
    fn save(&self) {
        if let Some(file) = &self.file {
            kept::save(file, &self.registry);
        }
    }
}

impl Default for Director {
    fn default() -> Self {
        let inner = Inner {
            tokens: Tokens::new("slipway", "director-secret", &[schema::READ, schema::WRITE]),
            registry: Registry::default(),
            complaints: Vec::new(),
            file: None,
        };
        Self { inner: Arc::new(Mutex::new(inner)), dial: Dial::default() }
    }
}

impl Director {
    /// Its HTTP service.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/graphql", post(graphql_request))
            .route("/oauth2/token", post(token))
            .fallback(refuse)
            .method_not_allowed_fallback(refuse)
            .layer(middleware::from_fn_with_state(self.dial.clone(), misbehave))
            .with_state(self.clone())
    }

    /// Serves it on a free port.
    pub async fn listen(&self) -> io::Result<Listening> {
        Listening::start(self.router()).await
    }

    /// Its faults.
    pub fn dial(&self) -> &Dial {
        &self.dial
    }

    /// Keeps its registrations and connections in this file from now on, beginning with what is there.
    pub fn keep_in(&self, file: PathBuf) {
        let mut inner = self.inner();
        if let Some(registry) = kept::load(&file) {
            inner.registry = registry;
        }
        inner.file = Some(file);
    }

    /// Id and secret of the one client it knows.
    pub fn client(&self) -> (String, String) {
        self.inner().tokens.client()
    }

    /// All bearer tokens given out so far are worth nothing any more.
    pub fn expire_tokens(&self) {
        self.inner().tokens.revoke();
    }

    /// From now on other tenants are unknown. Before, every tenant is known.
    pub fn know_only(&self, tenants: &[&str]) {
        self.inner().registry.known = Some(tenants.iter().map(|tenant| (*tenant).to_owned()).collect());
    }

    /// All registered runtimes, in the order they came.
    pub fn runtimes(&self) -> Vec<Runtime> {
        self.inner().registry.runtimes.clone()
    }

    /// Registers a runtime as somebody else would; answers its id.
    pub fn register(&self, tenant: &str, name: &str, labels: Value) -> String {
        let input = json!({ "name": name, "labels": labels });
        self.inner().registry.register(tenant, &input).expect("a good name that is free")
    }

    /// Registers a runtime under an id of one's choice: what is there before a story begins.
    pub fn adopt(&self, id: &str, tenant: &str, name: &str, labels: Value) {
        let mut inner = self.inner();
        let drawn = inner.registry.register(tenant, &json!({ "name": name, "labels": labels })).expect("a free name");
        if let Some(runtime) = inner.registry.runtimes.iter_mut().find(|runtime| runtime.id == drawn) {
            id.clone_into(&mut runtime.id);
        }
    }

    /// Takes a registration away, as an operator of the Director would.
    pub fn forget(&self, id: &str) -> bool {
        let mut inner = self.inner();
        let was_there = inner.registry.unregister(id);
        inner.save();
        was_there
    }

    /// Draws a one-time token as an operator would.
    pub fn draw_token(&self, id: &str) -> String {
        self.inner().registry.draw_token(id)
    }

    /// An agent brings its one-time token.
    pub fn redeem(&self, token: &str, runtime_id: &str) -> Redeemed {
        let mut inner = self.inner();
        let redeemed = inner.registry.redeem(token, runtime_id);
        inner.save();
        redeemed
    }

    /// Whether this connection of an agent is still good.
    pub fn is_connected(&self, connection: &str) -> bool {
        self.inner().registry.connections.iter().any(|known| known.id == connection)
    }

    /// The connections of agents.
    pub fn connections(&self) -> Vec<Connection> {
        self.inner().registry.connections.clone()
    }

    /// How many one-time tokens wait to be used.
    pub fn open_tokens(&self) -> usize {
        self.inner().registry.open_tokens()
    }

    /// Requests that were wrong. A test that ends with any has found a fault of the client.
    pub fn complaints(&self) -> Vec<String> {
        self.inner().complaints.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, status: StatusCode, what: String) -> Response {
        self.inner().complaints.push(what.clone());
        (status, Json(json!({ "errors": [{ "message": what }], "data": null }))).into_response()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    query: String,
    #[serde(default)]
    variables: Map<String, Value>,
}

async fn token(State(director): State<Director>, headers: HeaderMap, body: Bytes) -> Response {
    let mut inner = director.inner();
    let (answer, complaint) = inner.tokens.issue(&headers, &body);
    inner.complaints.extend(complaint);
    answer
}

async fn graphql_request(State(director): State<Director>, headers: HeaderMap, body: Bytes) -> Response {
    let unauthorized =
        |director: &Director| director.inner().tokens.check(&headers, schema::READ) == Err(Denied::Unknown);
    if unauthorized(&director) {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": "unauthorized" }))).into_response();
    }
    let json = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let body = match serde_json::from_slice::<Body>(&body) {
        Ok(body) if json => body,
        Ok(_) => return director.complain(StatusCode::BAD_REQUEST, "a query is sent as JSON".to_owned()),
        Err(error) => return director.complain(StatusCode::BAD_REQUEST, format!("no query: {error}")),
    };
    let asked = graphql::parse(&body.query).and_then(|document| schema::check(document, body.variables));
    let asked = match asked {
        Ok(asked) => asked,
        Err(what) => return director.complain(StatusCode::UNPROCESSABLE_ENTITY, what),
    };
    let tenant = headers.get("tenant").and_then(|tenant| tenant.to_str().ok()).unwrap_or_default();
    let mut inner = director.inner();
    let allowed = inner.tokens.check(&headers, asked.root.scope);
    let done = match allowed {
        Err(_) => Err(Problem::InsufficientScopes),
        Ok(()) => inner.registry.answer(tenant, &asked),
    };
    if asked.root.scope == schema::WRITE {
        inner.save();
    }
    match done {
        Ok(value) => Json(json!({ "data": { asked.alias: value } })).into_response(),
        Err(problem) => Json(problem.to_json(&asked.alias)).into_response(),
    }
}

async fn refuse(State(director): State<Director>, request: Request) -> Response {
    director.complain(StatusCode::BAD_REQUEST, format!("there is no {} {}", request.method(), request.uri().path()))
}
