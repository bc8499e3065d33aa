//! Waiting costs nothing and ends when something happens.

use slipway_engine::row;
use slipway_model::{
    OperationState, OperationType, RecordKind, StepStatus,
    time::{hours, millis, mins, secs},
};

use crate::theatre::{Act, LongAct, ONE, Theatre, took};

static UNTIL_OPEN: Act = Act("Gate", |ctx| {
    if ctx.systems().is("open") {
        return ctx.done();
    }
    ctx.wait(Some("gate/shop".parse().expect("key")), hours(1), "waiting for the gate")
});

/// Looks, and then takes ten seconds before it says what it saw.
static SLOW_LOOK: LongAct = LongAct("Gate", |ctx| {
    Box::pin(async move {
        let open = ctx.systems().is("open");
        ctx.systems().raise("looked");
        while !open && !ctx.systems().is("woken") {
            tokio::task::yield_now().await;
        }
        if open { ctx.done() } else { ctx.wait(Some("gate/shop".parse().expect("key")), hours(1), "waiting") }
    })
});

#[tokio::test(start_paused = true)]
async fn an_event_ends_a_wait_at_once_and_is_on_record() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_OPEN)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    theatre.pass(mins(10)).await;
    assert_eq!(theatre.step(id, "Gate").await.expect("ledger").status, StepStatus::Running);
    assert_eq!(theatre.operation(id).await.schedule.owner, None, "a long wait holds no lease");
    theatre.props.raise("open");
    let woken = engine.wake(&["gate/shop".parse().expect("key")], "the gate was opened").await.expect("woken");
    let operation = theatre.end(id).await;
    assert_eq!((woken, operation.state), (1, OperationState::Succeeded));
    assert!(took(&operation) < mins(10) + secs(2), "{:?}", took(&operation));
    let cause = theatre.records(id).await.into_iter().rev().find_map(|record| match record.kind {
        RecordKind::Claimed { woken_by, .. } => woken_by,
        _ => None,
    });
    assert_eq!(cause.as_deref(), Some("the gate was opened"));
}

#[tokio::test(start_paused = true)]
async fn without_any_event_the_timer_looks_again() {
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_OPEN)]);
    let _engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    theatre.props.raise("open");
    let operation = theatre.end(id).await;
    assert!(took(&operation) >= hours(1) && took(&operation) < hours(1) + secs(2), "{:?}", took(&operation));
}

#[tokio::test(start_paused = true)]
async fn an_event_between_the_look_and_the_wait_is_not_slept_over() {
    let theatre = Theatre::with(&[row("a", 1, &SLOW_LOOK)]);
    let engine = theatre.engine();
    let id = theatre.update().await;
    while !theatre.props.is("looked") {
        tokio::task::yield_now().await;
    }
    theatre.props.raise("open");
    let woken = engine.wake(&["gate/shop".parse().expect("key")], "the gate was opened").await.expect("woken");
    theatre.props.raise("woken");
    let operation = theatre.end(id).await;
    assert_eq!((woken, operation.state), (0, OperationState::Succeeded));
    assert!(took(&operation) < secs(2), "{:?}", took(&operation));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_waiting_operations_do_not_hold_up_a_new_one() {
    let theatre =
        Theatre::with(&[row("a", 1, &UNTIL_OPEN)]).plays(OperationType::UpgradeKyma, &[row("a", 1, &ONE)], &[]);
    let _engine = theatre.engine();
    for number in 0..1000 {
        theatre.accept(theatre.wish(OperationType::Update, &format!("i-{number}"))).await;
    }
    theatre.until("all wait", async || theatre.props.count("Gate") == 1000).await;
    // Of the same class, so it needs a slot of the same sixty-four.
    let late = theatre.accept(theatre.wish(OperationType::Update, "late")).await;
    let begun = theatre.clock.monotonic();
    theatre.until_ran(late, "Gate").await;
    assert!(theatre.clock.monotonic() - begun < millis(500), "{:?}", theatre.clock.monotonic() - begun);
    assert_eq!(theatre.props.count("Gate"), 1001, "nobody else looked meanwhile");
}
