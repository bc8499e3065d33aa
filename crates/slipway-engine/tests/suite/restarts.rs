//! What a restart keeps and what it forgets.

use std::sync::Arc;

use secrecy::zeroize::Zeroize;
use slipway_engine::{Engine, StepError, row};
use slipway_model::{
    OperationId, OperationState, Reason, RecordKind, StepStatus,
    time::{hours, millis, mins, secs},
};

use crate::theatre::{Act, LongAct, ONE, Play, Props, THREE, TWO, Theatre, took};

static NEVER_WORKS: Act = Act("Retries", |ctx| {
    ctx.retry(StepError::new(Reason::HttpStatusCode, "it does not work", "status 500"), secs(10), mins(5))
});
static NEVER_THERE: Act = Act("Waits", |ctx| {
    let timeout = StepError::new(Reason::KebTimeout, "it did not come", "nothing came in time");
    ctx.wait_for(None, secs(20), mins(5), "waiting for it", timeout)
});
static REMEMBERS: Act = Act("Remembers", |ctx| {
    ctx.memory().put("a secret".to_owned());
    ctx.done()
});
static RECALLS: Act = Act("Recalls", |ctx| {
    let found = ctx.memory().get::<String>().is_some();
    ctx.systems().note(if found { "found" } else { "lost" });
    if ctx.systems().is("go") { ctx.done() } else { ctx.wait(None, secs(10), "waiting for the word") }
});
static UNTIL_GO: Act =
    Act("Gate", |ctx| if ctx.systems().is("go") { ctx.done() } else { ctx.wait(None, secs(10), "waiting") });
static SLOW: LongAct = LongAct("Slow", |ctx| {
    Box::pin(async move {
        let props = ctx.systems();
        if props.is("slow") {
            return ctx.done();
        }
        props.raise("slow");
        std::future::pending().await
    })
});

/// The program dies and comes back.
async fn crash(theatre: &Theatre, engine: Engine<Play>) -> Engine<Play> {
    engine.abort();
    tokio::task::yield_now().await;
    theatre.engine()
}

/// Somebody else writes the operation, as an update of the instance would.
async fn touch(theatre: &Theatre, id: OperationId) {
    let operation = theatre.operation(id).await;
    let now = theatre.clock.wall();
    theatre.store.update(id, operation.version, operation.fields, now).await.expect("written");
}

