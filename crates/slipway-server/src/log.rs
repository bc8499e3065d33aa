//! Log lines, on standard error: standard output is for data.

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{Log, LogFormat};

/// Starts logging for the whole program. A second call changes nothing.
pub fn start(log: &Log) {
    // The level was checked with the rest of the configuration.
    let filter = EnvFilter::try_new(&log.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // Fails only when logging has begun already, as in tests.
    let _ = match log.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
