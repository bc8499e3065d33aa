//! What a durable step costs, what a wait costs, and how fast a dead replica's work moves again.
//!
//! The engine is compared, in one run and on the same database, with two bare loops that write the
//! same rows through the driver alone: one transaction per step, and one per group.

mod bare;
pub(super) mod databases;
mod steps;
mod takeover;
mod throughput;
mod waiting;

use std::path::Path;

pub use databases::Kind;
pub use takeover::{Takeover, replica};
pub use throughput::Throughput;
pub use waiting::Waiting;

/// How much to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The databases.
    pub databases: Vec<Kind>,
    /// Operations in flight, line by line.
    pub in_flight: Vec<usize>,
    /// How long each bare loop runs; the engine gets as many steps as the better one made.
    pub seconds: f64,
    /// How often the bare loops and the engine take turns.
    pub rounds: usize,
    /// Operations that wait; none leaves this part out.
    pub waiting: usize,
    /// Operations in the takeover; none leaves this part out.
    pub takeover: usize,
}

/// Everything, in the order it was measured.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// Durable steps, by database and operations in flight.
    pub throughput: Vec<Throughput>,
    /// Ten thousand waiting operations, by database.
    pub waiting: Vec<Waiting>,
    /// `kill -9` of one of two processes that share PostgreSQL.
    pub takeover: Option<Takeover>,
}

/// Measures everything. `program` is this very program; the takeover starts it twice more.
pub async fn run(options: &Options, program: &Path, say: &dyn Fn(&str)) -> Result<Report, String> {
    say("starting a PostgreSQL server of our own");
    let server = databases::Server::start()?;
    let mut throughput = Vec::new();
    for &kind in &options.databases {
        for &in_flight in &options.in_flight {
            say(&format!("{kind}: durable steps with {in_flight} in flight"));
            let line = throughput::measure(&server, kind, in_flight, options).await?;
            say(&line.spelled());
            throughput.push(line);
        }
    }
    let mut waiting = Vec::new();
    for &kind in options.databases.iter().filter(|_| options.waiting > 0) {
        say(&format!("{kind}: {} waiting operations", options.waiting));
        waiting.push(waiting::measure(&server, kind, options.waiting).await?);
    }
    let mut takeover = None;
    if options.takeover > 0 {
        say("kill -9 of one of two processes that share PostgreSQL");
        takeover = Some(takeover::measure(&server, program, options.takeover).await?);
    }
    Ok(Report { throughput, waiting, takeover })
}
