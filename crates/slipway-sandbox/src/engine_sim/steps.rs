//! The processes of the stories: every kind of step the engine can meet, in short tables.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use secrecy::zeroize::Zeroize;
use serde::{Deserialize, Serialize};
use slipway_engine::{Domain, Op, ProcessTable, Registry, Step, StepCtx, StepError, StepResult, row};
use slipway_model::{
    OperationId, OperationState, OperationType, Reason, WaitKey,
    time::{mins, secs},
};

use super::{judge::Judge, weather::Site};

/// Retry interval and budget of the flaky step.
pub(crate) const FLAKY_INTERVAL: Duration = secs(2);
pub(crate) const FLAKY_MAX: Duration = secs(30);

pub(crate) struct SimDomain;

/// Data of a simulated operation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SimData {
    /// Written before the thing outside is made.
    pub(crate) intent: bool,
    /// Counted up by somebody who is not the process.
    pub(crate) outside: u64,
    /// Counted up by the process.
    pub(crate) progress: u64,
}

impl Domain for SimDomain {
    type Data = SimData;
    type Systems = SimSystems;
}

/// What an operation will meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    pub(crate) flaky: Flaky,
    pub(crate) conclusion: Conclusion,
    /// The lease is given up during the wait.
    pub(crate) long_wait: bool,
    pub(crate) bad_finalizer: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaky {
    Never,
    Times(u32),
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conclusion {
    Done,
    Fail,
    Finish,
    Panic,
    Skip,
}

/// The world outside, shared by all replicas.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) scripts: Mutex<BTreeMap<OperationId, Script>>,
    /// What waiting steps wait for.
    pub(crate) flags: Mutex<BTreeMap<OperationId, bool>>,
    errors: Mutex<BTreeMap<OperationId, u32>>,
}

impl World {
    fn script(&self, id: OperationId) -> Script {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)[&id]
    }

    fn is_set(&self, id: OperationId) -> bool {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied().unwrap_or(false)
    }
}

/// The world as one replica reaches it.
pub(crate) struct SimSystems {
    pub(crate) world: Arc<World>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) site: Arc<Site>,
}

impl SimSystems {
    /// A call outside: takes time, may fail, and the replica may die before or after its effect.
    async fn call<T>(&self, effect: impl FnOnce(&World) -> T) -> Result<T, String> {
        self.site.before().await.map_err(|error| error.to_string())?;
        let answer = effect(&self.world);
        self.site.after().await.map_err(|error| error.to_string())?;
        Ok(answer)
    }
}

/// The key an operation waits on.
pub(crate) fn key_of(id: OperationId) -> WaitKey {
    format!("world/{id}").parse().expect("kind and id")
}

/// Runs a step under the judge's eyes.
macro_rules! sim_step {
    ($type:ident, $name:literal, $stage:literal, |$ctx:ident, $systems:ident| $body:expr) => {
        struct $type;

        impl Step<SimDomain> for $type {
            fn name(&self) -> &'static str {
                $name
            }

            async fn run(&self, $ctx: &mut StepCtx<SimDomain>) -> StepResult {
                let $systems = $ctx.systems();
                let _running = $systems.judge.step_begins($ctx.op().id, $ctx.fence(), $stage);
                $body
            }
        }
    };
}

/// What one step leaves to a later one of the same stage: the lease it was made under.
struct Token {
    fence: u64,
}

impl Zeroize for Token {
    fn zeroize(&mut self) {
        self.fence = 0;
    }
}

fn retry(ctx: &StepCtx<SimDomain>, message: String) -> StepResult {
    ctx.retry(StepError::new(Reason::HttpStatusCode, "the world is broken", message), FLAKY_INTERVAL, mins(4))
}

sim_step!(MakeThing, "Make_Thing", "begin", |ctx, systems| {
    if !ctx.data().intent {
        ctx.update(|data| data.intent = true).await;
    }
    let id = ctx.op().id;
    let judge = systems.judge.clone();
    let made = systems
        .call(|_| {
            let stored =
                judge.store.inspect(|all| all.operation(id).and_then(|op| op.fields.data.to::<SimData>().ok()));
            if !stored.is_some_and(|data| data.intent) {
                judge.violation(format!("{id} made something outside that was not on record"));
            }
        })
        .await;
    match made {
        Ok(()) => ctx.done_with(|data| data.progress += 1),
        Err(error) => retry(ctx, error),
    }
});

sim_step!(FillMemory, "Fill_Memory", "begin", |ctx, _systems| {
    let fence = ctx.fence();
    ctx.memory().put(Token { fence });
    ctx.done()
});

