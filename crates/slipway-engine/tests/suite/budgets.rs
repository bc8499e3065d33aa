//! The retry helpers: how long a step is tried, and what happens then.

use std::time::Duration;

use slipway_engine::{Row, Step, StepCtx, StepError, StepResult, row};
use slipway_model::{
    OperationState, OperationType, Reason, RecordKind, StepStatus,
    time::{mins, secs},
};

use crate::theatre::{Act, ONE, Play, Theatre, took};

fn error() -> StepError {
    StepError::new(Reason::HttpStatusCode, "it does not work", "status 500")
}

static RETRIES: Act = Act("Retries", |ctx| ctx.retry(error(), secs(20), mins(3)));
static RETRIES_ONCE: Act = Act("Once", |ctx| ctx.retry_once(error(), secs(20)));
static SKIPS: Act = Act("Skips", |ctx| ctx.retry_without_fail("status 500", secs(20)));
static HEALS: Act = Act("Heals", |ctx| match ctx.attempt() {
    // Two minutes of errors, an answer, two minutes of errors, and a good end.
    1..=7 | 9..=15 => ctx.retry(error(), secs(20), mins(3)),
    8 => ctx.wait(None, secs(1), "an answer came"),
    _ => ctx.done(),
});

async fn ended(row: Row<Play>, kind: OperationType) -> (Theatre, slipway_model::Operation) {
    let theatre = Theatre::empty().plays(kind, &[row, slipway_engine::row("b", 1, &ONE)], &[]);
    let engine = theatre.engine();
    let id = theatre.accept(theatre.wish(kind, "shop")).await;
    let operation = theatre.end(id).await;
    engine.stop().await;
    (theatre, operation)
}

#[tokio::test(start_paused = true)]
async fn a_retry_fails_with_the_original_error_when_its_time_is_over() {
    let (theatre, operation) = ended(row("a", 1, &RETRIES), OperationType::Update).await;
    assert_eq!(operation.fields.last_error.as_ref().expect("why").message, "status 500");
    assert!(took(&operation) >= mins(3) && took(&operation) <= mins(3) + secs(24), "{:?}", took(&operation));
    let mut pauses = Vec::new();
    for record in theatre.records(operation.id).await {
        if let RecordKind::Attempt { until: Some(until), .. } = record.kind {
            pauses.push(until.since(record.at));
        }
    }
    assert!(pauses.iter().all(|pause| (secs(16)..=secs(24)).contains(pause)), "a fifth either way: {pauses:?}");
    assert!(pauses.iter().any(|pause| *pause != pauses[0]), "not all the same: {pauses:?}");
    assert_eq!(theatre.props.count("One"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_between_starts_the_clock_of_errors_anew() {
    let (_, operation) = ended(row("a", 1, &HEALS), OperationType::Update).await;
    assert_eq!(operation.state, OperationState::Succeeded);
    assert!(took(&operation) > mins(4), "longer than its three minutes in all: {:?}", took(&operation));
}

#[tokio::test(start_paused = true)]
async fn a_retry_once_is_one_retry() {
    let (theatre, operation) = ended(row("a", 1, &RETRIES_ONCE), OperationType::Update).await;
    assert_eq!((operation.state, theatre.props.count("Once")), (OperationState::Failed, 2));
    assert_eq!(operation.fields.last_error.expect("why").message, "status 500");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_may_be_given_up_is_skipped_and_the_operation_goes_on() {
    for kind in [OperationType::Update, OperationType::Deprovision] {
        let (theatre, operation) = ended(row("a", 1, &SKIPS), kind).await;
        assert_eq!((operation.state, theatre.props.count("One")), (OperationState::Succeeded, 1));
        assert_eq!(operation.fields.skipped_steps, ["Skips"]);
        let ledger = theatre.step(operation.id, "Skips").await.expect("ledger");
        assert_eq!(
            (ledger.status, ledger.reason.as_deref()),
            (StepStatus::Skipped, Some("given up after 5m: status 500"))
        );
        assert!(took(&operation) >= mins(5) && took(&operation) <= mins(5) + secs(24), "{:?}", took(&operation));
    }
}

/// A step that asks for more than it may have.
struct Greedy;

impl Step<Play> for Greedy {
    fn name(&self) -> &'static str {
        "Greedy"
    }

    fn gives_up_after(&self) -> Duration {
        mins(6)
    }

    async fn run(&self, ctx: &mut StepCtx<Play>) -> StepResult {
        ctx.done()
    }
}

#[test]
#[should_panic(expected = "gives up after 6m; at most 5m is allowed here")]
fn a_deprovisioning_with_a_greedy_step_does_not_even_start() {
    Theatre::empty().plays(OperationType::Deprovision, &[row("a", 1, &Greedy)], &[]).registry();
}
