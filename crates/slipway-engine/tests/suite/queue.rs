//! Operations of one instance, and who goes first.

use slipway_engine::{EngineConfig, Registry, config::Slots, row};
use slipway_model::{
    Action, OperationState, OperationType, Reason,
    time::{hours, mins, secs},
};

use crate::theatre::{Act, ONE, TWO, Theatre, state, took};

static UNTIL_GO: Act =
    Act("Gate", |ctx| if ctx.systems().is("go") { ctx.done() } else { ctx.wait(None, secs(30), "waiting") });

/// Everything waits at a gate but removals, which do not.
fn theatre() -> Theatre {
    let gate = [row("a", 1, &UNTIL_GO)];
    Theatre::with(&gate)
        .plays(OperationType::Provision, &gate, &[])
        .plays(OperationType::UpgradeKyma, &gate, &[])
        .plays(OperationType::Deprovision, &[row("a", 1, &TWO)], &[])
}

#[tokio::test(start_paused = true)]
async fn two_operations_of_an_instance_run_one_after_the_other() {
    let theatre = theatre();
    let _engines = [theatre.engine(), theatre.engine()];
    let first = theatre.update().await;
    theatre.pass(secs(1)).await;
    let second = theatre.update().await;
    let other = theatre.accept(theatre.wish(OperationType::Update, "other")).await;
    theatre.pass(mins(5)).await;
    assert_eq!(theatre.operation(first).await.state, OperationState::InProgress);
    assert_eq!(theatre.operation(second).await.state, OperationState::Pending);
    assert_eq!(theatre.operation(other).await.state, OperationState::InProgress, "another instance does not wait");
    theatre.props.raise("go");
    let (first, second) = (theatre.end(first).await, theatre.end(second).await);
    assert!(second.started_at >= first.finished_at);
    let gap = second.started_at.expect("started").since(first.finished_at.expect("ended"));
    assert!(gap < secs(1), "the next one starts at once, not after {gap:?}");
}

