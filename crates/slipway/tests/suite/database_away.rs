//! PostgreSQL goes away and comes back: the process stays, says so, and goes on by itself.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    fake_hello,
    processes::{Running, serve},
};

/// A server of our own that can be stopped and started again.
struct Cluster {
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
    fn start() -> Self {
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

    fn begin(&self) {
        let options = format!("-p {} -k {} -c listen_addresses=127.0.0.1", self.port, self.folder.path().display());
        let mut command = self.control();
        command.arg("-l").arg(self.folder.path().join("log")).arg("-o").arg(options).arg("start");
        assert!(command.status().expect("pg_ctl").success());
    }

    fn end(&self) {
        assert!(self.control().args(["-m", "immediate", "stop"]).status().expect("pg_ctl").success());
    }

    fn url(&self) -> String {
        format!("postgres://slipway@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be down already.
        let _ = self.control().args(["-m", "immediate", "stop"]).status();
    }
}

#[test]
fn a_database_that_goes_away_is_waited_for_and_nothing_is_lost() {
    let cluster = Cluster::start();
    let stuck = fake_hello::silent();
    let running = Running::start(serve(&cluster.url(), &stuck.url));
    running.until_readyz(200);
    let id = running.begin("shop");
    stuck.requests.recv().expect("a step is running");

    cluster.end();
    let reason = running.until_readyz(503);
    assert!(reason.contains("the engine waits and goes on by itself: the database cannot be reached"), "{reason}");
    assert_eq!(running.send("GET", "/livez", "").expect("an answer").status, 200);
    for (method, path, body) in [
        ("GET", format!("/operations/{id}"), ""),
        ("POST", "/operations".to_owned(), r#"{"process":"hello","instance_id":"other"}"#),
    ] {
        let answer = running.send(method, &path, body).expect("an answer");
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        assert!(answer.body.contains("the database cannot be reached"), "{answer:?}");
    }
    let page = running.send("GET", "/metrics", "").expect("an answer");
    assert!(page.status == 200 && page.body.contains("slipway_broker_ready 0"), "{page:?}");

    cluster.begin();
    assert_eq!(running.until_readyz(200), "ready\n");
    let cancel = r#"{"action":"cancel","by":"ann","why":"hello will never answer"}"#;
    assert_eq!(running.send("POST", &format!("/operations/{id}/actions"), cancel).expect("an answer").status, 200);
    assert_eq!(running.until_ended(&id)["operation"]["state"], "canceled");
}

#[test]
fn operations_accepted_before_the_outage_succeed_after_it() {
    let cluster = Cluster::start();
    let hello = fake_hello::friendly();
    let running = Running::start(serve(&cluster.url(), &hello.url));
    running.until_readyz(200);
    let ids: Vec<_> = (0..20).map(|n| running.begin(&format!("shop-{n}"))).collect();
    cluster.end();
    running.until_readyz(503);
    cluster.begin();
    running.until_readyz(200);
    for id in &ids {
        assert_eq!(running.until_ended(id)["operation"]["state"], "succeeded");
    }
}
