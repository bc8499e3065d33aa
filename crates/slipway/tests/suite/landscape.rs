//! A control plane and a garden with ports of their own, and processes that know them by files only.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use slipway_sandbox::world::{CONTROL_PLANE, Clusters, GARDEN, Pace};
use tempfile::TempDir;

use crate::processes::slipway;

const NAMESPACE: &str = "kcp-system";
pub(crate) const PROJECT: &str = "garden-dev";

/// A control plane and a garden with ports of their own, and the files a manager is given.
pub(crate) struct Landscape {
    clusters: Clusters,
    folder: TempDir,
}

impl Landscape {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clusters = Clusters::start(folder.path(), Ipv4Addr::LOCALHOST.into(), Pace::Scale(600.0), 1).await;
        let landscape = Self { clusters: clusters.expect("clusters"), folder };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        for object in slipway_server::manager::definitions().into_iter().chain([namespace]) {
            landscape.make(CONTROL_PLANE, object).await;
        }
        let policy = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "audit-policy", "namespace": PROJECT},
            "data": {"policy": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"}});
        landscape.make(GARDEN, policy).await;
        let tenants = include_str!("../../../../examples/config/dev/audit_tenants.json");
        fs::write(landscape.file("audit_tenants.json"), tenants).expect("written");
        landscape.configure(&configuration());
        landscape
    }

    pub(crate) async fn make(&self, cluster: &str, object: Value) {
        let cluster = self.clusters.server().cluster(cluster).expect("a cluster");
        cluster.create(object).await.expect("the cluster takes it");
    }

    pub(crate) fn look(&self, cluster: &str, (group, plural): (&str, &str), namespace: &str, name: &str) -> Value {
        let cluster = self.clusters.server().cluster(cluster).expect("a cluster");
        cluster.get(group, plural, namespace, name).unwrap_or_default()
    }

    pub(crate) fn list(&self, cluster: &str, (group, plural): (&str, &str), namespace: &str) -> Vec<Value> {
        self.clusters.server().cluster(cluster).expect("a cluster").list(group, plural, namespace)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the configuration as a mounted ConfigMap is: at once.
    pub(crate) fn configure(&self, text: &str) {
        let new = self.file("new");
        fs::write(&new, text).expect("written");
        fs::rename(new, self.file("converter_config.json")).expect("renamed");
    }

    pub(crate) fn manager(&self) -> Process {
        let mut command = slipway();
        command.args(["serve", "--role", "manager", "--audit-log-mandatory=false"]);
        for (flag, file) in [
            ("--kubeconfig", "kubeconfig-kcp.yaml"),
            ("--gardener-kubeconfig-path", "kubeconfig-garden.yaml"),
            ("--converter-config-filepath", "converter_config.json"),
        ] {
            command.arg(flag).arg(self.file(file));
        }
        command.args(["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]);
        command.args(["--gardener-ratelimiter-qps", "1000", "--gardener-ratelimiter-burst", "1000"]);
        Process::start(command, &self.file("stderr"))
    }

    pub(crate) fn runtime(&self, name: &str) -> Value {
        self.look(CONTROL_PLANE, ("infrastructuremanager.kyma-project.io", "runtimes"), NAMESPACE, name)
    }

    pub(crate) fn shoot(&self, name: &str) -> Value {
        self.look(GARDEN, ("core.gardener.cloud", "shoots"), PROJECT, name)
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.file("stderr")).unwrap_or_default()
    }
}

pub(crate) fn configuration() -> String {
    include_str!("../../../../examples/config/dev/converter_config.json").to_owned()
}

/// Killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(mut command: Command, stderr: &Path) -> Self {
        let file = fs::File::options().create(true).append(true).open(stderr).expect("a file");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn();
        Self(child.expect("the binary starts"))
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }

    /// SIGTERM; how it ended.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill").success());
        self.0.wait().expect("an end").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Whoever has ended already cannot be killed again.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
