//! What an operator can do to a running operation.

use slipway_engine::{StepError, row};
use slipway_model::{
    Action, OperationState, OperationType, Reason, RecordKind, StepStatus,
    time::{hours, mins, secs},
};

use crate::theatre::{Act, LongAct, ONE, TWO, Theatre, state, took};

static UNTIL_GO: Act =
    Act("Gate", |ctx| if ctx.systems().is("go") { ctx.done() } else { ctx.wait(None, mins(30), "waiting") });
static NEVER_WORKS: Act = Act("Retries", |ctx| {
    ctx.retry(StepError::new(Reason::HttpStatusCode, "it does not work", "status 500"), secs(10), mins(5))
});

#[tokio::test(start_paused = true)]
async fn a_cancel_during_a_wait_ends_the_operation_at_once() {
    for (kind, end) in
        [(OperationType::Provision, OperationState::Failed), (OperationType::Update, OperationState::Canceled)]
    {
        let theatre = Theatre::empty().plays(kind, &[row("a", 1, &UNTIL_GO)], &[row("z", 1, &ONE)]);
        let engine = theatre.engine();
        let id = theatre.accept(theatre.wish(kind, "shop")).await;
        theatre.until_ran(id, "Gate").await;
        engine.act(id, &Action::Cancel, "ann", "wrong plan").await.expect("canceled");
        let operation = theatre.end(id).await;
        assert_eq!(state(&operation), (end, "operation canceled by ann: wrong plan"));
        assert_eq!(operation.fields.last_error.is_some(), end == OperationState::Failed);
        assert!(took(&operation) < secs(2), "{:?}", took(&operation));
        assert_eq!(theatre.props.count("One"), 1, "finalizers run after a cancel");
        let refused = engine.act(id, &Action::Cancel, "ann", "again").await.expect_err("it has ended");
        assert!(refused.to_string().contains("has already ended"), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_action_without_who_or_why_is_refused() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    for (by, why) in [("", "because"), ("ann", " ")] {
        engine.act(id, &Action::Pause, by, why).await.expect_err("nothing goes on record without who and why");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_stops_all_budgets_and_a_resume_goes_on() {
    let theatre = Theatre::with(&[row("a", 1, &NEVER_WORKS)]);
    let engine = theatre.engine();
    let mut new = theatre.wish(OperationType::Update, "shop");
    new.budget = mins(20);
    let id = theatre.accept(new).await;
    theatre.pass(mins(2)).await;
    engine.act(id, &Action::Pause, "ann", "lunch").await.expect("paused");
    theatre.pass(secs(30)).await;
    let runs = theatre.props.count("Retries");
    theatre.pass(hours(1)).await;
    assert_eq!(theatre.props.count("Retries"), runs, "nothing runs in a pause");
    assert_eq!(theatre.operation(id).await.state, OperationState::InProgress, "no budget is spent in a pause");
    engine.act(id, &Action::Pause, "bob", "me too").await.expect_err("paused already");
    engine.act(id, &Action::Resume, "ann", "back").await.expect("resumed");
    let resumed = theatre.clock.monotonic();
    let operation = theatre.end(id).await;
    assert_eq!(operation.fields.last_error.expect("why").message, "status 500");
    let left = theatre.clock.monotonic() - resumed;
    assert!(left >= mins(2) + secs(50) && left <= mins(3) + secs(20), "three of five minutes were left: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_an_operator_gives_up_is_skipped_and_on_record() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO), row("a", 1, &ONE)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    let skip = |step: &str| Action::SkipStep { step: step.to_owned() };
    engine.act(id, &skip("One"), "ann", "hurry").await.expect_err("it is not its turn");
    engine.act(id, &skip("Gate"), "ann", "nobody comes").await.expect("skipped");
    let operation = theatre.end(id).await;
    assert_eq!((operation.state, took(&operation) < secs(2)), (OperationState::Succeeded, true));
    assert_eq!(operation.fields.skipped_steps, ["Gate"]);
    let ledger = theatre.step(id, "Gate").await.expect("ledger");
    assert_eq!((ledger.status, ledger.reason.as_deref()), (StepStatus::Skipped, Some("skipped by ann: nobody comes")));
    let records = theatre.records(id).await;
    let acted = records.iter().any(|record| matches!(&record.kind, RecordKind::Action { by, .. } if by == "ann"));
    assert!(acted && theatre.props.count("One") == 1);
}

#[tokio::test(start_paused = true)]
async fn an_operator_can_have_it_looked_at_now() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    theatre.props.raise("go");
    engine.act(id, &Action::RetryNow, "ann", "it is there").await.expect("looked at");
    assert!(took(&theatre.end(id).await) < secs(2));
}

/// Runs until the story lets it go.
static LONG: LongAct = LongAct("Long", |ctx| {
    Box::pin(async move {
        ctx.systems().raise("begun");
        while !ctx.systems().is("let go") {
            tokio::task::yield_now().await;
        }
        if ctx.systems().is("go") { ctx.done() } else { ctx.wait(None, mins(30), "waiting") }
    })
});

async fn until_begun(theatre: &Theatre) {
    while !theatre.props.is("begun") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_a_step_runs_is_met_at_its_end_and_not_slept_over() {
    for ends_with_a_wait in [false, true] {
        let theatre = Theatre::with(&[row("a", 1, &LONG), row("a", 1, &TWO)]);
        let engine = theatre.engine();
        let id = theatre.update().await;
        until_begun(&theatre).await;
        engine.act(id, &Action::Cancel, "ann", "wrong plan").await.expect("canceled");
        if !ends_with_a_wait {
            theatre.props.raise("go");
        }
        theatre.props.raise("let go");
        let operation = theatre.end(id).await;
        assert_eq!(operation.state, OperationState::Canceled);
        assert!(took(&operation) < secs(2), "{:?}", took(&operation));
        assert_eq!(theatre.props.notes(), ["Long"], "no further step begins");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_while_a_step_runs_holds_the_operation_behind_it() {
    let theatre = Theatre::with(&[row("a", 1, &LONG), row("b", 1, &TWO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    until_begun(&theatre).await;
    engine.act(id, &Action::Pause, "ann", "look at it").await.expect("paused");
    theatre.props.raise("go");
    theatre.props.raise("let go");
    theatre.pass(mins(10)).await;
    assert_eq!(theatre.props.notes(), ["Long"]);
    engine.act(id, &Action::RetryNow, "bob", "go on").await.expect_err("it is paused");
    engine.act(id, &Action::Resume, "ann", "seen").await.expect("resumed");
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
    assert_eq!(theatre.props.notes(), ["Long", "Two"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_before_the_begin_holds_and_a_resume_begins() {
    let theatre = Theatre::with(&[row("a", 1, &ONE)]);
    let id = theatre.update().await;
    let now = theatre.clock.wall();
    theatre.store.act(id, &Action::Pause, "ann", "not today", now).await.expect("paused");
    let engine = theatre.engine();
    theatre.pass(mins(10)).await;
    assert_eq!((theatre.operation(id).await.state, theatre.props.count("One")), (OperationState::Pending, 0));
    engine.act(id, &Action::Resume, "ann", "today").await.expect("resumed");
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_during_a_pause_ends_the_operation() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    engine.act(id, &Action::Pause, "ann", "look at it").await.expect("paused");
    theatre.pass(mins(10)).await;
    engine.act(id, &Action::Cancel, "ann", "no use").await.expect("canceled");
    assert_eq!(theatre.end(id).await.state, OperationState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn a_pause_survives_a_restart() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    engine.act(id, &Action::Pause, "ann", "look at it").await.expect("paused");
    theatre.props.raise("go");
    drop(engine);
    let engine = theatre.engine();
    theatre.pass(hours(1)).await;
    assert_eq!(theatre.operation(id).await.state, OperationState::InProgress);
    engine.act(id, &Action::Resume, "ann", "seen").await.expect("resumed");
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
}
