//! The infrastructure manager in the landscape: its configuration in the data folder, and the garden's time.
//!
//! The configuration is written once and then belongs to the person: an edit is taken over while everything
//! runs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock},
    time::mins,
};
use slipway_server::manager::{Landscape, ManagerRole, Settings};
use slipway_sim::{
    garden,
    ground::{CONTROL_PLANE, GARDEN},
};

use super::{
    UpError,
    alone::Alone,
    clusters::{Clusters, ClustersError},
};

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

/// Starts the manager between the clusters.
pub(super) async fn manage(folder: &Path, clusters: &Clusters) -> Result<Alone<ManagerRole>, UpError> {
    let converter_config = configuration(folder)?;
    let (server, time) = (clusters.server.clone(), GardenTime(clusters.garden.clock().clone()));
    Alone::start(async move {
        let client = |cluster| server.client(cluster).map_err(|error| UpError::from(ClustersError::from(error)));
        let landscape = Landscape {
            kcp: client(CONTROL_PLANE)?,
            garden: client(GARDEN)?,
            garden_time: Arc::new(time),
            converter_config,
            settings: Settings { audit_log_mandatory: false, registry_caches: Some(mins(1)), ..Settings::default() },
        };
        Ok(ManagerRole::within(landscape)?)
    })
    .await
}

/// The converter configuration in the data folder; that of the examples if there is none.
pub fn configuration(folder: &Path) -> Result<PathBuf, UpError> {
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
        let example = include_str!("../../../../examples/config/dev/converter_config.json");
        let mut text: Value = serde_json::from_str(example).unwrap_or_default();
        text["converter"]["auditLogging"]["tenantConfigPath"] = json!(tenants);
        let text = serde_json::to_string_pretty(&text).unwrap_or_default();
        fs::write(&config, text + "\n").map_err(unusable(&config))?;
    }
    Ok(config)
}