sim_step!(FlakyStep, "Flaky", "begin", |ctx, systems| {
    let id = ctx.op().id;
    let script = systems.world.script(id);
    let fails = systems
        .call(|world| {
            let mut errors = world.errors.lock().unwrap_or_else(PoisonError::into_inner);
            let count = errors.entry(id).or_default();
            *count += 1;
            match script.flaky {
                Flaky::Never => false,
                Flaky::Times(times) => *count <= times,
                Flaky::Always => true,
            }
        })
        .await;
    match fails {
        Ok(false) => ctx.done_with(|data| data.progress += 1),
        Ok(true) | Err(_) => {
            let error = StepError::new(Reason::HttpStatusCode, "the world is broken", "500");
            ctx.retry(error, FLAKY_INTERVAL, FLAKY_MAX)
        }
    }
});

sim_step!(AwaitWorld, "Await_World", "inner", |ctx, systems| {
    let id = ctx.op().id;
    let at_latest = if systems.world.script(id).long_wait { secs(75) } else { secs(20) };
    let judge = systems.judge.clone();
    let is_set = systems.call(|world| {
        judge.looked(id);
        world.is_set(id)
    });
    match is_set.await {
        Ok(true) => ctx.done(),
        Ok(false) => ctx.wait(Some(key_of(id)), at_latest, "Waiting for the world"),
        Err(error) => retry(ctx, error),
    }
});

sim_step!(UseMemory, "Use_Memory", "begin", |ctx, systems| {
    let (id, fence) = (ctx.op().id, ctx.fence());
    match ctx.memory().get::<Token>().map(|token| token.fence) {
        Some(made_under) if made_under == fence => {}
        other => systems.judge.violation(format!("{id} finds memory of {other:?} under fence {fence}")),
    }
    ctx.done_with(|data| data.progress += 1)
});

sim_step!(Conclude, "Conclude", "late", |ctx, systems| {
    match systems.world.script(ctx.op().id).conclusion {
        Conclusion::Done => ctx.done(),
        Conclusion::Fail => ctx.fail(StepError::internal("told to fail")),
        Conclusion::Finish => ctx.finish(OperationState::Succeeded, "told to finish"),
        // Not `panic!`: the hook would print it for every story.
        Conclusion::Panic => std::panic::resume_unwind(Box::new("told to panic")),
        Conclusion::Skip => ctx.skip("told to skip"),
    }
});

struct OnlySometimes;

impl Step<SimDomain> for OnlySometimes {
    fn name(&self) -> &'static str {
        "Only_Sometimes"
    }

    fn applies(&self, op: &Op<SimDomain>) -> bool {
        op.data.outside % 2 == 1
    }

    async fn run(&self, ctx: &mut StepCtx<SimDomain>) -> StepResult {
        ctx.done()
    }
}

sim_step!(TidyUp, "Tidy_Up", "last", |ctx, systems| {
    if systems.world.script(ctx.op().id).bad_finalizer {
        return ctx.fail(StepError::internal("the finalizer fails"));
    }
    match systems.call(|_| ()).await {
        Ok(()) => ctx.done(),
        Err(error) => retry(ctx, error),
    }
});

static WORK: ProcessTable<SimDomain> = ProcessTable {
    name: "work",
    version: 1,
    kind: OperationType::Provision,
    budget: mins(6),
    rows: &[
        row("begin", 1, &MakeThing),
        row("begin", 2, &FillMemory),
        row("begin", 3, &FlakyStep),
        row("inner", 1, &AwaitWorld),
        row("begin", 4, &UseMemory),
        row("late", 1, &OnlySometimes),
        row("late", 2, &Conclude),
    ],
    finalizers: &[row("last", 1, &TidyUp)],
};

static CHANGE: ProcessTable<SimDomain> = ProcessTable {
    name: "change",
    version: 1,
    kind: OperationType::Update,
    budget: mins(6),
    rows: &[row("begin", 1, &FlakyStep), row("inner", 1, &AwaitWorld), row("late", 1, &Conclude)],
    finalizers: &[],
};

static REMOVE: ProcessTable<SimDomain> = ProcessTable {
    name: "remove",
    version: 1,
    kind: OperationType::Deprovision,
    budget: mins(6),
    rows: &[row("begin", 1, &MakeThing), row("inner", 1, &AwaitWorld)],
    finalizers: &[],
};

/// The processes of the stories. Some programs of a rolling update know one table more.
pub(crate) fn registry(is_new: bool) -> Registry<SimDomain> {
    let registry = Registry::default().with(&WORK).and_then(|registry| registry.with(&REMOVE));
    let registry = if is_new { registry.and_then(|registry| registry.with(&CHANGE)) } else { registry };
    registry.expect("the tables are right")
}
