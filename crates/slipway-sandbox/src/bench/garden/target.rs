//! The garden that is measured, in a process of its own.

use std::{path::Path, time::Duration};

use jiff::SignedDuration;
use kube::Client;
use serde_json::Value;
use slipway_sim::garden::{Garden, Options, Pace, engine::life::Settings};
use tokio::io::AsyncWriteExt as _;

use super::round;
use crate::bench::{
    measure::{cpu_time_of, resident_bytes_of},
    part::{self, KUBECONFIG, READY, Serving},
};

/// A garden, and somebody who asks it.
pub(super) struct Target {
    pub(super) client: Client,
    serving: Serving,
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
        let serving = part::serve(program, "garden-server").await?;
        let took = round(serving.part.ready_after.as_secs_f64() * 1000.0);
        Ok((Self { client: serving.client.clone(), serving }, took))
    }

    /// Moves the clock on, waits until everything that was due is done, and answers what the garden has counted.
    pub(super) async fn advance(&mut self, seconds: u32) -> Result<Value, String> {
        let gone = |error: std::io::Error| format!("the garden is gone: {error}");
        let input = self.serving.part.child.stdin.as_mut().ok_or("the garden has no input")?;
        input.write_all(format!("{seconds}\n").as_bytes()).await.map_err(gone)?;
        let answer = self.serving.part.answers.next_line().await.map_err(gone)?.ok_or("the garden is gone")?;
        serde_json::from_str(&answer).map_err(|error| error.to_string())
    }

    /// Its resident memory.
    pub(super) fn resident_bytes(&self) -> u64 {
        resident_bytes_of(&self.serving.part.id())
    }

    /// Its processor time.
    pub(super) fn cpu_time(&self) -> Duration {
        cpu_time_of(&self.serving.part.id())
    }
}
