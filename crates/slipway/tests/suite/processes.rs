//! Starts the binary, talks to it, and makes sure that it is gone when the test is.

use std::{
    fs::{self, File},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use serde_json::Value;

use slipway_sim::raw_http::{self, Answer};

pub(crate) const TOKEN: &str = "the-token-of-the-binary-tests";
pub(crate) const KEY: &str = "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed";

/// The binary, with nothing of the caller's environment but what programs need.
pub(crate) fn slipway() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("slipway"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// `slipway serve` with a database and a hello at these addresses.
pub(crate) fn serve(database: &str, hello: &str) -> Command {
    let mut command = slipway();
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("SLIPWAY_DATABASE__URL", database)
        .env("SLIPWAY_SECRETS__ACTIVE_KEY", "k1")
        .env("SLIPWAY_SECRETS__KEYS__K1", KEY)
        .env("SLIPWAY_AUTH__TOKEN", TOKEN)
        .env("SLIPWAY_HELLO__URL", hello)
        .env("SLIPWAY_LOG__LEVEL", "debug");
    command
}

/// `slipway up` on a folder.
pub(crate) fn up(data: &Path) -> Command {
    let mut command = slipway();
    command.args(["up", "--listen", "127.0.0.1:0", "--provisioner-listen", "127.0.0.1:0", "--data-dir"]).arg(data);
    command
}

/// Waits for a condition; a minute is for ever. What it waits for is in the message.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1200 {
        if let Some(found) = look() {
            return found;
        }
        pause();
    }
    panic!("never came: {what}");
}

#[expect(clippy::disallowed_methods, reason = "between two looks at a real process, real time passes")]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

/// A running server; killed when dropped.
pub(crate) struct Running {
    child: Child,
    folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    token: String,
}

impl Running {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| File::create(folder.path().join(name)).expect("a file");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("the binary starts");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let said = until("the address of the server", || {
            if let Some(status) = child.try_wait().expect("a child") {
                panic!("it ended with {status}: {}", read("stderr"));
            }
            let said = read("stdout");
            let is_whole = said.contains("data-folder: ") || (said.starts_with("address: ") && said.ends_with('\n'));
            is_whole.then_some(said)
        });
        let value = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let address = value("address: http://").and_then(|text| text.parse().ok()).expect("an address");
        let token = match value("token-file: ") {
            Some(path) => fs::read_to_string(path).expect("a token").trim().to_owned(),
            None => TOKEN.to_owned(),
        };
        Self { child, folder, address, token }
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.folder.path().join("stdout")).unwrap_or_default()
    }

    /// The file with the token, for the command line.
    pub(crate) fn token_file(&self) -> PathBuf {
        let path = self.folder.path().join("token");
        fs::write(&path, &self.token).expect("written");
        path
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        raw_http::send(self.address, method, path, Some(&self.token), body)
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.send("GET", path, "").expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {answer:?}\n{}", self.stderr());
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// Waits until `/readyz` has this status; its body.
    pub(crate) fn until_readyz(&self, status: u16) -> String {
        until(&format!("/readyz {status}"), || {
            let answer = self.send("GET", "/readyz", "").ok()?;
            (answer.status == status).then_some(answer.body)
        })
    }

    /// Starts the sample process; the id.
    pub(crate) fn begin(&self, instance: &str) -> String {
        let body = format!(r#"{{"process":"hello","instance_id":"{instance}"}}"#);
        let answer = self.send("POST", "/operations", &body).expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
        let operation: Value = serde_json::from_str(&answer.body).expect("JSON");
        operation["id"].as_str().expect("an id").to_owned()
    }

    /// Waits for the end of an operation; its details.
    pub(crate) fn until_ended(&self, id: &str) -> Value {
        until("the end of the operation", || {
            let answer = self.send("GET", &format!("/operations/{id}"), "").ok().filter(|a| a.status == 200)?;
            let details: Value = serde_json::from_str(&answer.body).expect("JSON");
            details["operation"]["finished_at"].is_string().then_some(details)
        })
    }

    /// Waits until this step of an operation is in this status.
    pub(crate) fn until_step(&self, id: &str, step: &str, status: &str) {
        until(&format!("{step} {status}"), || {
            let details = self.json(&format!("/operations/{id}"));
            let steps = details["steps"].as_array()?;
            steps.iter().any(|row| row["step"] == step && row["status"] == status).then_some(())
        });
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill exists").success());
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let Self { child, .. } = self;
        until("the end of the process", || child.try_wait().expect("a child"))
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command that must end by itself: exit code, standard output, standard error.
pub(crate) fn ended(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.stdin(Stdio::null()).output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}
