//! Parts of a benchmark that are processes of their own: this very program, started again.

use std::{ffi::OsStr, io, path::Path, process::Stdio, time::Duration};

use kube::Client;
use kube_sandbox::kubeconfig;
use slipway_engine::SystemClock;
use slipway_model::ports::Clock as _;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

/// What a part says when it is at work.
pub(super) const READY: &str = "ready";

/// The kubeconfig that a part which serves Kubernetes writes into its folder.
pub(super) const KUBECONFIG: &str = "kubeconfig.json";

/// A part at work. It is killed when this is dropped, and sees its input end when we do.
pub(super) struct Part {
    pub(super) child: Child,
    /// What it says from now on.
    pub(super) answers: Lines<BufReader<ChildStdout>>,
    /// From its start to its first word.
    pub(super) ready_after: Duration,
}

impl Part {
    /// Its process id.
    pub(super) fn id(&self) -> String {
        self.child.id().map(|id| id.to_string()).unwrap_or_default()
    }
}

/// Starts `slipway bench NAME` with an option and waits until it says [`READY`].
pub(super) async fn start(program: &Path, name: &str, option: (&str, &OsStr)) -> Result<Part, String> {
    let explain = |error: io::Error| format!("cannot start {}: {error}", program.display());
    let clock = SystemClock::default();
    let begun = clock.monotonic();
    let mut child = Command::new(program)
        .args(["bench", name, option.0])
        .arg(option.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(explain)?;
    let stdout = child.stdout.take().ok_or("the process has no output")?;
    let mut answers = BufReader::new(stdout).lines();
    match answers.next_line().await.map_err(explain)?.as_deref() {
        Some(READY) => {
            let ready_after = clock.monotonic().saturating_sub(begun);
            Ok(Part { child, answers, ready_after })
        }
        _ => Err(format!("`slipway bench {name}` did not come to work; what it says about it is above")),
    }
}

/// A part that serves Kubernetes, from a folder of its own that goes with it, and somebody who asks it.
pub(super) struct Serving {
    pub(super) part: Part,
    pub(super) client: Client,
    _folder: TempDir,
}

/// Starts `slipway bench NAME --data-dir` with a fresh folder.
pub(super) async fn serve(program: &Path, name: &str) -> Result<Serving, String> {
    let unusable = |error: io::Error| format!("the folder of `slipway bench {name}` cannot be used: {error}");
    let folder = tempfile::Builder::new().prefix("slipway-bench-").tempdir().map_err(unusable)?;
    let part = start(program, name, ("--data-dir", folder.path().as_os_str())).await?;
    let text = tokio::fs::read_to_string(folder.path().join(KUBECONFIG)).await.map_err(unusable)?;
    let client = kubeconfig::client(&text).await.map_err(|error| error.to_string())?;
    Ok(Serving { part, client, _folder: folder })
}
