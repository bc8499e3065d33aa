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

use std::{ops::Deref, path::PathBuf};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::registry::{Connection, Redeemed, Runtime};
use self::registry::{Problem, Registry};
use super::{
    Entrance, EntranceLogin,
    desk::{Desk, Shared},
    oauth::{Denied, Tokens},
};
use crate::kept;

/// Where agents take their one-time tokens to.
pub const CONNECTOR_URL: &str = "https://connector.director.example.com/graphql";

/// The simulator. Clones are the same system.
#[derive(Debug, Clone)]
pub struct Director {
    desk: Desk,
    inner: Shared<Inner>,
}

impl Deref for Director {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

#[derive(Debug)]
struct Inner {
    tokens: Tokens,
    registry: Registry,
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
            file: None,
        };
        Self { desk: Desk::default(), inner: Shared::new(inner) }
    }
}

impl Director {
    /// Its HTTP service.
    pub fn router(&self) -> Router {
        let routes = Router::new()
            .route("/graphql", post(graphql_request))
            .route("/oauth2/token", post(token))
            .with_state(self.clone());
        self.serve(routes)
    }

    /// Keeps its registrations and connections in this file from now on, beginning with what is there.
    pub fn keep_in(&self, file: PathBuf) {
        let mut inner = self.inner.lock();
        if let Some(registry) = kept::load(&file) {
            inner.registry = registry;
        }
        inner.file = Some(file);
    }

    /// Id and secret of the one client it knows.
    pub fn client(&self) -> (String, String) {
        self.inner.lock().tokens.client()
    }

    /// What its client must be told.
    pub fn entrance(&self) -> Entrance {
        let (id, secret) = self.client();
        Entrance { path: "/graphql", login: EntranceLogin::Client { token_path: "/oauth2/token", id, secret } }
    }

    /// All bearer tokens given out so far are worth nothing any more.
    pub fn expire_tokens(&self) {
        self.inner.lock().tokens.revoke();
    }

    /// From now on other tenants are unknown. Before, every tenant is known.
    pub fn know_only(&self, tenants: &[&str]) {
        self.inner.lock().registry.known = Some(tenants.iter().map(|tenant| (*tenant).to_owned()).collect());
    }

    /// All registered runtimes, in the order they came.
    pub fn runtimes(&self) -> Vec<Runtime> {
        self.inner.lock().registry.runtimes.clone()
    }

    /// Registers a runtime as somebody else would; answers its id.
    pub fn register(&self, tenant: &str, name: &str, labels: Value) -> String {
        let input = json!({ "name": name, "labels": labels });
        self.inner.lock().registry.register(tenant, &input).expect("a good name that is free")
    }

    /// Registers a runtime under an id of one's choice: what is there before a story begins.
    pub fn adopt(&self, id: &str, tenant: &str, name: &str, labels: Value) {
        let mut inner = self.inner.lock();
        let drawn = inner.registry.register(tenant, &json!({ "name": name, "labels": labels })).expect("a free name");
        if let Some(runtime) = inner.registry.runtimes.iter_mut().find(|runtime| runtime.id == drawn) {
            id.clone_into(&mut runtime.id);
        }
    }

    /// Takes a registration away, as an operator of the Director would.
    pub fn forget(&self, id: &str) -> bool {
        let mut inner = self.inner.lock();
        let was_there = inner.registry.unregister(id);
        inner.save();
        was_there
    }

    /// Draws a one-time token as an operator would.
    pub fn draw_token(&self, id: &str) -> String {
        self.inner.lock().registry.draw_token(id)
    }

    /// An agent brings its one-time token.
    pub fn redeem(&self, token: &str, runtime_id: &str) -> Redeemed {
        let mut inner = self.inner.lock();
        let redeemed = inner.registry.redeem(token, runtime_id);
        inner.save();
        redeemed
    }

    /// Whether this connection of an agent is still good.
    pub fn is_connected(&self, connection: &str) -> bool {
        self.inner.lock().registry.connections.iter().any(|known| known.id == connection)
    }

    /// The connections of agents.
    pub fn connections(&self) -> Vec<Connection> {
        self.inner.lock().registry.connections.clone()
    }

    /// How many one-time tokens wait to be used.
    pub fn open_tokens(&self) -> usize {
        self.inner.lock().registry.open_tokens()
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
    let (answer, complaint) = director.inner.lock().tokens.issue(&headers, &body);
    director.note(complaint);
    answer
}

async fn graphql_request(State(director): State<Director>, headers: HeaderMap, body: Bytes) -> Response {
    let unauthorized =
        |director: &Director| director.inner.lock().tokens.check(&headers, schema::READ) == Err(Denied::Unknown);
    if unauthorized(&director) {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": "unauthorized" }))).into_response();
    }
    let body: Body = match director.parse_body(&headers, &body, "a query") {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let asked = graphql::parse(&body.query).and_then(|document| schema::check(document, body.variables));
    let asked = match asked {
        Ok(asked) => asked,
        Err(what) => return director.complain(StatusCode::UNPROCESSABLE_ENTITY, what),
    };
    let tenant = headers.get("tenant").and_then(|tenant| tenant.to_str().ok()).unwrap_or_default();
    let mut inner = director.inner.lock();
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
