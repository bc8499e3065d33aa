//! The signals that stop a server: the first asks, the second does not.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code after a second signal: 128 and the number of SIGINT, as shells do.
const AT_ONCE: i32 = 130;

/// SIGTERM and SIGINT, caught from now on.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches both. Make it before anything is started, so that no signal is met unprepared.
    pub fn catch() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Ends with the next signal; answers its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// From now on a signal ends the process at once. Nothing is lost by that: the engine is made
    /// to be killed.
    pub fn end_at_next(mut self) {
        tokio::spawn(async move {
            let name = self.next().await;
            tracing::warn!(signal = name, "a second signal: ending at once; running steps run again at the next start");
            std::process::exit(AT_ONCE);
        });
    }
}
