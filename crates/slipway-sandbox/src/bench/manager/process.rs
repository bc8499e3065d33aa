//! The manager in a process of its own, as it is run in production: `slipway serve --role manager`.
//!
//! So its memory and its processor time are its own, and a restart is a restart.

use std::{net::SocketAddr, path::Path, process::Stdio, time::Duration};

use slipway_model::{
    ports::Clock as _,
    time::{millis, secs},
};
use slipway_sim::ground::{CONTROL_PLANE, GARDEN};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

use super::land::{Land, prefix_error};
use crate::bench::measure::{cpu_time_of, resident_bytes_of};

/// Requests a second to the garden.
pub(super) const RATE: u32 = 50;
/// And at once.
pub(super) const BURST: u32 = 10;

/// A running manager. It ends when this is dropped.
pub(super) struct Process {
    child: Child,
    id: String,
    health: SocketAddr,
    /// From the start to the first `ready`.
    pub(super) ready_after: Duration,
}

impl Process {
    /// Starts one, and waits until it has read everything.
    pub(super) async fn start(program: &Path, land: &Land) -> Result<Self, String> {
        let wrong = prefix_error("the manager does not start");
        let health = free_port().await.map_err(|error| wrong(&error))?;
        let folder = land.folder.path();
        let began = land.clock.monotonic();
        let child = Command::new(program)
            .args(["serve", "--role", "manager", "--audit-log-mandatory=false", "--deletion-brake=0"])
            .args(["--zap-log-level", "error,kube_client=off", "--metrics-bind-address", "0"])
            .arg("--kubeconfig")
            .arg(folder.join(CONTROL_PLANE))
            .arg("--gardener-kubeconfig-path")
            .arg(folder.join(GARDEN))
            .arg("--converter-config-filepath")
            .arg(&land.configuration)
            .args(["--health-probe-bind-address", &health.to_string()])
            .args(["--gardener-ratelimiter-qps", &RATE.to_string(), "--gardener-ratelimiter-burst", &BURST.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| wrong(&error))?;
        let id = child.id().map(|id| id.to_string()).unwrap_or_default();
        let mut process = Self { child, id, health, ready_after: Duration::ZERO };
        while !process.is_ready().await {
            if let Ok(Some(status)) = process.child.try_wait() {
                return Err(format!("the manager ended at once: {status}"));
            }
            if land.clock.monotonic().saturating_sub(began) > secs(120) {
                return Err("the manager was not ready within two minutes".to_owned());
            }
            land.clock.sleep(millis(5)).await;
        }
        process.ready_after = land.clock.monotonic().saturating_sub(began);
        Ok(process)
    }

    async fn is_ready(&self) -> bool {
        let asked = async {
            let mut stream = TcpStream::connect(self.health).await?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: manager\r\nConnection: close\r\n\r\n").await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(answer.starts_with(b"HTTP/1.1 200"))
        };
        asked.await.unwrap_or(false)
    }

    /// Its resident memory.
    pub(super) fn resident_bytes(&self) -> u64 {
        resident_bytes_of(&self.id)
    }

    /// Its processor time so far.
    pub(super) fn cpu_time(&self) -> Duration {
        cpu_time_of(&self.id)
    }

    /// Ends it as `kill -9` does.
    pub(super) async fn kill(mut self) {
        // One that is dead already is what was wanted.
        let _ = self.child.kill().await;
    }
}

async fn free_port() -> std::io::Result<SocketAddr> {
    TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?.local_addr()
}
