//! The processes that are measured.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use slipway_engine::{
    Domain, Engine, EngineConfig, Parts, ProcessTable, Registry, Status, Step, StepCtx, StepResult, SystemClock,
    SystemRandom, row,
};
use slipway_model::{
    JsonText, NewOperation, OperationId, OperationType, ProcessKey,
    ports::{Clock, Storage},
    time::hours,
};

pub(super) struct Bench;

/// Data of about the size that a provisioning has.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    pub(super) steps: u64,
    pub(super) filling: String,
}

impl Data {
    /// Data after this many steps, about 1.5 kB.
    pub(super) fn after(steps: u64) -> Self {
        Self { steps, filling: "0123456789abcdef".repeat(90) }
    }
}

impl Domain for Bench {
    type Data = Data;
    type Systems = Watch;
}

/// Notes when steps begin and end.
pub(super) struct Watch {
    pub(super) clock: SystemClock,
    seen: Mutex<Timings>,
}

#[derive(Default)]
pub(super) struct Timings {
    /// End of the latest step of an operation.
    ends: BTreeMap<OperationId, Duration>,
    /// From the end of a step to the beginning of the next: the commit in between.
    pub(super) commits: Vec<Duration>,
    /// Beginning of the first step of an operation.
    pub(super) begins: BTreeMap<OperationId, Duration>,
    pub(super) steps: usize,
    pub(super) waits: usize,
    pub(super) ended: usize,
}

impl Watch {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { clock: SystemClock::default(), seen: Mutex::default() })
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&mut Timings) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn step(&self, id: OperationId, is_last: bool) {
        let now = self.clock.monotonic();
        self.look(|seen| {
            seen.steps += 1;
            seen.ended += usize::from(is_last);
            match seen.ends.insert(id, now) {
                Some(end) => seen.commits.push(now.saturating_sub(end)),
                None => {
                    seen.begins.insert(id, now);
                }
            }
        });
    }
}

/// Names of the steps that only write. Twenty of them make an operation.
pub(super) const NAMES: [&str; 20] = [
    "Write_01", "Write_02", "Write_03", "Write_04", "Write_05", "Write_06", "Write_07", "Write_08", "Write_09",
    "Write_10", "Write_11", "Write_12", "Write_13", "Write_14", "Write_15", "Write_16", "Write_17", "Write_18",
    "Write_19", "Write_20",
];

struct Write<const N: usize>;

impl<const N: usize> Step<Bench> for Write<N> {
    fn name(&self) -> &'static str {
        NAMES[N]
    }

    async fn run(&self, ctx: &mut StepCtx<Bench>) -> StepResult {
        ctx.systems().step(ctx.op().id, N + 1 == NAMES.len());
        ctx.done_with(|data| data.steps += 1)
    }
}

/// Waits for an hour.
struct WaitLong;

impl Step<Bench> for WaitLong {
    fn name(&self) -> &'static str {
        "Wait_Long"
    }

    async fn run(&self, ctx: &mut StepCtx<Bench>) -> StepResult {
        ctx.systems().look(|seen| seen.waits += 1);
        ctx.wait(None, hours(1), "Waiting for an hour")
    }
}

/// Looks five times a second, for ever.
struct Tick;

impl Step<Bench> for Tick {
    fn name(&self) -> &'static str {
        "Tick"
    }

    async fn run(&self, ctx: &mut StepCtx<Bench>) -> StepResult {
        ctx.wait(None, Duration::from_millis(200), "Ticking")
    }
}

macro_rules! process {
    ($table:ident, $name:literal, [$($step:expr),+ $(,)?]) => {
        static $table: ProcessTable<Bench> = ProcessTable {
            name: $name,
            version: 1,
            kind: OperationType::Provision,
            budget: hours(24),
            rows: &[$(row("bench", 1, &$step)),+],
            finalizers: &[],
        };
    };
}

process!(
    WRITES,
    "writes",
    [
        Write::<0>,
        Write::<1>,
        Write::<2>,
        Write::<3>,
        Write::<4>,
        Write::<5>,
        Write::<6>,
        Write::<7>,
        Write::<8>,
        Write::<9>,
        Write::<10>,
        Write::<11>,
        Write::<12>,
        Write::<13>,
        Write::<14>,
        Write::<15>,
        Write::<16>,
        Write::<17>,
        Write::<18>,
        Write::<19>,
    ]
);
process!(WAITS, "waits", [WaitLong]);
process!(TICKS, "ticks", [Tick]);

/// An engine with these processes and this many slots, at work.
pub(super) async fn engine(store: Arc<dyn Storage>, watch: &Arc<Watch>, slots: usize) -> Result<Engine<Bench>, String> {
    let registry = Registry::default()
        .with(&WRITES)
        .and_then(|registry| registry.with(&WAITS))
        .and_then(|registry| registry.with(&TICKS))
        .map_err(|error| error.to_string())?;
    let engine = Engine::start(Parts {
        store,
        registry,
        systems: watch.clone(),
        clock: Arc::new(watch.clock),
        random: Arc::new(SystemRandom::default()),
        config: EngineConfig { slots: slipway_engine::config::Slots::each(slots), ..EngineConfig::default() },
    });
    let ready = engine.status().wait_for(|status| *status == Status::Ready).await.map(|_| ());
    ready.map_err(|_| "the engine ended".to_owned())?;
    Ok(engine)
}

/// An operation of one of the processes.
pub(super) fn operation(id: OperationId, process: &str) -> Result<NewOperation, String> {
    Ok(NewOperation {
        id,
        instance_id: format!("bench-{id}").parse().map_err(|error| format!("{error}"))?,
        kind: OperationType::Provision,
        temporary: false,
        plan: "bench".to_owned(),
        process: ProcessKey { name: process.to_owned(), version: 1 },
        budget: hours(24),
        data: JsonText::of(&Data::after(0)).map_err(|error| error.to_string())?,
        secrets: None,
        by: "bench".to_owned(),
    })
}
