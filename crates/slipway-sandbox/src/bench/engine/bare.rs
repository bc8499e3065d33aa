//! The bare loops: the rows of a step, through the driver alone.
//!
//! They write the rows that the engine writes: an operation is taken, makes twenty steps, each with a
//! ledger row of its own, and ends; then the next operation. What they leave out is everything that
//! needs a decision: which operation is due and may start, who waits for an end, wishes of operators,
//! and leases.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use slipway_engine::SystemClock;
use slipway_model::{JsonText, OperationState, RecordKind, ReplicaId, ports::Clock, recorder::Outcome};
use slipway_store::testing::bare::{Bare, BareStep};

use super::{
    databases::{Kind, Server},
    steps::{Data, NAMES},
};

/// More steps a second than any machine of this size makes; there are operations for so many.
const MOST_STEPS_PER_S: f64 = 40_000.0;

/// Steps per second of a loop with one transaction per step, and of one with group commit.
pub(super) async fn measure(
    server: &Server,
    kind: Kind,
    in_flight: usize,
    length: Duration,
) -> Result<(f64, f64), String> {
    let one_by_one = single(prepare(server, kind, in_flight, length, 0.25).await?, in_flight, length).await?;
    let grouped = group(prepare(server, kind, in_flight, length, 1.0).await?, in_flight, length).await?;
    Ok((one_by_one, grouped))
}

/// Operations that nobody runs, handed out one after the other.
struct Supply {
    bare: Bare,
    rows: Mutex<Vec<BareStep>>,
    clock: SystemClock,
    replica: ReplicaId,
}

async fn prepare(
    server: &Server,
    kind: Kind,
    in_flight: usize,
    length: Duration,
    share: f64,
) -> Result<Supply, String> {
    let database = server.fresh(kind).await?;
    let steps = MOST_STEPS_PER_S * share * length.as_secs_f64() * (in_flight as f64 / 64.0).sqrt();
    database.fill(in_flight + (steps / NAMES.len() as f64) as usize, "writes").await?;
    server.settle(kind).await?;
    let bare = database.bare().await?;
    let ids = bare.operations().await.map_err(|error| error.to_string())?;
    let rows = Mutex::new(ids.into_iter().map(BareStep::of).collect());
    let replica = ReplicaId::EXAMPLE.parse().map_err(|_| "a replica's example name is none".to_owned())?;
    Ok(Supply { bare, rows, clock: SystemClock::default(), replica })
}

impl Supply {
    fn fresh(&self) -> Option<BareStep> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Moves on to the next step: of the same operation, or the first of a fresh one. None when
    /// there is no operation left. The texts are made anew, as the engine has to.
    fn next(&self, mut step: BareStep) -> Option<BareStep> {
        if usize::try_from(step.number).unwrap_or(0) == NAMES.len() {
            step = self.fresh()?;
        }
        let name = NAMES[usize::try_from(step.number).unwrap_or(0)];
        step.number += 1;
        step.is_last = usize::try_from(step.number).unwrap_or(0) == NAMES.len();
        step.at = self.clock.wall().as_micros();
        name.clone_into(&mut step.step);
        let data = Data::after(u64::try_from(step.number).unwrap_or(0));
        step.data = JsonText::of(&data).map_or_else(|_| String::new(), |text| text.as_str().to_owned());
        step.records = records(name, &self.replica, step.number == 1, step.is_last);
        Some(step)
    }

    /// Takes those that are before their first step.
    async fn take(&self, rows: &[BareStep]) -> Result<(), String> {
        let fresh: Vec<_> = rows.iter().filter(|row| row.number == 1).map(|row| row.operation).collect();
        if fresh.is_empty() {
            return Ok(());
        }
        self.bare.take(&fresh, self.clock.wall().as_micros()).await.map_err(|error| error.to_string())
    }

    fn has_time(&self, begun: Duration, length: Duration) -> bool {
        self.clock.monotonic().saturating_sub(begun) < length
    }

    fn per_second(&self, written: usize, begun: Duration) -> f64 {
        written as f64 / self.clock.monotonic().saturating_sub(begun).as_secs_f64()
    }
}

/// The entries of the flight recorder that the engine writes with a step.
fn records(step: &str, replica: &ReplicaId, is_first: bool, is_last: bool) -> Vec<String> {
    let stage = "bench".to_owned();
    let mut kinds = Vec::new();
    if is_first {
        kinds.push(RecordKind::Started { replica: replica.clone() });
        kinds.push(RecordKind::Claimed { replica: replica.clone(), taken_from: None, woken_by: None });
    }
    kinds.push(RecordKind::Attempt {
        stage: stage.clone(),
        step: step.to_owned(),
        attempt: 1,
        outcome: Outcome::Done,
        took_us: 100,
        reason: None,
        until: None,
        on: None,
    });
    if is_last {
        kinds.push(RecordKind::StageFinished { stage });
        kinds.push(RecordKind::Ended { state: OperationState::Succeeded, description: "done".to_owned() });
    }
    kinds.iter().map(|kind| serde_json::to_string(kind).unwrap_or_default()).collect()
}

/// As many workers as operations in flight, each with one transaction per step.
async fn single(supply: Supply, in_flight: usize, length: Duration) -> Result<f64, String> {
    let (supply, written) = (Arc::new(supply), Arc::new(AtomicUsize::new(0)));
    let begun = supply.clock.monotonic();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..in_flight {
        let (supply, written) = (supply.clone(), written.clone());
        workers.spawn(async move {
            let mut row = supply.fresh().and_then(|row| supply.next(row));
            while let Some(step) = row.take_if(|_| supply.has_time(begun, length)) {
                supply.take(std::slice::from_ref(&step)).await?;
                supply.bare.write_one(&step).await.map_err(|error| error.to_string())?;
                written.fetch_add(1, Ordering::Relaxed);
                row = supply.next(step);
            }
            Ok::<_, String>(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker.map_err(|error| error.to_string())??;
    }
    let figure = supply.per_second(written.load(Ordering::Relaxed), begun);
    supply.bare.close().await;
    Ok(figure)
}

/// The next steps of all operations in flight in one transaction, again and again.
async fn group(supply: Supply, in_flight: usize, length: Duration) -> Result<f64, String> {
    let mut rows: Vec<_> = (0..in_flight).filter_map(|_| supply.fresh()).collect();
    let begun = supply.clock.monotonic();
    let mut written = 0;
    while supply.has_time(begun, length) {
        rows = rows.into_iter().filter_map(|row| supply.next(row)).collect();
        if rows.len() < in_flight {
            break;
        }
        supply.take(&rows).await?;
        supply.bare.write_group(&rows).await.map_err(|error| error.to_string())?;
        written += rows.len();
    }
    let figure = supply.per_second(written, begun);
    supply.bare.close().await;
    Ok(figure)
}
