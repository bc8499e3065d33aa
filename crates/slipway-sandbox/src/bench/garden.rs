//! The simulated garden under load: is it ever what a test waits for?
//!
//! It is a process of its own, on disk, asked over TLS, with clients on the same cores. Its clock stands while
//! Shoots are made, so that making them is measured apart from their lives; then it moves on whenever nothing is left
//! to do, so that the engine never waits. Seeds have room for everybody at once.

mod lives;
mod making;
mod target;

use std::path::Path;

pub use lives::Lives;
pub use making::Creates;
pub use target::serve;

use super::kube::{Flow, round, watchers};
use target::Target;

/// How much to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Shoots that live.
    pub shoots: usize,
    /// How long creates alone and watches are measured.
    pub seconds: f64,
    /// Watches of all Shoots.
    pub watchers: usize,
}

/// Everything, in the order it was measured.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// Processor cores, shared by the garden and its clients.
    pub cores: usize,
    /// From starting the process to its first word, with an empty folder.
    pub start_ms: f64,
    /// Shoots the engine leaves alone.
    pub creates_alone: Creates,
    /// Shoots the engine takes up at once: each is scheduled and its creation begun while others are made.
    pub creates: Creates,
    /// The creation of all of them.
    pub lives: Lives,
    /// Resident memory before there were Shoots.
    pub memory_before_bytes: u64,
    /// And with all of them created, each with its own API.
    pub memory_after_bytes: u64,
    /// The fastest of three lists of all Shoots, in one request, until its last byte.
    pub list_ms: f64,
    /// Bytes of it.
    pub list_bytes: usize,
    /// Watches.
    pub watchers: usize,
    /// Watches of all Shoots while four write.
    pub fan_out: Flow,
}

/// Measures everything. `program` is this very program; it is started again to serve the garden.
pub async fn run(options: &Options, program: &Path, say: &dyn Fn(&str)) -> Result<Report, String> {
    let (first, start_ms) = Target::start(program).await?;
    say(&format!("started in {start_ms} ms"));
    let creates_alone = making::for_a_while(&first, options.seconds).await?;
    say(&format!("{:.0} creates/s that nobody takes up", creates_alone.per_s));
    drop(first);

    let (mut target, _) = Target::start(program).await?;
    let memory_before_bytes = target.resident_bytes();
    let creates = making::all(&target, options.shoots).await?;
    say(&format!("{:.0} creates/s", creates.per_s));
    let lives = lives::measure(&mut target, options.shoots, say).await?;
    say(&format!("{:.0} status changes/s", lives.status_changes_per_s));
    let memory_after_bytes = target.resident_bytes();
    let (list_ms, list_bytes) = lives::list(&target, options.shoots).await?;
    say(&format!("{} MB, list in {list_ms:.0} ms", memory_after_bytes / 1_000_000));
    let fan_out = lives::fan_out(&target, options).await?;
    say(&format!("{} watches: {:.0} events/s", options.watchers, fan_out.events_per_s));
    Ok(Report {
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        start_ms,
        creates_alone,
        creates,
        lives,
        memory_before_bytes,
        memory_after_bytes,
        list_ms,
        list_bytes,
        watchers: options.watchers,
        fan_out,
    })
}