#[tokio::test(start_paused = true)]
async fn a_retry_budget_survives_three_restarts_and_foreign_writes() {
    let theatre = Theatre::with(&[row("a", 1, &ONE), row("a", 1, &NEVER_WORKS)]);
    let mut engine = theatre.engine();
    let id = theatre.update().await;
    for _ in 0..3 {
        theatre.pass(mins(1)).await;
        touch(&theatre, id).await;
        engine = crash(&theatre, engine).await;
    }
    let operation = theatre.end(id).await;
    assert_eq!(operation.state, OperationState::Failed);
    assert_eq!(operation.fields.last_error.as_ref().expect("why").message, "status 500");
    assert!(took(&operation) >= mins(5) && took(&operation) <= mins(5) + secs(20), "{:?}", took(&operation));
    assert_eq!(theatre.props.count("One"), 4, "the unfinished stage began anew with every restart");
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn a_wait_budget_survives_restarts_too() {
    let theatre = Theatre::with(&[row("a", 1, &NEVER_THERE)]);
    let mut engine = theatre.engine();
    let id = theatre.update().await;
    for _ in 0..3 {
        theatre.pass(mins(1)).await;
        engine = crash(&theatre, engine).await;
    }
    let operation = theatre.end(id).await;
    assert_eq!(operation.fields.last_error.as_ref().expect("why").message, "nothing came in time");
    assert!(took(&operation) >= mins(5) && took(&operation) <= mins(5) + secs(5), "{:?}", took(&operation));
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn stage_memory_lives_through_short_waits_and_dies_with_its_replica() {
    let theatre = Theatre::with(&[row("a", 1, &REMEMBERS), row("a", 1, &RECALLS)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until("three looks", async || theatre.props.count("found") == 3).await;
    assert_eq!(theatre.props.count("Remembers"), 1, "only the waiting step ran again");
    let engine = crash(&theatre, engine).await;
    theatre.until("the stage begins anew", async || theatre.props.count("Remembers") == 2).await;
    theatre.props.raise("go");
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
    assert_eq!(theatre.props.count("lost"), 0, "a step never sees a memory that its stage did not fill");
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn memory_does_not_reach_into_another_stage() {
    let theatre = Theatre::with(&[row("a", 1, &REMEMBERS), row("b", 1, &RECALLS)]);
    theatre.props.raise("go");
    let _engine = theatre.engine();
    theatre.end(theatre.update().await).await;
    assert_eq!(theatre.props.count("lost"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_finished_stage_never_runs_again() {
    let theatre = Theatre::with(&[row("a", 1, &ONE), row("b", 1, &TWO), row("b", 1, &UNTIL_GO), row("c", 1, &THREE)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    let engine = crash(&theatre, engine).await;
    theatre.until("the stage begins anew", async || theatre.props.count("Two") == 2).await;
    theatre.props.raise("go");
    let operation = theatre.end(id).await;
    assert_eq!(operation.fields.finished_stages, ["a", "b", "c"]);
    assert_eq!((theatre.props.count("One"), theatre.props.count("Three")), (1, 1));
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_inside_an_inner_stage_the_outer_one_collects_anew() {
    // The outer stage has a part before and a part behind the inner one, and one memory over both.
    let rows = [row("outer", 1, &REMEMBERS), row("inner", 1, &UNTIL_GO), row("outer", 1, &RECALLS)];
    let theatre = Theatre::with(&rows);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    let engine = crash(&theatre, engine).await;
    theatre.until("the outer stage begins anew", async || theatre.props.count("Remembers") == 2).await;
    theatre.props.raise("go");
    let operation = theatre.end(id).await;
    assert_eq!(operation.state, OperationState::Succeeded);
    assert_eq!(operation.fields.finished_stages, ["inner", "outer"]);
    assert_eq!(theatre.props.count("found"), 1, "the memory of the first part is seen by the second");
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_behind_an_inner_stage_it_is_not_waited_for_again() {
    static LAST: Act = Act("Last", |ctx| match ctx.systems().is("end") {
        true => ctx.done(),
        false => ctx.wait(None, secs(10), "waiting for the end"),
    });
    let rows =
        [row("outer", 1, &REMEMBERS), row("inner", 1, &UNTIL_GO), row("outer", 1, &RECALLS), row("outer", 2, &LAST)];
    let theatre = Theatre::with(&rows);
    theatre.props.raise("go");
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Last").await;
    let engine = crash(&theatre, engine).await;
    theatre.until("the outer stage begins anew", async || theatre.props.count("Recalls") == 2).await;
    theatre.props.raise("end");
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
    assert_eq!((theatre.props.count("Gate"), theatre.props.count("Remembers")), (1, 2));
    assert_eq!((theatre.props.count("found"), theatre.props.count("lost")), (2, 0));
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_good_order_lets_the_step_end_and_hands_over_in_less_than_a_second() {
    static UNTIL_LET_GO: LongAct = LongAct("Long", |ctx| {
        Box::pin(async move {
            ctx.systems().raise("begun");
            while !ctx.systems().is("let go") {
                tokio::task::yield_now().await;
            }
            ctx.done()
        })
    });
    let theatre = Theatre::with(&[row("a", 1, &ONE), row("b", 1, &UNTIL_LET_GO), row("c", 1, &TWO)]);
    let old = theatre.engine();
    let id = theatre.update().await;
    while !theatre.props.is("begun") {
        tokio::task::yield_now().await;
    }
    let _new = theatre.engine();
    let stopped = tokio::spawn(old.stop());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!stopped.is_finished(), "a stop waits for the running step");
    theatre.props.raise("let go");
    let begun = theatre.clock.monotonic();
    stopped.await.expect("stopped");
    let operation = theatre.end(id).await;
    assert!(theatre.clock.monotonic() - begun < secs(1), "{:?}", theatre.clock.monotonic() - begun);
    assert_eq!(operation.state, OperationState::Succeeded);
    assert_eq!(theatre.props.notes(), ["One", "Long", "Two"], "what had ended did not run again");
    // The stopping engine began no further step: the other one took the operation before `Two`.
    let records = theatre.records(id).await;
    let tale = records.iter().filter_map(|record| match &record.kind {
        RecordKind::Claimed { .. } => Some("claimed"),
        RecordKind::Attempt { step, .. } => Some(step.as_str()),
        _ => None,
    });
    assert_eq!(tale.collect::<Vec<_>>(), ["claimed", "One", "Long", "claimed", "Two"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_a_wait_leaves_the_timer_as_it_was() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO)]);
    let (old, _new) = (theatre.engine(), theatre.engine());
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    let looks = theatre.props.count("Gate");
    old.stop().await;
    theatre.props.raise("go");
    let operation = theatre.end(id).await;
    assert!(took(&operation) < secs(11), "the timer of the wait was ten seconds: {:?}", took(&operation));
    assert_eq!(theatre.props.count("Gate"), looks + 1);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_outlives_the_grace_runs_again_elsewhere_at_once() {
    let theatre = Theatre::with(&[row("a", 1, &SLOW)]);
    let old = theatre.engine();
    let id = theatre.update().await;
    theatre.until("it runs", async || theatre.props.is("slow")).await;
    let new = theatre.engine();
    let begun = theatre.clock.monotonic();
    old.stop().await;
    assert!(theatre.clock.monotonic() - begun <= secs(10) + millis(100), "the grace");
    let operation = theatre.end(id).await;
    assert!(theatre.clock.monotonic() - begun < secs(11), "{:?}", theatre.clock.monotonic() - begun);
    assert_eq!(operation.state, OperationState::Succeeded);
    drop(new);
}

#[tokio::test(start_paused = true)]
async fn a_dead_replica_is_replaced_within_five_seconds() {
    let theatre = Theatre::with(&[row("a", 1, &SLOW)]);
    let old = theatre.engine();
    let id = theatre.update().await;
    theatre.until("it runs", async || theatre.props.is("slow")).await;
    let new = theatre.engine();
    theatre.pass(secs(3)).await;
    let begun = theatre.clock.monotonic();
    old.abort();
    theatre.end(id).await;
    assert!(theatre.clock.monotonic() - begun < secs(5), "{:?}", theatre.clock.monotonic() - begun);
    assert!(took(&theatre.operation(id).await) < hours(1));
    drop(new);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_nobody_holds_any_more_does_nothing_any_more() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    drop(engine);
    theatre.props.raise("go");
    theatre.pass(mins(5)).await;
    assert_eq!(theatre.operation(id).await.state, OperationState::InProgress);
    let _engine = theatre.engine();
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_a_stage_is_wiped_when_the_stage_is_finished() {
    struct Secret(Arc<Props>);
    impl Zeroize for Secret {
        fn zeroize(&mut self) {
            self.0.note("wiped");
        }
    }
    static KEEPS: Act = Act("Keeps", |ctx| {
        let props = ctx.systems();
        ctx.memory().put(Secret(props));
        ctx.done()
    });
    let theatre = Theatre::with(&[row("a", 1, &KEEPS), row("a", 1, &ONE), row("b", 1, &TWO)]);
    let _engine = theatre.engine();
    theatre.end(theatre.update().await).await;
    assert_eq!(theatre.props.notes(), ["Keeps", "One", "wiped", "Two"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_given_up_and_works_after_a_restart_is_not_called_incomplete() {
    static TRIES: Act = Act("Tries", |ctx| match ctx.systems().is("it works") {
        true => ctx.done(),
        false => ctx.skip("it does not work"),
    });
    let theatre = Theatre::with(&[row("a", 1, &TRIES), row("a", 1, &UNTIL_GO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    assert_eq!(theatre.operation(id).await.fields.skipped_steps, ["Tries"]);
    theatre.props.raise("it works");
    let engine = crash(&theatre, engine).await;
    theatre.props.raise("go");
    let operation = theatre.end(id).await;
    assert_eq!(theatre.step(id, "Tries").await.expect("ledger").status, StepStatus::Done);
    assert_eq!(operation.fields.skipped_steps, Vec::<String>::new());
    drop(engine);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_given_up_in_one_stage_stays_incomplete_if_it_works_in_another() {
    static TRIES: Act = Act("Tries", |ctx| match ctx.systems().is("it works") {
        true => ctx.done(),
        false => {
            ctx.systems().raise("it works");
            ctx.skip("it does not work yet")
        }
    });
    let theatre = Theatre::with(&[row("a", 1, &TRIES), row("b", 1, &TRIES)]);
    let _engine = theatre.engine();
    assert_eq!(theatre.end(theatre.update().await).await.fields.skipped_steps, ["Tries"]);
}
