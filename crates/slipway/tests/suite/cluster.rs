//! A PostgreSQL server of our own that can be stopped and started again.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A server of our own that can be stopped and started again.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
}

fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("the package postgresql is installed");
    let mut found: Vec<_> = versions.flatten().map(|version| version.path().join("bin")).collect();
    found.retain(|bin| bin.join("pg_ctl").exists());
    found.sort();
    found.pop().expect("the package postgresql is installed")
}

/// The server refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program);
    command
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let cluster = Self { folder, port };
        let data = cluster.data();
        run(as_postgres(&programs().join("initdb")).current_dir(cluster.folder.path()).arg("-D").arg(data).args([
            "-U",
            "slipway",
            "--auth=trust",
            "--no-locale",
            "-E",
            "UTF8",
        ]));
        cluster.begin();
        cluster
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn control(&self) -> Command {
        let mut command = as_postgres(&programs().join("pg_ctl"));
        command.current_dir(self.folder.path()).arg("-D").arg(self.data()).arg("-w");
        // Its standard streams go to the server it starts, and would keep ours open.
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command
    }

    pub(crate) fn begin(&self) {
        let options = format!("-p {} -k {} -c listen_addresses=127.0.0.1", self.port, self.folder.path().display());
        let mut command = self.control();
        command.arg("-l").arg(self.folder.path().join("log")).arg("-o").arg(options).arg("start");
        assert!(command.status().expect("pg_ctl").success());
    }

    pub(crate) fn end(&self) {
        assert!(self.control().args(["-m", "immediate", "stop"]).status().expect("pg_ctl").success());
    }

    /// Everything in it, as text.
    pub(crate) fn dump(&self) -> Vec<u8> {
        let mut command = Command::new(programs().join("pg_dump"));
        let output = command.arg("--inserts").arg(self.url()).output().expect("pg_dump");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://slipway@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be down already.
        let _ = self.control().args(["-m", "immediate", "stop"]).status();
    }
}
