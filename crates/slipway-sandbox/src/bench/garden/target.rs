//! The garden that is measured, in a process of its own.

use std::{path::Path, process::Stdio, time::Duration};

use jiff::SignedDuration;
use kube::Client;
use serde_json::Value;
use slipway_engine::SystemClock;
use slipway_model::ports::Clock as _;
use slipway_sim::{
    garden::{Garden, Options, Pace, engine::life::Settings},
    real,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use super::round;
use crate::bench::measure::{cpu_time_of, resident_bytes_of};

/// What the serving process says when it serves.
const READY: &str = "ready";

/// The kubeconfig it writes into its folder.
const KUBECONFIG: &str = "kubeconfig.json";

/// A garden, and somebody who asks it.
pub(super) struct Target {
    pub(super) client: Client,
    process: String,
    child: Box<Child>,
    answers: Lines<BufReader<ChildStdout>>,
    _folder: TempDir,
}

/// The process that serves the garden: on disk, over TLS, until its input ends. Each line moves its clock on by so
/// many seconds; when everything that was due is done, it answers with its counts.
pub async fn serve(folder: &Path) -> Result<(), String> {
    let explain = |error: &dyn std::fmt::Display| format!("cannot serve a garden: {error}");
    let options = Options {
        data: Some(folder.to_owned()),
        pace: Pace::Manual,
        settings: Settings { per_seed: usize::MAX, ..Settings::default() },
        ..Options::default()
    };
    let garden = Garden::start(options).await.map_err(|error| explain(&error))?;
    let kubeconfig = garden.kubeconfig().ok_or("the garden listens nowhere")?;
    tokio::fs::write(folder.join(KUBECONFIG), kubeconfig).await.map_err(|error| explain(&error))?;
    println!("{READY}");
    let runtime = tokio::runtime::Handle::current();
    let told = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lines() {
            let pause = SignedDuration::from_secs(line?.parse().unwrap_or_default());
            garden.clock().advance(pause);
            runtime.block_on(garden.settled());
            println!("{}", serde_json::json!(garden.journal().counts()));
        }
        Ok::<_, std::io::Error>(())
    });
    told.await.map_err(|error| explain(&error))?.map_err(|error| explain(&error))?;
    Ok(())
}

impl Target {
    /// A fresh garden, and the milliseconds until it served.
    pub(super) async fn start(program: &Path) -> Result<(Self, f64), String> {
        let explain = |error: std::io::Error| format!("cannot start {}: {error}", program.display());
        let folder = tempfile::Builder::new().prefix("slipway-bench-").tempdir().map_err(explain)?;
        let clock = SystemClock::default();
        let begun = clock.monotonic();
        let mut child = Command::new(program)
            .args(["bench", "garden-server", "--data-dir"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(explain)?;
        let stdout = child.stdout.take().ok_or("the process has no output")?;
        let mut answers = BufReader::new(stdout).lines();
        let line = answers.next_line().await.map_err(explain)?;
        let took = clock.monotonic().saturating_sub(begun);
        if line.as_deref() != Some(READY) {
            return Err("the garden did not start".to_owned());
        }
        let kubeconfig = tokio::fs::read_to_string(folder.path().join(KUBECONFIG)).await.map_err(explain)?;
        let client = real::client(&kubeconfig).await.map_err(|error| error.to_string())?;
        let process = child.id().unwrap_or_default().to_string();
        let target = Self { client, process, child: Box::new(child), answers, _folder: folder };
        Ok((target, round(took.as_secs_f64() * 1000.0)))
    }

    /// Moves the clock on, waits until everything that was due is done, and answers what the garden has counted.
    pub(super) async fn advance(&mut self, seconds: u32) -> Result<Value, String> {
        let gone = |error: std::io::Error| format!("the garden is gone: {error}");
        let input = self.child.stdin.as_mut().ok_or("the garden has no input")?;
        input.write_all(format!("{seconds}\n").as_bytes()).await.map_err(gone)?;
        let answer = self.answers.next_line().await.map_err(gone)?.ok_or("the garden is gone")?;
        serde_json::from_str(&answer).map_err(|error| error.to_string())
    }

    /// Its resident memory.
    pub(super) fn resident_bytes(&self) -> u64 {
        resident_bytes_of(&self.process)
    }

    /// Its processor time.
    pub(super) fn cpu_time(&self) -> Duration {
        cpu_time_of(&self.process)
    }
}
