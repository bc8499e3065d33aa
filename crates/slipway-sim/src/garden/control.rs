//! The control API of a running garden: time, faults, the journal, and the state of Shoots.
//!
//! On a port of its own, on loopback alone, without authentication: whoever reaches it may do
//! everything anyway. Bodies and answers are JSON.
//!
//! | request | does |
//! |---|---|
//! | `GET /clock`, `POST /clock` `{"advanceSeconds": 60}`, `{"to": "..."}`, `{"scale": 600}`, `{"manual": true}`, `{"nextEvent": true}` | time |
//! | `GET /faults`, `POST /faults` (one [`Aimed`]), `DELETE /faults?shoot=namespace/name` | faults of lives |
//! | `POST /requests` (one [`RequestFault`]), `DELETE /requests` | faults of the API |
//! | `POST /scenario` (JSON or YAML, see [`Scenario`]) | plays it from now on |
//! | `GET /journal?since=n` | what happened |
//! | `GET /state`, `POST /state` (one [`State`](super::state::State)) | everything, with every Secret; and becoming it |
//! | `GET /shoots`, `POST /shoots/{namespace}/{name}/status` (merge patch) | states, and forcing them |

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, Query, State},
    http::StatusCode,
    routing::{get, post},
};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Garden,
    clock::Pace,
    engine::{
        faults::Aimed,
        port::{Port as _, SHOOTS},
    },
    requests::RequestFault,
    scenario::Scenario,
    state as garden,
    value::at,
};
use crate::listening::Listening;

impl Garden {
    /// Opens the control API on a free port of loopback.
    pub async fn control(self: &Arc<Self>) -> std::io::Result<Listening> {
        let control = Control { garden: self.clone(), requests: Arc::default() };
        let router = Router::new()
            .route("/clock", get(clock).post(set_clock))
            .route("/faults", get(faults).post(inject).delete(clear))
            .route("/requests", post(fail_requests).delete(heal_requests))
            .route("/scenario", post(scenario))
            .route("/journal", get(journal))
            .route("/state", get(state).post(become_state).layer(DefaultBodyLimit::disable()))
            .route("/shoots", get(shoots))
            .route("/shoots/{namespace}/{name}/status", post(force))
            .with_state(control);
        Listening::start(router).await
    }
}

#[derive(Clone)]
struct Control {
    garden: Arc<Garden>,
    requests: Arc<Mutex<Vec<RequestFault>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Time {
    advance_seconds: Option<i64>,
    to: Option<Timestamp>,
    scale: Option<f64>,
    manual: Option<bool>,
    next_event: Option<bool>,
}

async fn clock(State(control): State<Control>) -> Json<Value> {
    let clock = control.garden.clock();
    let pace = match clock.pace() {
        Pace::Scale(scale) => json!(scale),
        Pace::Manual => json!("manual"),
    };
    Json(json!({"now": clock.now().to_string(), "pace": pace}))
}

async fn set_clock(State(control): State<Control>, Json(time): Json<Time>) -> Json<Value> {
    let clock = control.garden.clock();
    if let Some(scale) = time.scale.filter(|scale| *scale > 0.0) {
        clock.set_pace(Pace::Scale(scale));
    }
    if time.manual == Some(true) {
        clock.set_pace(Pace::Manual);
    }
    if let Some(seconds) = time.advance_seconds {
        clock.advance(SignedDuration::from_secs(seconds.max(0)));
    }
    if let Some(to) = time.to {
        clock.advance_to(to);
    }
    if time.next_event == Some(true) {
        control.garden.step().await;
    }
    control.garden.journal().record(clock.now(), "clock", "", Value::Null);
    self::clock(State(control)).await
}

async fn faults(State(control): State<Control>) -> Json<Value> {
    Json(json!(control.garden.faults()))
}

async fn inject(State(control): State<Control>, Json(fault): Json<Aimed>) -> StatusCode {
    control.garden.inject(fault);
    StatusCode::CREATED
}

#[derive(Deserialize)]
struct Which {
    #[serde(default)]
    shoot: String,
    #[serde(default)]
    since: u64,
}

async fn clear(State(control): State<Control>, Query(which): Query<Which>) -> StatusCode {
    control.garden.clear_faults(&which.shoot);
    StatusCode::NO_CONTENT
}

async fn fail_requests(State(control): State<Control>, Json(fault): Json<RequestFault>) -> StatusCode {
    let all = {
        let mut all = control.requests.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(fault);
        all.clone()
    };
    control.garden.fail_requests(all);
    StatusCode::CREATED
}

async fn heal_requests(State(control): State<Control>) -> StatusCode {
    control.requests.lock().unwrap_or_else(PoisonError::into_inner).clear();
    control.garden.fail_requests(Vec::new());
    StatusCode::NO_CONTENT
}

async fn scenario(State(control): State<Control>, text: String) -> Result<StatusCode, (StatusCode, String)> {
    let scenario = Scenario::parse(&text).map_err(|error| (StatusCode::BAD_REQUEST, error))?;
    // It plays by itself; it ends with its last entry or with the process.
    drop(control.garden.play(scenario));
    Ok(StatusCode::CREATED)
}

async fn journal(State(control): State<Control>, Query(which): Query<Which>) -> Json<Value> {
    Json(json!(control.garden.journal().since(which.since)))
}

async fn state(State(control): State<Control>) -> Json<garden::State> {
    Json(control.garden.export())
}

async fn become_state(
    State(control): State<Control>,
    Json(state): Json<garden::State>,
) -> Result<StatusCode, (StatusCode, String)> {
    // A task of its own: whoever hangs up in the middle must not leave half a garden with a clock that stands.
    let became = tokio::spawn(async move { control.garden.import(&state).await }).await;
    match became {
        Ok(Ok(())) => Ok(StatusCode::NO_CONTENT),
        Ok(Err(error)) => Err((StatusCode::BAD_REQUEST, error)),
        Err(died) => Err((StatusCode::INTERNAL_SERVER_ERROR, died.to_string())),
    }
}

async fn shoots(State(control): State<Control>) -> Json<Value> {
    let told = |shoot: &Value| {
        json!({"namespace": at(shoot, "metadata.namespace"), "name": at(shoot, "metadata.name"),
            "generation": at(shoot, "metadata.generation"), "lastOperation": at(shoot, "status.lastOperation")})
    };
    Json(control.garden.shoots().iter().map(told).collect())
}

async fn force(
    State(control): State<Control>,
    Path((namespace, name)): Path<(String, String)>,
    Json(patch): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let patched = control.garden.cluster().patch(SHOOTS, &namespace, &name, "status", json!({ "status": patch })).await;
    match patched {
        Ok(shoot) => (StatusCode::OK, Json(at(&shoot, "status").clone())),
        Err(status) => (StatusCode::from_u16(status.code).unwrap_or(StatusCode::BAD_REQUEST), Json(status.to_json())),
    }
}
