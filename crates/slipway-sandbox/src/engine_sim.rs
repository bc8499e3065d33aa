//! The engine under simulated time, with everything going wrong that can go wrong.
//!
//! One seed is one story: a few replicas on one memory store; clients that ask for operations;
//! operators, events and outside writers that interfere; crashes at any point where something is
//! awaited, lost and doubled wake-ups, slow and failing storage whose effect may or may not have
//! taken place, jumping clocks, replicas that are paused and come back. After a while the faults
//! stop, and everything must come to its end. The judge looks after every single write.
//!
//! The same seed always tells the same story: one thread, simulated time, no chance but the seed.

mod chance;
mod clients;
mod clock;
mod judge;
mod replica;
mod steps;
mod store;
mod weather;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use slipway_model::Bugs;

use crate::engine_sim::{chance::Chance, judge::Judge};

/// What one seed came to.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Story {
    /// The seed.
    pub seed: u64,
    /// What the judge found wrong; empty if nothing.
    pub violations: Vec<String>,
    /// Operations that were accepted.
    pub operations: usize,
    /// Writes the judge looked at.
    pub writes: u64,
    /// Crashes of replicas.
    pub crashes: u64,
    /// Simulated time.
    pub simulated: Duration,
    /// Digest of all that was written, in order: equal for equal stories.
    pub digest: u64,
}

/// What many seeds came to.
#[derive(Debug, Default, serde::Serialize)]
pub struct Report {
    /// Seeds run.
    pub seeds: u64,
    /// Operations accepted in all.
    pub operations: usize,
    /// Writes judged in all.
    pub writes: u64,
    /// Crashes in all.
    pub crashes: u64,
    /// Simulated hours in all.
    pub simulated_hours: f64,
    /// Stories with violations, by seed.
    pub failed: Vec<Story>,
}

/// Tells the story of one seed.
pub fn run_seed(seed: u64, bugs: Bugs) -> Story {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing that could be missing");
    let story = runtime.block_on(clients::tell(Chance::new(seed), bugs));
    Story { seed, ..story }
}

/// Runs `count` seeds from `from` on, on `threads` threads; with `stop_at_first` until one fails.
pub fn run_many(from: u64, count: u64, threads: usize, bugs: Bugs, stop_at_first: bool) -> Report {
    let next = Arc::new(AtomicU64::new(from));
    let end = from.saturating_add(count);
    let workers: Vec<_> = (0..threads.max(1))
        .map(|_| {
            let next = next.clone();
            std::thread::spawn(move || {
                let mut report = Report::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return report;
                    }
                    let story = run_seed(seed, bugs);
                    let failed = !story.violations.is_empty();
                    report.add(story);
                    if failed && stop_at_first {
                        next.store(end, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    let mut all = Report::default();
    for worker in workers {
        match worker.join() {
            Ok(report) => all.merge(report),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    all.failed.sort_by_key(|story| story.seed);
    all
}

impl Report {
    fn add(&mut self, story: Story) {
        self.seeds += 1;
        self.operations += story.operations;
        self.writes += story.writes;
        self.crashes += story.crashes;
        self.simulated_hours += story.simulated.as_secs_f64() / 3600.0;
        if !story.violations.is_empty() {
            self.failed.push(story);
        }
    }

    fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.operations += other.operations;
        self.writes += other.writes;
        self.crashes += other.crashes;
        self.simulated_hours += other.simulated_hours;
        self.failed.extend(other.failed);
    }
}
