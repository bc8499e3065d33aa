//! The Reconciler (mothership): keeps Kyma in clusters as configured, REST and JSON.
//!
//! Versions of configurations count up over all clusters; the same content again keeps its versions and
//! starts another run. A run takes its time on the runtime's own clock: pending, reconciling, ready; a
//! script makes it stumble or fail. A wrong field, a missing one, a duplicate component or a kubeconfig
//! that is none is refused and remembered as a complaint.

mod cluster;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use self::cluster::Script;
use self::{cluster::Cluster, wire::Payload};
use crate::{
    dial::{Dial, misbehave},
    kept,
    listening::Listening,
};

/// The server takes no longer body.
const BODY_MAX: usize = 100_000;

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Until a run begins.
    pub pending: Duration,
    /// A run, and also a removal.
    pub reconciling: Duration,
}

impl Pace {
    /// As the real one: two minutes and ten.
    pub const USUAL: Self = Self { pending: Duration::from_secs(120), reconciling: Duration::from_secs(600) };
    /// At once.
    pub const NONE: Self = Self { pending: Duration::ZERO, reconciling: Duration::ZERO };
}

/// The simulator. Clones are the same system.
#[derive(Debug, Clone)]
pub struct Reconciler {
    inner: Arc<Mutex<Inner>>,
    dial: Dial,
}

#[derive(Debug)]
struct Inner {
    pace: Pace,
    versions: i64,
    clusters: BTreeMap<String, Cluster>,
    scripts: BTreeMap<String, Script>,
    complaints: Vec<String>,
    file: Option<PathBuf>,
}

/// What is kept on disk.
#[derive(Serialize, Deserialize)]
struct Saved<C> {
    versions: i64,
    clusters: C,
}

impl Inner {
    fn save(&self) {
        if let Some(file) = &self.file {
            kept::save(file, &Saved { versions: self.versions, clusters: &self.clusters });
        }
    }
}

impl Default for Reconciler {
    fn default() -> Self {
        let (clusters, scripts) = (BTreeMap::new(), BTreeMap::new());
        let inner = Inner { pace: Pace::USUAL, versions: 0, clusters, scripts, complaints: Vec::new(), file: None };
        Self { inner: Arc::new(Mutex::new(inner)), dial: Dial::default() }
    }
}

impl Reconciler {
    /// Its HTTP service.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/v1/clusters", post(put_cluster).put(put_cluster))
            .route("/v1/clusters/{id}", axum::routing::delete(delete_cluster))
            .route("/v1/clusters/{id}/status", get(latest).put(put_status))
            .route("/v1/clusters/{id}/configs/{version}/status", get(of_version))
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

    /// Keeps its clusters in this file from now on, beginning with what is there. Runs begin anew.
    pub fn keep_in(&self, file: PathBuf) {
        let mut inner = self.inner();
        if let Some(state) = kept::load::<Saved<BTreeMap<String, Cluster>>>(&file) {
            (inner.versions, inner.clusters) = (state.versions, state.clusters);
        }
        inner.file = Some(file);
    }

    /// Sets how long things take.
    pub fn set_pace(&self, pace: Pace) {
        self.inner().pace = pace;
    }

    /// What becomes of the runs of one runtime.
    pub fn script(&self, runtime_id: &str, script: Script) {
        self.inner().scripts.insert(runtime_id.to_owned(), script);
    }

    /// The clusters it keeps, by runtime id, with their present status.
    pub fn clusters(&self) -> Vec<(String, &'static str)> {
        let inner = self.inner();
        inner.clusters.iter().filter_map(|(id, cluster)| Some((id.clone(), cluster.status(inner.pace)?))).collect()
    }

    /// The components configured for a runtime, in order.
    pub fn components(&self, runtime_id: &str) -> Vec<String> {
        let inner = self.inner();
        let kept = inner.clusters.get(runtime_id);
        kept.map(|cluster| cluster.payload.components().map(ToOwned::to_owned).collect()).unwrap_or_default()
    }

