//! The infrastructure manager: how fast it reacts, what it asks for, and what it costs to be there.
//!
//! The manager is a process of its own. The control plane is next door, the garden and the customers' clusters
//! are a round trip away. Every size begins with a fresh landscape: one Runtime is made for real, copied as
//! often as the size says, and the manager is started again; from there on everything is measured in one life.
//!
//! | letter | is | in |
//! |---|---|---|
//! | A5, A6, A7 | restart, doing nothing, memory | `rest` |
//! | A1, A3, A4, A8 | one at a time | `reactions` |
//! | A2, A11, A1 again | many at once | `storms` |
//! | A10 | rendering | `bench render` |

mod gardener;
mod land;
mod line;
mod process;
mod reactions;
mod rest;
mod runtimes;
mod spread;
mod storms;
mod traces;

use std::{path::Path, sync::Arc, time::Duration};

use slipway_model::ports::Clock as _;
use tokio::task::JoinSet;

use gardener::Gardener;
use land::Land;
pub use land::Requests;
use process::Process;
pub use reactions::{Creation, Deletion, Each, Update};
pub use rest::{Restart, Steady};
pub use spread::Spread;
use spread::round;
pub use storms::{Burst, Outage, Queue};
use traces::{Trace, Traces};

/// How much to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Finished Runtimes, one landscape for each figure.
    pub runtimes: Vec<usize>,
    /// Round trip to the garden and to customers' clusters.
    pub round_trip: Duration,
    /// How long the garden is away.
    pub outage: Duration,
}

/// Everything, in the order it was measured.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// Processor cores, shared by the manager and everything it talks to.
    pub cores: usize,
    /// Round trip to the garden and to customers' clusters.
    pub round_trip_ms: f64,
    /// Requests a second to the garden, and at once, that the manager allows itself.
    pub garden_rate: (u32, u32),
    /// Shoots rendered in a second on one core, as `bench render` has it (A10).
    pub rendering: serde_json::Value,
    /// By number of Runtimes.
    pub sizes: Vec<Size>,
}

/// One landscape.
#[derive(Debug, serde::Serialize)]
pub struct Size {
    /// Finished Runtimes at the beginning.
    pub runtimes: usize,
    /// A start with these (A5).
    pub restart: Restart,
    /// Resident memory of the manager at rest behind that, in MB of a million bytes (A7).
    pub resident_mb: f64,
    /// Nothing is due (A6).
    pub steady: Steady,
    /// New ones, one after the other (A1, A3, A8).
    pub creation: Creation,
    /// Changed ones, one after the other (A3, A8).
    pub update: Update,
    /// Fifty annotations that concern nobody: all requests (A8).
    pub annotation_touches: Requests,
    /// Fifty labels that concern nobody: all requests (A8).
    pub label_touches: Requests,
    /// Deleted ones, one after the other (A4).
    pub deletion: Deletion,
    /// Many changes at once (A2).
    pub queue: Queue,
    /// The garden is away (A11).
    pub outage: Outage,
    /// Many new ones at once (A1).
    pub burst: Burst,
    /// Resident memory of the manager after all of it.
    pub resident_at_end_mb: f64,
}

/// Measures everything. `program` is this very program; it is started again as the manager.
pub async fn run(options: &Options, program: &Path, say: &dyn Fn(&str)) -> Result<Report, String> {
    let rendering = super::render::run(2.0)?;
    say(&format!("rendering: {rendering}"));
    let mut sizes = Vec::new();
    for count in &options.runtimes {
        sizes.push(size(*count, options, program, say).await?);
    }
    Ok(Report {
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        round_trip_ms: round(options.round_trip.as_secs_f64() * 1000.0),
        garden_rate: (process::RATE, process::BURST),
        rendering,
        sizes,
    })
}

async fn size(count: usize, options: &Options, program: &Path, say: &dyn Fn(&str)) -> Result<Size, String> {
    let said = |what: String| say(&format!("{count} Runtimes: {what}"));
    // A watch must be able to follow a burst of everything there is.
    let land = Arc::new(Land::start(options.round_trip, 8 * count.max(4096)).await?);
    let mut tasks = JoinSet::new();
    let traces = Traces::follow(&land, &mut tasks);
    Gardener::start(&land, &traces, &mut tasks)?;

    let began = land.clock.monotonic();
    let first = Process::start(program, &land).await?;
    runtimes::create(&land, runtimes::MODEL).await?;
    traces.until("the model is Ready", &[runtimes::MODEL.to_owned()], Trace::ready).await?;
    rest::until_at_rest(&land, &first).await?;
    first.kill().await;
    runtimes::seed(&land, count).await?;
    said(format!("there after {:.1} s", land.clock.monotonic().saturating_sub(began).as_secs_f64()));

    let (manager, restart) = rest::restart(program, &land).await?;
    let megabytes = |process: &Process| round(process.resident_bytes() as f64 / 1_000_000.0);
    let resident_mb = megabytes(&manager);
    said(format!(
        "ready after {:.0} ms, {} garden requests, {resident_mb:.0} MB",
        restart.ready_ms, restart.garden_requests
    ));
    let steady = rest::steady(&land, &manager).await;
    let creation = reactions::creation(&land, &traces, &manager).await?;
    said(format!("create to Shoot {}", creation.to_shoot.spelled()));
    said(format!("created to Ready {}", creation.succeeded_to_ready.spelled()));
    let update = reactions::update(&land, &traces, &manager, count).await?;
    said(format!("updated to Ready {}", update.succeeded_to_ready.spelled()));
    let annotation_touches = reactions::touches(&land, &manager, "annotations", count).await?;
    let label_touches = reactions::touches(&land, &manager, "labels", count).await?;
    let deletion = reactions::deletion(&land, &traces, &manager).await?;
    said(format!("Shoot gone to Runtime gone {}", deletion.shoot_gone_to_gone.spelled()));
    let queue = storms::queue(&land, &traces, count).await?;
    said(format!("update to Pending behind {} {}", queue.queued, queue.behind_to_pending.spelled()));
    rest::until_at_rest(&land, &manager).await?;
    let outage = storms::outage(&land, &traces, count, options.outage).await?;
    said(format!("{} changes Ready {:.1} s after an outage", outage.changes, outage.back_to_all_ready_s));
    rest::until_at_rest(&land, &manager).await?;
    let burst = storms::burst(&land, &traces).await?;
    said(format!("{} new ones, {}", burst.runtimes, burst.to_shoot.spelled()));
    let resident_at_end_mb = megabytes(&manager);
    manager.kill().await;
    Ok(Size {
        runtimes: count,
        restart,
        resident_mb,
        steady,
        creation,
        update,
        annotation_touches,
        label_touches,
        deletion,
        queue,
        outage,
        burst,
        resident_at_end_mb,
    })
}
