//! What the infrastructure manager finds in the landscape: its kinds and its namespace on the control plane, an
//! audit policy in the garden, its configuration in the data folder, and the garden's time.
//!
//! The configuration is written once and then belongs to the person: an edit is taken over while everything
//! runs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kube_sandbox::{cluster::Cluster, server::ServerError};
use serde_json::{Value, json};
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock},
    time::mins,
};
use slipway_server::manager::{Landscape, ManagerRole, Settings, definitions};
use slipway_sim::garden;

use super::{
    UpError,
    clusters::{CONTROL_PLANE, Clusters, ClustersError, GARDEN},
};

/// Namespace of Runtimes.
const NAMESPACE: &str = "kcp-system";
/// Namespace of the project.
const PROJECT: &str = "garden-dev";

/// Time of the garden, as the manager asks for it: kubeconfigs end by it.
struct GardenTime(garden::Clock);

impl Clock for GardenTime {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(self.0.now().as_microsecond())
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.now().as_microsecond()).unwrap_or(0))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        let until = self.0.now().as_microsecond().saturating_add(micros);
        let until = jiff::Timestamp::from_microsecond(until).unwrap_or(jiff::Timestamp::MAX);
        Box::pin(self.0.until(until))
    }
}

/// Prepares the clusters and starts the manager between them.
pub(super) async fn manage(folder: &Path, clusters: &Clusters) -> Result<ManagerRole, UpError> {
    let (server, garden) = (clusters.server(), clusters.garden());
    let kcp = server.cluster(CONTROL_PLANE).ok_or(ClustersError::Kubernetes(ServerError::NoCluster))?;
    for definition in definitions() {
        ensure(&kcp, definition).await?;
    }
    ensure(&kcp, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})).await?;
    let policy = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "audit-policy", "namespace": PROJECT},
        "data": {"policy": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"}});
    ensure(garden.cluster(), policy).await?;
    let converter_config = configuration(folder)?;
    let client = |cluster| server.client(cluster).map_err(|error| UpError::from(ClustersError::from(error)));
    let landscape = Landscape {
        kcp: client(CONTROL_PLANE)?,
        garden: client(GARDEN)?,
        garden_time: Arc::new(GardenTime(garden.clock().clone())),
        converter_config,
        settings: Settings { audit_log_mandatory: false, registry_caches: Some(mins(1)), ..Settings::default() },
    };
    Ok(ManagerRole::within(landscape)?)
}

/// Makes an object, or brings the one that is there up to date.
async fn ensure(cluster: &Cluster, object: Value) -> Result<(), UpError> {
    use kube_sandbox::cluster::Place;
    let refused = |status| UpError::from(ClustersError::from(ServerError::Fill(status)));
    let kind = cluster.kind_of(&object).map_err(refused)?;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    if cluster.get(&kind.group, &kind.plural, &namespace, &name).is_none() {
        return cluster.create(object).await.map(drop).map_err(refused);
    }
    let place = Place { group: &kind.group, plural: &kind.plural, namespace: &namespace, name: &name, subresource: "" };
    let Some(spec) = object.get("spec") else { return Ok(()) };
    cluster.update(&place, |there| there["spec"] = spec.clone()).await.map(drop).map_err(refused)
}

/// The converter configuration in the data folder; made if it is not there.
pub(crate) fn configuration(folder: &Path) -> Result<PathBuf, UpError> {
    let folder = folder.join("manager");
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |source| UpError::from(ClustersError::File { path, source })
    };
    fs::create_dir_all(&folder).map_err(unusable(&folder))?;
    let (config, tenants) = (folder.join("converter_config.json"), folder.join("audit_tenants.json"));
    if !tenants.exists() {
        fs::write(&tenants, "{}\n").map_err(unusable(&tenants))?;
    }
    if !config.exists() {
        let mut text: Value = serde_json::from_str(include_str!("landscape/converter_config.json")).unwrap_or_default();
        text["converter"]["auditLogging"]["tenantConfigPath"] = json!(tenants);
        let text = serde_json::to_string_pretty(&text).unwrap_or_default();
        fs::write(&config, text + "\n").map_err(unusable(&config))?;
    }
    Ok(config)
}
