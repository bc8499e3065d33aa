//! A control plane and a garden with ports of their own, and processes that know them by files only.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use slipway_sandbox::world::{self, Clusters, Pace};
use tempfile::TempDir;

use crate::processes::slipway;

/// A control plane and a garden with ports of their own, and the files a manager is given.
pub(crate) struct Landscape {
    pub(crate) clusters: Clusters,
    folder: TempDir,
    configuration: PathBuf,
}

impl Landscape {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clusters = Clusters::start(folder.path(), Ipv4Addr::LOCALHOST.into(), Pace::Scale(600.0), 1).await;
        let configuration = world::configuration(folder.path()).expect("a configuration");
        Self { clusters: clusters.expect("clusters"), folder, configuration }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The manager's configuration.
    pub(crate) fn configuration(&self) -> String {
        fs::read_to_string(&self.configuration).expect("a configuration")
    }

    /// Replaces the configuration as a mounted ConfigMap is: at once.
    pub(crate) fn configure(&self, text: &str) {
        let new = self.file("new");
        fs::write(&new, text).expect("written");
        fs::rename(new, &self.configuration).expect("renamed");
    }

    pub(crate) fn manager(&self) -> Process {
        let mut command = slipway();
        command.args(["serve", "--role", "manager", "--audit-log-mandatory=false"]);
        for (flag, file) in
            [("--kubeconfig", "kubeconfig-kcp.yaml"), ("--gardener-kubeconfig-path", "kubeconfig-garden.yaml")]
        {
            command.arg(flag).arg(self.file(file));
        }
        command.arg("--converter-config-filepath").arg(&self.configuration);
        command.args(["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]);
        command.args(["--gardener-ratelimiter-qps", "1000", "--gardener-ratelimiter-burst", "1000"]);
        Process::start(command, &self.file("stderr"))
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.file("stderr")).unwrap_or_default()
    }
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
