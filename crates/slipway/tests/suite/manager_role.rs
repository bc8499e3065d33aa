//! The manager as a process of its own: it knows its clusters by kubeconfigs and its configuration by files.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use slipway_sandbox::world::{CONTROL_PLANE, Clusters, GARDEN, Pace};
use tempfile::TempDir;
use tokio::runtime::Runtime as Tokio;

use crate::processes::{slipway, until};

const NAMESPACE: &str = "kcp-system";
const PROJECT: &str = "garden-dev";

/// A control plane and a garden with ports of their own, and the files a manager is given.
struct Landscape {
    clusters: Clusters,
    folder: TempDir,
}

impl Landscape {
    async fn start() -> Self {
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

    async fn make(&self, cluster: &str, object: Value) {
        let cluster = self.clusters.server().cluster(cluster).expect("a cluster");
        cluster.create(object).await.expect("the cluster takes it");
    }

    fn look(&self, cluster: &str, (group, plural): (&str, &str), namespace: &str, name: &str) -> Value {
        let cluster = self.clusters.server().cluster(cluster).expect("a cluster");
        cluster.get(group, plural, namespace, name).unwrap_or_default()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the configuration as a mounted ConfigMap is: at once.
    fn configure(&self, text: &str) {
        let new = self.file("new");
        fs::write(&new, text).expect("written");
        fs::rename(new, self.file("converter_config.json")).expect("renamed");
    }

    fn manager(&self) -> Process {
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

    fn runtime(&self, name: &str) -> Value {
        self.look(CONTROL_PLANE, ("infrastructuremanager.kyma-project.io", "runtimes"), NAMESPACE, name)
    }

    fn shoot(&self, name: &str) -> Value {
        self.look(GARDEN, ("core.gardener.cloud", "shoots"), PROJECT, name)
    }

    fn said(&self) -> String {
        fs::read_to_string(self.file("stderr")).unwrap_or_default()
    }
}

fn configuration() -> String {
    include_str!("../../../../examples/config/dev/converter_config.json").to_owned()
}

/// Killed when dropped.
struct Process(Child);

impl Process {
    fn start(mut command: Command, stderr: &Path) -> Self {
        let file = fs::File::options().create(true).append(true).open(stderr).expect("a file");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn();
        Self(child.expect("the binary starts"))
    }

    fn kill(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }

    /// SIGTERM; how it ended.
    fn stop(mut self) -> Option<i32> {
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

#[test]
fn a_manager_of_its_own_makes_a_cluster_survives_its_death_and_takes_configurations_over() {
    let tokio = Tokio::new().expect("a runtime");
    let landscape = tokio.block_on(Landscape::start());
    let runtime: Value =
        serde_saphyr::from_str(include_str!("../../../../examples/runtime-aws.yaml")).expect("a Runtime");
    let name = runtime["metadata"]["name"].as_str().expect("a name").to_owned();
    let shoot = runtime["spec"]["shoot"]["name"].as_str().expect("a name").to_owned();

    let first = landscape.manager();
    tokio.block_on(landscape.make(CONTROL_PLANE, runtime));
    until("a Shoot is asked for", || landscape.shoot(&shoot)["metadata"]["uid"].as_str().map(str::to_owned));
    let uid = landscape.shoot(&shoot)["metadata"]["uid"].clone();
    first.kill();

    let second = landscape.manager();
    let is_ready = || (landscape.runtime(&name)["status"]["state"] == "Ready").then_some(());
    until("the Runtime is ready", is_ready);
    assert_eq!(landscape.shoot(&shoot)["metadata"]["uid"], uid, "the Shoot of the first");

    let updates = || landscape.shoot(&shoot)["spec"]["maintenance"]["autoUpdate"]["machineImageVersion"].clone();
    assert_eq!(updates(), true);
    landscape.configure("{\"converter\": ");
    until("a broken configuration is told", || landscape.said().contains("converter_config.json").then_some(()));
    assert_eq!(updates(), true, "it goes on with the one it had");
    let on = "\"enableMachineImageVersionAutoUpdate\": true";
    assert!(configuration().contains(on));
    landscape.configure(&configuration().replace(on, "\"enableMachineImageVersionAutoUpdate\": false"));
    until("the Shoot follows the configuration", || (updates() == false).then_some(()));
    until("the Runtime is ready again", is_ready);
    assert_eq!(second.stop(), Some(0), "{}", landscape.said());
}
