//! The two servers that are compared, each in processes of its own.

use std::{path::Path, time::Duration};

use kube::Client;
use kube_sandbox::{
    Server, Settings, kubeconfig,
    real::{Kube, Purpose},
};
use serde_json::json;
use slipway_model::time::hours;
use slipway_sim::real;

use super::{Real, fan_out::Flow, objects, watchers};
use crate::bench::{
    measure::{cpu_time_of, resident_bytes_of},
    part::{self, KUBECONFIG, READY, Serving},
};

/// Where lines of writes, fan-out and held objects live.
pub(super) const NAMESPACES: [&str; 3] = ["writes", "fan-out", "held"];

/// The logical cluster of the embedded API.
const CLUSTER: &str = "bench";

/// How servers are started on this machine.
pub(super) struct Landscape<'a> {
    pub(super) program: &'a Path,
    pub(super) real: Option<Real>,
    pub(super) real_missing: Option<String>,
}

/// A server, and somebody who asks it.
pub(super) struct Target {
    pub(super) client: Client,
    /// Ids of its processes.
    processes: Vec<String>,
    _server: Running,
}

/// What ends when it is dropped.
enum Running {
    Embedded { _serving: Box<Serving> },
    Real { _kube: Box<Kube> },
}

/// The process that serves the embedded API: on disk, over TLS, until its input ends. So it goes with
/// whoever started it.
pub async fn serve(folder: &Path) -> Result<(), String> {
    let explain = |error: &dyn std::fmt::Display| format!("cannot serve the embedded Kubernetes API: {error}");
    let settings = Settings { folder: Some(folder.to_owned()), ..Settings::default() };
    let server = Server::start(settings).await.map_err(|error| explain(&error))?;
    server.add_cluster(CLUSTER).await.map_err(|error| explain(&error))?;
    let certificate = server.sign_server(&["127.0.0.1".to_owned()], hours(24)).map_err(|error| explain(&error))?;
    let address = ([127, 0, 0, 1], 0).into();
    let door = server.expose(CLUSTER, &certificate, server.ca(), address).await.map_err(|error| explain(&error))?;
    let kubeconfig = server.admin_kubeconfig(CLUSTER, &door.url());
    tokio::fs::write(folder.join(KUBECONFIG), kubeconfig).await.map_err(|error| explain(&error))?;
    println!("{READY}");
    // Nobody writes to it: it only ends.
    let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    ended.await.map_err(|error| explain(&error))?.map_err(|error| explain(&error))?;
    Ok(())
}

impl Landscape<'_> {
    /// Looks for the real servers; that they are not built is no failure.
    pub(super) fn find_real(&mut self) -> Result<(), String> {
        match real::find_binaries() {
            Ok(found) => {
                let kubernetes_version = found.kubernetes_version();
                self.real = Some(Real { kubernetes_version, etcd_syncs: true });
            }
            Err(error @ (real::Error::NotBuilt | real::Error::Off)) => self.real_missing = Some(error.to_string()),
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// A fresh embedded API.
    pub(super) async fn embedded(&self) -> Result<Target, String> {
        let serving = part::serve(self.program, "kube-server").await?;
        let client = serving.client.clone();
        objects::prepare(&client, &NAMESPACES).await?;
        Ok(Target {
            client,
            processes: vec![serving.part.id()],
            _server: Running::Embedded { _serving: Box::new(serving) },
        })
    }

    /// A fresh real server, if there can be one.
    pub(super) async fn real(&self) -> Result<Option<Target>, String> {
        if self.real.is_none() {
            return Ok(None);
        }
        let binaries = real::find_binaries().map_err(|error| error.to_string())?;
        let kube = Kube::start_for(Purpose::Comparisons, binaries).await.map_err(|error| error.to_string())?;
        // A client of its own, that has not seen the server's first failures.
        let client = kubeconfig::client(kube.kubeconfig()).await.map_err(|error| error.to_string())?;
        objects::prepare(&client, &NAMESPACES).await?;
        let processes = kube.processes().iter().flatten().map(u32::to_string).collect();
        Ok(Some(Target { client, processes, _server: Running::Real { _kube: Box::new(kube) } }))
    }
}

impl Target {
    /// Resident memory of all its processes.
    pub(super) fn resident_bytes(&self) -> u64 {
        self.processes.iter().map(|process| resident_bytes_of(process)).sum()
    }

    /// Watches of a namespace's widgets, and four writers whose objects are `name(0)` to `name(3)`.
    pub(super) async fn watched(
        &self,
        namespace: &str,
        name: &(dyn Fn(usize) -> String + Sync),
        watchers: usize,
        seconds: f64,
    ) -> Result<Flow, String> {
        let watched = watchers::Watched {
            client: &self.client,
            path: &objects::path(namespace),
            name,
            patch: &|writer, sent_at| json!({ "spec": { "writer": writer, "sentAt": sent_at } }),
            cpu_time: &|| self.cpu_time(),
        };
        watchers::measure(&watched, watchers, seconds).await
    }

    /// Processor time of all its processes.
    pub(super) fn cpu_time(&self) -> Duration {
        self.processes.iter().map(|process| cpu_time_of(process)).sum()
    }
}
