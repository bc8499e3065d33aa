//! How operations end.

use std::time::Duration;

use slipway_engine::{Event, StepError, row};
use slipway_model::{
    Component, OperationState, OperationType, Reason, RecordKind, StepStatus,
    time::{hours, mins, secs},
};

use crate::theatre::{Act, LongAct, ONE, THREE, TWO, Theatre, state, took};

static SAYS: Act = Act("Says", |ctx| ctx.done_with(|data| data.said.push("hello".to_owned())));
static PANICS: Act = Act("Panics", |_| panic!("a bug"));
static FAILS: Act = Act("Fails", |ctx| {
    let error = StepError::new(Reason::HttpStatusCode, "it does not work", "status 403");
    ctx.fail(error.blamed_on(Component::Avs))
});
static WAITS_FOR_EVER: Act = Act("Waits", |ctx| ctx.wait(None, mins(10), "waiting for nothing"));
static FINISHES: Act = Act("Finishes", |ctx| ctx.finish(OperationState::Canceled, "there is no need"));
static NEVER_RETURNS: LongAct = LongAct("Hangs", |ctx| {
    Box::pin(async move {
        match ctx.attempt() {
            1 => std::future::pending().await,
            _ => ctx.done(),
        }
    })
});

#[tokio::test(start_paused = true)]
async fn an_operation_runs_row_by_row_to_success() {
    let theatre = Theatre::with(&[row("a", 1, &ONE), row("a", 2, &SAYS), row("b", 1, &TWO)]);
    let engine = theatre.engine();
    let mut events = engine.events();
    let id = theatre.update().await;
    let operation = theatre.end(id).await;
    assert_eq!(state(&operation), (OperationState::Succeeded, "Processing finished"));
    assert_eq!(operation.fields.finished_stages, ["a", "b"]);
    assert_eq!(operation.fields.last_error, None);
    assert_eq!(theatre.props.notes(), ["One", "Says", "Two"]);
    assert_eq!(theatre.data(id).await.said, ["hello"]);
    let steps = theatre.store.steps(id).await.expect("ledger");
    assert!(steps.iter().all(|step| step.status == StepStatus::Done && step.attempts == 1), "{steps:?}");
    let records = theatre.records(id).await;
    assert!(matches!(records[0].kind, RecordKind::Accepted { .. }));
    assert!(matches!(records.last().expect("records").kind, RecordKind::Ended { .. }));
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        told.push(match event {
            Event::StepProcessed { step, .. } => step.to_owned(),
            Event::OperationFinished { state, .. } => state.to_string(),
            Event::LeaseLost => "lease lost".to_owned(),
            Event::LeasesTaken { operations } => format!("{operations} taken"),
        });
    }
    assert_eq!(told, ["One", "Says", "Two", "succeeded"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_the_operation_and_not_the_engine() {
    let theatre = Theatre::with(&[row("a", 1, &ONE), row("a", 1, &PANICS), row("a", 1, &TWO)]);
    let _engine = theatre.engine();
    let operation = theatre.end(theatre.update().await).await;
    let error = operation.fields.last_error.expect("why");
    assert_eq!((operation.state, error.message.as_str()), (OperationState::Failed, "recovered from panic"));
    assert_eq!((error.reason, error.component, error.step.as_str()), (Reason::KebInternal, Component::Keb, "Panics"));
    assert_eq!(theatre.props.count("Two"), 0);
    theatre.end(theatre.update().await).await;
    assert_eq!(theatre.props.count("One"), 2, "the engine goes on");
}

#[tokio::test(start_paused = true)]
async fn a_failure_names_who_and_why_and_users_read_another_sentence() {
    let theatre = Theatre::with(&[row("a", 1, &FAILS)]);
    let _engine = theatre.engine();
    let operation = theatre.end(theatre.update().await).await;
    assert_eq!(state(&operation), (OperationState::Failed, "it does not work"));
    let error = operation.fields.last_error.expect("why");
    assert_eq!((error.message.as_str(), error.component, error.step.as_str()), ("status 403", Component::Avs, "Fails"));
}

#[tokio::test(start_paused = true)]
async fn finalizers_run_whatever_the_end_and_cannot_change_it() {
    for (rows, end) in [(row("a", 1, &ONE), OperationState::Succeeded), (row("a", 1, &FAILS), OperationState::Failed)] {
        static BROKEN: Act = Act("Broken", |ctx| ctx.fail(StepError::internal("broken finalizer")));
        static STUBBORN: Act = Act("Stubborn", |ctx| ctx.wait(None, mins(1), "waiting for nothing"));
        let finalizers = [row("z", 1, &BROKEN), row("z", 1, &STUBBORN), row("z", 1, &THREE)];
        let theatre = Theatre::empty().plays(OperationType::Update, &[rows], &finalizers);
        let _engine = theatre.engine();
        let id = theatre.update().await;
        let operation = theatre.end(id).await;
        assert_eq!(operation.state, end);
        let error = operation.fields.last_error.as_ref().map(|error| error.step.as_str());
        assert_eq!(error, (end == OperationState::Failed).then_some("Fails"), "the verdict stands");
        assert_eq!(operation.fields.skipped_steps, ["Broken", "Stubborn"]);
        assert_eq!(theatre.props.notes().last().map(String::as_str), Some("Three"), "the others run all the same");
        assert!(took(&operation) < mins(6), "a finalizer has its own five minutes: {:?}", took(&operation));
    }
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_fails_the_operation_at_its_very_end() {
    let theatre = Theatre::with(&[row("a", 1, &WAITS_FOR_EVER)]);
    let _engine = theatre.engine();
    let mut new = theatre.wish(OperationType::Update, "shop");
    new.budget = hours(1);
    let operation = theatre.end(theatre.accept(new).await).await;
    let error = operation.fields.last_error.as_ref().expect("why");
    assert_eq!((error.reason.clone(), error.component), (Reason::KebTimeout, Component::Keb));
    assert!(error.message.contains("operation has reached the time limit"), "{}", error.message);
    assert!(took(&operation) >= hours(1) && took(&operation) < hours(1) + secs(2), "{:?}", took(&operation));
}

#[tokio::test(start_paused = true)]
async fn a_step_can_end_the_whole_operation() {
    let theatre = Theatre::with(&[row("a", 1, &FINISHES), row("a", 1, &TWO)]);
    let _engine = theatre.engine();
    let operation = theatre.end(theatre.update().await).await;
    assert_eq!(state(&operation), (OperationState::Canceled, "there is no need"));
    assert_eq!(theatre.props.count("Two"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_end_is_broken_off_and_tried_again() {
    let theatre = Theatre::with(&[row("a", 1, &NEVER_RETURNS)]);
    let _engine = theatre.engine();
    let id = theatre.update().await;
    let operation = theatre.end(id).await;
    assert_eq!(operation.state, OperationState::Succeeded);
    assert_eq!(theatre.step(id, "Hangs").await.expect("ledger").attempts, 2);
    assert!(took(&operation) >= mins(3) && took(&operation) < mins(4), "{:?}", took(&operation));
}

#[tokio::test(start_paused = true)]
async fn steps_that_are_switched_off_are_on_record_and_not_run() {
    let theatre = Theatre::with(&[row("a", 1, &ONE), row("a", 1, &TWO)]);
    let registry = theatre.registry().without_steps(["One".to_owned()]).expect("a known step");
    let _engine = theatre.engine_of(registry);
    let id = theatre.update().await;
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
    assert_eq!(theatre.step(id, "One").await.expect("ledger").status, StepStatus::Disabled);
    assert_eq!(theatre.props.notes(), ["Two"]);
}

#[tokio::test(start_paused = true)]
async fn data_that_cannot_be_read_fail_the_operation_instead_of_hiding_it() {
    let theatre = Theatre::with(&[row("a", 1, &ONE)]);
    let _engine = theatre.engine();
    let mut new = theatre.wish(OperationType::Update, "shop");
    new.data = slipway_model::JsonText::parse(r#"{"said": 7}"#.to_owned()).expect("JSON");
    let operation = theatre.end(theatre.accept(new).await).await;
    assert_eq!(operation.state, OperationState::Failed);
    assert!(operation.fields.last_error.expect("why").message.contains("cannot be read"));
    assert_eq!(
        operation.finished_at.map(|at| at.since(operation.created_at)).filter(|t| *t > Duration::from_secs(2)),
        None
    );
}
