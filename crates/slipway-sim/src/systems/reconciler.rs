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

use std::{collections::BTreeMap, ops::Deref, path::PathBuf, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use self::cluster::Script;
use self::{cluster::Cluster, wire::Payload};
use super::desk::{Desk, Shared};
use crate::kept;

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
    desk: Desk,
    inner: Shared<Inner>,
}

impl Deref for Reconciler {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

#[derive(Debug)]
struct Inner {
    pace: Pace,
    versions: i64,
    clusters: BTreeMap<String, Cluster>,
    scripts: BTreeMap<String, Script>,
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
        let inner = Inner { pace: Pace::USUAL, versions: 0, clusters, scripts, file: None };
        Self { desk: Desk::default(), inner: Shared::new(inner) }
    }
}

impl Reconciler {
    /// Its HTTP service.
    pub fn router(&self) -> Router {
        let routes = Router::new()
            .route("/v1/clusters", post(put_cluster).put(put_cluster))
            .route("/v1/clusters/{id}", axum::routing::delete(delete_cluster))
            .route("/v1/clusters/{id}/status", get(latest).put(put_status))
            .route("/v1/clusters/{id}/configs/{version}/status", get(of_version))
            .with_state(self.clone());
        self.serve(routes)
    }

    /// Keeps its clusters in this file from now on, beginning with what is there. Runs begin anew.
    pub fn keep_in(&self, file: PathBuf) {
        let mut inner = self.inner.lock();
        if let Some(state) = kept::load::<Saved<BTreeMap<String, Cluster>>>(&file) {
            (inner.versions, inner.clusters) = (state.versions, state.clusters);
        }
        inner.file = Some(file);
    }

    /// Sets how long things take.
    pub fn set_pace(&self, pace: Pace) {
        self.inner.lock().pace = pace;
    }

    /// What becomes of the runs of one runtime.
    pub fn script(&self, runtime_id: &str, script: Script) {
        self.inner.lock().scripts.insert(runtime_id.to_owned(), script);
    }

    /// The clusters it keeps, by runtime id, with their present status.
    pub fn clusters(&self) -> Vec<(String, &'static str)> {
        let inner = self.inner.lock();
        inner.clusters.iter().filter_map(|(id, cluster)| Some((id.clone(), cluster.status(inner.pace)?))).collect()
    }

    /// The components configured for a runtime, in order.
    pub fn components(&self, runtime_id: &str) -> Vec<String> {
        let inner = self.inner.lock();
        let kept = inner.clusters.get(runtime_id);
        kept.map(|cluster| cluster.payload.components().map(ToOwned::to_owned).collect()).unwrap_or_default()
    }

    /// Kyma's version configured for a runtime.
    pub fn kyma_version(&self, runtime_id: &str) -> Option<String> {
        self.inner.lock().clusters.get(runtime_id).map(|cluster| cluster.payload.kyma_config.version.clone())
    }

    /// The answer about one cluster, of its newest version or of that one.
    fn tell(&self, id: &str, version: Option<i64>) -> Response {
        let mut inner = self.inner.lock();
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
    let payload: Payload = match reconciler.parse_body(&headers, &body, "a cluster") {
        Ok(payload) => payload,
        Err(refusal) => return *refusal,
    };
    if let Err(what) = payload.check() {
        return reconciler.complain(StatusCode::BAD_REQUEST, what);
    }
    reconciler.note(payload.open_secrets());
    let id = payload.runtime_id.clone();
    {
        let mut inner = reconciler.inner.lock();
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
        let mut inner = reconciler.inner.lock();
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
    let found = reconciler.inner.lock().clusters.get_mut(&id).map(|cluster| cluster.disable(disabled)).is_some();
    if found { StatusCode::CREATED.into_response() } else { reconciler.tell(&id, None) }
}