#[tokio::test(start_paused = true)]
async fn a_removal_goes_first_and_ends_what_runs() {
    for (kind, end) in [
        (OperationType::Provision, OperationState::Failed),
        (OperationType::Update, OperationState::Canceled),
        (OperationType::UpgradeKyma, OperationState::Canceled),
    ] {
        let theatre = theatre();
        let _engine = theatre.engine();
        let running = theatre.accept(theatre.wish(kind, "shop")).await;
        theatre.until_ran(running, "Gate").await;
        let removal = theatre.accept(theatre.wish(OperationType::Deprovision, "shop")).await;
        let running = theatre.end(running).await;
        assert_eq!(state(&running), (end, format!("operation preempted by deprovisioning {removal}").as_str()));
        let removal = theatre.end(removal).await;
        assert_eq!(removal.state, OperationState::Succeeded);
        assert!(took(&removal) < secs(2) && removal.started_at >= running.finished_at);
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_goes_before_everything_that_is_pending() {
    for (kind, end) in [
        (OperationType::Provision, OperationState::Canceled),
        (OperationType::Update, OperationState::Succeeded),
        (OperationType::UpgradeKyma, OperationState::Succeeded),
    ] {
        let theatre = theatre();
        let pending = theatre.accept(theatre.wish(kind, "shop")).await;
        let removal = theatre.accept(theatre.wish(OperationType::Deprovision, "shop")).await;
        let _engine = theatre.engine();
        let pending = theatre.end(pending).await;
        assert_eq!(state(&pending), (end, format!("operation preempted by deprovisioning {removal}").as_str()));
        assert_eq!(theatre.end(removal).await.state, OperationState::Succeeded);
        assert_eq!(theatre.props.count("Gate"), 0, "it never began");
    }
}

#[tokio::test(start_paused = true)]
async fn removing_twice_is_one_removal_until_it_has_ended() {
    let theatre = theatre();
    let first = theatre.accept(theatre.wish(OperationType::Deprovision, "shop")).await;
    assert_eq!(theatre.accept(theatre.wish(OperationType::Deprovision, "shop")).await, first);
    let _engine = theatre.engine();
    theatre.end(first).await;
    assert_ne!(theatre.accept(theatre.wish(OperationType::Deprovision, "shop")).await, first);
}

#[tokio::test(start_paused = true)]
async fn an_operation_of_an_unknown_table_is_left_for_a_program_that_knows_it() {
    let theatre = Theatre::with(&[row("a", 1, &ONE)]);
    let old = theatre.engine();
    let mut new = theatre.wish(OperationType::Update, "shop");
    new.process.version = 2;
    old.enqueue(new.clone()).await.expect_err("a program does not accept what it cannot run");
    let id = theatre.accept(new).await;
    theatre.pass(mins(10)).await;
    assert_eq!(theatre.operation(id).await.state, OperationState::Pending);
    let next = slipway_engine::ProcessTable {
        name: "update",
        version: 2,
        kind: OperationType::Update,
        budget: hours(24),
        rows: Box::leak(Box::new([row("a", 1, &TWO)])),
        finalizers: &[],
    };
    let _new = theatre.engine_of(Registry::default().with(&next).expect("a right table"));
    assert_eq!(theatre.end(id).await.state, OperationState::Succeeded);
    assert_eq!(theatre.props.notes(), ["Two"]);
    drop(old);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_twice_is_one_operation() {
    let theatre = theatre();
    let new = theatre.wish(OperationType::Update, "shop");
    assert_eq!(theatre.accept(new.clone()).await, theatre.accept(new).await);
}

#[tokio::test(start_paused = true)]
async fn who_waits_in_the_queue_for_longer_than_the_budget_fails_unless_it_is_an_upgrade() {
    for (kind, end) in
        [(OperationType::Update, OperationState::Failed), (OperationType::UpgradeKyma, OperationState::Succeeded)]
    {
        let theatre = theatre();
        let _engine = theatre.engine();
        let first = theatre.update().await;
        theatre.until_ran(first, "Gate").await;
        let mut new = theatre.wish(kind, "shop");
        new.budget = mins(10);
        let second = theatre.accept(new).await;
        theatre.pass(mins(20)).await;
        theatre.props.raise("go");
        theatre.end(first).await;
        let second = theatre.end(second).await;
        assert_eq!(second.state, end, "{kind}");
        let reason = second.fields.last_error.map(|error| error.reason);
        assert_eq!(reason, (end == OperationState::Failed).then_some(Reason::KebTimeout));
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_does_not_wait_for_a_pause_to_end() {
    let theatre = theatre();
    let engine = theatre.engine();
    let paused = theatre.update().await;
    theatre.until_ran(paused, "Gate").await;
    engine.act(paused, &Action::Pause, "ann", "look at it").await.expect("paused");
    theatre.pass(mins(5)).await;
    let removal = theatre.accept(theatre.wish(OperationType::Deprovision, "shop")).await;
    assert_eq!(theatre.end(paused).await.state, OperationState::Canceled);
    assert!(took(&theatre.end(removal).await) < secs(2));
}

#[tokio::test(start_paused = true)]
async fn what_others_write_into_an_operation_is_kept_when_its_step_ends() {
    static ADDS: Act = Act("Adds", |ctx| ctx.done_with(|data| data.outside += 1));
    let theatre = Theatre::with(&[row("a", 1, &UNTIL_GO), row("a", 1, &ADDS)]);
    let _engine = theatre.engine();
    let id = theatre.update().await;
    theatre.until_ran(id, "Gate").await;
    let mut operation = theatre.operation(id).await;
    operation.fields.data = slipway_model::JsonText::parse(r#"{"outside": 10}"#.to_owned()).expect("JSON");
    let now = theatre.clock.wall();
    theatre.store.update(id, operation.version, operation.fields, now).await.expect("written").expect("no conflict");
    theatre.props.raise("go");
    theatre.end(id).await;
    assert_eq!(theatre.data(id).await.outside, 11);
}

#[tokio::test(start_paused = true)]
async fn more_operations_than_slots_flow_without_waiting_for_the_poll() {
    let theatre = Theatre::with(&[row("a", 1, &ONE)]);
    let mut operations = Vec::new();
    for n in 0..30 {
        operations.push(theatre.accept(theatre.wish(OperationType::Update, &format!("instance-{n}"))).await);
    }
    let config = EngineConfig { slots: Slots::each(2), poll: hours(1), ..EngineConfig::default() };
    let _engine = theatre.engine_with(theatre.registry(), config);
    theatre.pass(secs(10)).await;
    for id in operations {
        assert_eq!(theatre.operation(id).await.state, OperationState::Succeeded);
    }
}