    /// Kyma's version configured for a runtime.
    pub fn kyma_version(&self, runtime_id: &str) -> Option<String> {
        self.inner().clusters.get(runtime_id).map(|cluster| cluster.payload.kyma_config.version.clone())
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
        (status, Json(json!({ "error": what }))).into_response()
    }

    /// The answer about one cluster, of its newest version or of that one.
    fn tell(&self, id: &str, version: Option<i64>) -> Response {
        let mut inner = self.inner();
        let pace = inner.pace;
        let found = inner.clusters.get_mut(id).and_then(|cluster| cluster.describe(id, version, pace));
        match found {
            Some(answer) => Json(answer).into_response(),
            None => (StatusCode::NOT_FOUND, Json(json!({ "error": "cluster not found" }))).into_response(),
        }
    }
}

async fn put_cluster(State(reconciler): State<Reconciler>, headers: HeaderMap, body: Bytes) -> Response {
    if body.len() > BODY_MAX {
        return reconciler.complain(StatusCode::PAYLOAD_TOO_LARGE, format!("{} bytes are too many", body.len()));
    }
    let json = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let payload = match serde_json::from_slice::<Payload>(&body) {
        Ok(payload) if json => payload,
        Ok(_) => return reconciler.complain(StatusCode::BAD_REQUEST, "a cluster is sent as JSON".to_owned()),
        Err(error) => return reconciler.complain(StatusCode::BAD_REQUEST, format!("no cluster: {error}")),
    };
    if let Err(what) = payload.check() {
        return reconciler.complain(StatusCode::BAD_REQUEST, what);
    }
    let open = payload.open_secrets();
    let id = payload.runtime_id.clone();
    {
        let mut inner = reconciler.inner();
        inner.complaints.extend(open);
        let (script, next) = (inner.scripts.get(&id).cloned().unwrap_or_default(), inner.versions + 1);
        match inner.clusters.get_mut(&id) {
            Some(cluster) => {
                let used = cluster.take(payload, next, script);
                inner.versions += i64::from(used);
            }
            None => {
                inner.versions = next;
                inner.clusters.insert(id.clone(), Cluster::new(payload, next, script));
            }
        }
        inner.save();
    }
    reconciler.tell(&id, None)
}

async fn delete_cluster(State(reconciler): State<Reconciler>, Path(id): Path<String>) -> Response {
    {
        let mut inner = reconciler.inner();
        if let Some(cluster) = inner.clusters.get_mut(&id) {
            cluster.delete();
        }
        inner.save();
    }
    reconciler.tell(&id, None)
}

async fn latest(State(reconciler): State<Reconciler>, Path(id): Path<String>) -> Response {
    reconciler.tell(&id, None)
}

async fn of_version(State(reconciler): State<Reconciler>, Path((id, version)): Path<(String, i64)>) -> Response {
    reconciler.tell(&id, Some(version))
}

async fn put_status(State(reconciler): State<Reconciler>, Path(id): Path<String>, body: Bytes) -> Response {
    let wanted = serde_json::from_slice::<wire::NewStatus>(&body).ok().map(|new| new.status);
    let disabled = match wanted.as_deref() {
        Some("reconcile_disabled") => true,
        Some("reconcile_pending") => false,
        _ => return reconciler.complain(StatusCode::BAD_REQUEST, "no such status can be set".to_owned()),
    };
    let found = reconciler.inner().clusters.get_mut(&id).map(|cluster| cluster.disable(disabled)).is_some();
    if found { StatusCode::CREATED.into_response() } else { reconciler.tell(&id, None) }
}

async fn refuse(State(reconciler): State<Reconciler>, request: Request) -> Response {
    reconciler.complain(StatusCode::BAD_REQUEST, format!("there is no {} {}", request.method(), request.uri().path()))
}
