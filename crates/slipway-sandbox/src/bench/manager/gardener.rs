//! Gardener, as far as the manager meets it: every new generation of a Shoot is worked on for a moment and then
//! succeeds; a deletion takes the same moment. A cluster answers behind the address of every new Shoot.
//!
//! Played by the benchmark rather than by the garden's engine, so that the moment of success is known exactly
//! and that ten thousand finished Shoots cost nobody anything.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube_sandbox::{clock, cluster::Place, store::Change};
use serde_json::{Value, json};
use slipway_model::{ports::Clock as _, time::millis};
use slipway_sim::{
    garden::{
        certificates::Pair,
        engine::{
            extensions,
            life::{Authority, PersistedLife},
        },
    },
    ground::{PROJECT, SHOOTS},
};
use tokio::task::JoinSet;

use super::{
    land::{Land, prefix_error},
    line::Line,
    traces::Traces,
};

/// How long Gardener works. The real one takes minutes; nobody here waits for what it does meanwhile.
const TAKES: Duration = millis(300);

/// Shoots whose name begins so are left alone: they are wanted as they were made.
pub(super) const LEFT_ALONE: &str = "burst-";

/// The annotation of Shoots that are copies of a finished one.
pub(super) const FINISHED: &str = "bench.slipway.dev/finished";

const FINALIZER: &str = "gardener";

/// The one who works on Shoots.
pub(super) struct Gardener {
    land: Arc<Land>,
    traces: Traces,
    kept: PersistedLife,
    lines: Mutex<HashMap<String, Line>>,
}

impl Gardener {
    /// Works for as long as the tasks live.
    pub(super) fn start(land: &Arc<Land>, traces: &Traces, tasks: &mut JoinSet<()>) -> Result<(), String> {
        let wrong = prefix_error("no certificate authority");
        let authority = |name| Pair::authority(name).map_err(|error| wrong(&error));
        // One for all clusters: what it costs to make them is not what is measured.
        let authority =
            Authority { number: 0, cluster: authority("ca")?.into(), client: authority("ca-client")?.into() };
        let kept = PersistedLife { authorities: vec![authority], api_up: true, ..PersistedLife::default() };
        let (land, traces) = (land.clone(), traces.clone());
        let gardener = Arc::new(Self { land, traces, kept, lines: Mutex::default() });
        tasks.spawn(gardener.work());
        Ok(())
    }

    async fn work(self: Arc<Self>) {
        let Ok(mut changes) = self.land.garden.watch(SHOOTS, "shoots", None) else { return };
        let mut begun: HashMap<String, i64> = HashMap::new();
        while let Some(event) = changes.next().await {
            let Ok(event) = event else { continue };
            let shoot = event.object.value();
            let name = shoot["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if event.change == Change::Deleted {
                begun.remove(&name);
                continue;
            }
            let deleting = !shoot["metadata"]["deletionTimestamp"].is_null();
            // A deletion is a generation of its own, so none is begun twice.
            let generation = shoot["metadata"]["generation"].as_i64().unwrap_or_default() + i64::from(deleting);
            let seen = shoot["status"]["observedGeneration"].as_i64().unwrap_or_default();
            let is_new = begun.get(&name).is_none_or(|last| *last < generation) && (seen < generation);
            // Its status comes with the next write.
            let is_copy =
                shoot["status"]["lastOperation"].is_null() && !shoot["metadata"]["annotations"][FINISHED].is_null();
            if !is_new || is_copy || name.starts_with(LEFT_ALONE) {
                continue;
            }
            begun.insert(name.clone(), generation);
            let gardener = self.clone();
            tokio::spawn(async move {
                let done =
                    if deleting { gardener.delete(&name).await } else { gardener.reconcile(&name, &shoot).await };
                if let Err(why) = done {
                    eprintln!("Gardener, as it is played here, could not work on {name}: {why}");
                }
            });
        }
    }

    async fn reconcile(&self, name: &str, shoot: &Value) -> Result<(), String> {
        let generation = &shoot["metadata"]["generation"];
        let is_first = shoot["status"]["lastOperation"].is_null();
        let kind = if is_first { "Create" } else { "Reconcile" };
        let addresses = if is_first { Some(self.open(name, shoot).await?) } else { None };
        let operation = |state, progress| operation(kind, state, progress);
        self.change(name, "status", |status| {
            let status = &mut status["status"];
            status["observedGeneration"] = generation.clone();
            status["lastOperation"] = operation("Processing", 10);
            if let Some(addresses) = &addresses {
                status["technicalID"] = json!(format!("shoot--dev--{name}"));
                status["advertisedAddresses"] = addresses.clone();
            }
        })
        .await?;
        if is_first {
            self.change(name, "", |shoot| shoot["metadata"]["finalizers"] = json!([FINALIZER])).await?;
        }
        self.land.clock.sleep(TAKES).await;
        self.traces.succeeds(name);
        self.change(name, "status", |shoot| shoot["status"]["lastOperation"] = operation("Succeeded", 100)).await
    }

    async fn delete(&self, name: &str) -> Result<(), String> {
        self.land.clock.sleep(TAKES).await;
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        let operation = operation("Delete", "Succeeded", 100);
        self.change(name, "status", |shoot| shoot["status"]["lastOperation"] = operation.clone()).await?;
        self.change(name, "", |shoot| shoot["metadata"]["finalizers"] = json!([])).await
    }

    /// Opens a cluster and a line to it; answers its addresses.
    async fn open(&self, name: &str, shoot: &Value) -> Result<Value, String> {
        let (land, id) = (&self.land, format!("shoot--dev--{name}"));
        land.endpoints.up(&id, &self.kept).await?;
        let wrong = prefix_error("a cluster cannot be reached");
        let cluster = land.endpoints.server().cluster(&id).ok_or("the cluster is gone")?;
        extensions::bring(&cluster, shoot).await.map_err(|error| wrong(&error))?;
        let port = land.endpoints.port(&id, 0).map_err(|error| wrong(&error))?;
        let to = SocketAddr::from(([127, 0, 0, 1], port));
        let line = Line::open(to, land.round_trip, land.clock).await.map_err(|error| wrong(&error))?;
        let url = format!("https://{}", line.address());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), line);
        let Some(authority) = self.kept.authorities.last() else { return Err("there is no authority".to_owned()) };
        let secret = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "type": "Opaque",
            "metadata": {"name": format!("{name}.ca-client"), "namespace": PROJECT},
            "data": {"ca.crt": STANDARD.encode(&authority.client.certificate), "ca.key": STANDARD.encode(&authority.client.key)},
        });
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}.ca-cluster"), "namespace": PROJECT},
            "data": {"ca.crt": authority.cluster.certificate},
        });
        for object in [secret, map] {
            land.garden.create(object).await.map_err(|error| wrong(&error))?;
        }
        Ok(json!([{"name": "external", "url": url}, {"name": "internal", "url": url}]))
    }

    async fn change(&self, name: &str, subresource: &str, change: impl FnMut(&mut Value)) -> Result<(), String> {
        let place = Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name, subresource };
        self.land.garden.update(&place, change).await.map(drop).map_err(|error| error.to_string())
    }
}

fn operation(kind: &str, state: &str, progress: u8) -> Value {
    json!({"type": kind, "state": state, "progress": progress, "description": "as played by the benchmark",
        "lastUpdateTime": clock::seconds(clock::now())})
}
