//! The manager as a process of its own: it knows its clusters by kubeconfigs and its configuration by files.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use slipway_sim::{
    garden::{self, Garden},
    kube::{
        cluster::Cluster,
        server::{Door, Server, Settings},
    },
};
use tempfile::TempDir;
use tokio::runtime::Runtime as Tokio;

use crate::processes::{slipway, until};

const GROUP: &str = "infrastructuremanager.kyma-project.io";
const CORE: &str = "core.gardener.cloud";
const NAMESPACE: &str = "kcp-system";
const PROJECT: &str = "garden-dev";

/// A control plane and a garden on a port, and the files a manager is given.
struct Landscape {
    kcp: Cluster,
    garden: Garden,
    folder: TempDir,
    _doors: Vec<Door>,
}

impl Landscape {
    async fn start() -> Self {
        let server = Server::start(Settings::default()).await.expect("a server");
        let garden = Garden::on(server.clone(), garden::Options::default()).await.expect("a garden");
        let kcp = server.add_cluster("kcp").await.expect("a control plane");
        let folder = tempfile::tempdir().expect("a folder");
        let mut doors = Vec::new();
        for cluster in ["kcp", "garden"] {
            let door = server.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a port");
            let kubeconfig = server.kubeconfig(cluster, door.address());
            fs::write(folder.path().join(cluster), kubeconfig).expect("written");
            doors.push(door);
        }
        for definition in slipway_server::manager::definitions() {
            kcp.create(definition).await.expect("a definition");
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        kcp.create(namespace).await.expect("a namespace");
        let policy = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "audit-policy", "namespace": PROJECT},
            "data": {"policy": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"}});
        garden.cluster().create(policy).await.expect("a policy");
        let landscape = Self { kcp, garden, folder, _doors: doors };
        let tenants = include_str!("../../../../examples/config/dev/audit_tenants.json");
        fs::write(landscape.file("audit_tenants.json"), tenants).expect("written");
        landscape.configure(&configuration());
        landscape
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
            ("--kubeconfig", "kcp"),
            ("--gardener-kubeconfig-path", "garden"),
            ("--converter-config-filepath", "converter_config.json"),
        ] {
            command.arg(flag).arg(self.file(file));
        }
        command.args(["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]);
        command.args(["--gardener-ratelimiter-qps", "1000", "--gardener-ratelimiter-burst", "1000"]);
        Process::start(command, &self.file("stderr"))
    }

    fn runtime(&self, name: &str) -> Value {
        self.kcp.get(GROUP, "runtimes", NAMESPACE, name).unwrap_or_default()
    }

    fn shoot(&self, name: &str) -> Value {
        self.garden.cluster().get(CORE, "shoots", PROJECT, name).unwrap_or_default()
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
    tokio.block_on(landscape.kcp.create(runtime)).expect("the control plane takes it");
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
