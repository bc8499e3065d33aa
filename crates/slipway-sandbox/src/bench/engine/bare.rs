//! The bare loops: the rows of a step, through the driver alone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use slipway_engine::SystemClock;
use slipway_model::{JsonText, RecordKind, ports::Clock, recorder::Outcome};
use slipway_store::testing::bare::{Bare, BareStep};

use super::{
    databases::{Database, Kind, Server},
    steps::{Data, NAMES},
};

/// Steps per second of a loop with one transaction per step, and of one with group commit.
pub(super) async fn measure(
    server: &Server,
    kind: Kind,
    in_flight: usize,
    length: Duration,
) -> Result<(f64, f64), String> {
    let (bare, rows) = prepare(server.fresh(kind).await?, in_flight).await?;
    let one_by_one = single(&bare, rows, length).await?;
    bare.close().await;
    let (bare, rows) = prepare(server.fresh(kind).await?, in_flight).await?;
    let grouped = group(&bare, rows, length).await?;
    bare.close().await;
    Ok((one_by_one, grouped))
}

/// Fills a database with operations that nobody runs, and takes hold of their rows.
async fn prepare(database: Database, count: usize) -> Result<(Bare, Vec<BareStep>), String> {
    database.fill(count, "writes").await?;
    let bare = database.bare().await?;
    let ids = bare.take().await.map_err(|error| error.to_string())?;
    Ok((bare, ids.into_iter().map(BareStep::of).collect()))
}

/// Moves a row on to its next step. The texts are made anew, as the engine has to.
fn next(step: &mut BareStep, clock: &SystemClock) {
    step.number += 1;
    let count = u64::try_from(step.number).unwrap_or(0);
    let name = NAMES[usize::try_from(count).unwrap_or(0) % NAMES.len()];
    step.at = clock.wall().as_micros();
    name.clone_into(&mut step.step);
    step.data = JsonText::of(&Data::after(count)).map_or_else(|_| String::new(), |text| text.as_str().to_owned());
    let record = RecordKind::Attempt {
        stage: "bench".to_owned(),
        step: name.to_owned(),
        attempt: 1,
        outcome: Outcome::Done,
        took_us: 100,
        reason: None,
        until: None,
        on: None,
    };
    step.record = serde_json::to_string(&record).unwrap_or_default();
}

/// As many workers as there are rows, each with one transaction per step.
async fn single(bare: &Bare, rows: Vec<BareStep>, length: Duration) -> Result<f64, String> {
    let clock = SystemClock::default();
    let (over, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let begun = clock.monotonic();
    let workers: Vec<_> = rows
        .into_iter()
        .map(|mut row| {
            let (bare, over, written) = (bare.clone(), over.clone(), written.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    next(&mut row, &clock);
                    bare.write_one(&row).await.map_err(|error| error.to_string())?;
                    written.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, String>(())
            })
        })
        .collect();
    clock.sleep(length).await;
    over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.map_err(|error| error.to_string())??;
    }
    Ok(written.load(Ordering::Relaxed) as f64 / clock.monotonic().saturating_sub(begun).as_secs_f64())
}

/// All rows in one transaction, again and again.
async fn group(bare: &Bare, mut rows: Vec<BareStep>, length: Duration) -> Result<f64, String> {
    let clock = SystemClock::default();
    let begun = clock.monotonic();
    let mut written = 0;
    while clock.monotonic().saturating_sub(begun) < length {
        rows.iter_mut().for_each(|row| next(row, &clock));
        bare.write_group(&rows).await.map_err(|error| error.to_string())?;
        written += rows.len();
    }
    Ok(written as f64 / clock.monotonic().saturating_sub(begun).as_secs_f64())
}
