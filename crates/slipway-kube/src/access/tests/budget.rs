//! The budget hands out by importance, and the breaker leaves a dead API alone.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use serde_json::json;
use slipway_model::{
    ports::Clock as _,
    time::{millis, secs},
};

use super::bench::{Counting, Simulated, json, served};
use crate::access::{
    Access, Ask, Breaker, Budget, Options, Priority,
    cache::{Cache, Projection, Source},
    resource::SHOOTS,
};

#[tokio::test(start_paused = true)]
async fn a_freed_token_goes_to_the_most_important_who_waits() {
    let clock = Simulated::new();
    let budget = Budget::new(10.0, 1, clock.clone());
    budget.take(Priority::Change).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for priority in [Priority::Rotation, Priority::Deletion, Priority::Change, Priority::Expired] {
        let (budget, order) = (budget.clone(), order.clone());
        waiting.push(tokio::spawn(async move {
            budget.take(priority).await;
            order.lock().expect("lock").push(priority);
        }));
        tokio::task::yield_now().await;
    }
    for one in waiting {
        one.await.expect("done");
    }
    assert_eq!(
        *order.lock().expect("lock"),
        [Priority::Expired, Priority::Change, Priority::Deletion, Priority::Rotation]
    );
    assert!(clock.monotonic() >= millis(400) && clock.monotonic() < millis(600), "{:?}", clock.monotonic());
    let waits = budget.waits();
    assert!(waits.iter().any(|(priority, waits)| *priority == Priority::Rotation && waits.longest >= millis(300)));
}

#[tokio::test(start_paused = true)]
async fn background_work_gets_half_of_the_rate() {
    let clock = Simulated::new();
    let budget = Budget::new(10.0, 1, clock.clone());
    for _ in 0..11 {
        budget.take(Priority::Background).await;
    }
    assert!(clock.monotonic() >= millis(1_900), "{:?}", clock.monotonic());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_costs_no_token() {
    let clock = Simulated::new();
    let budget = Budget::new(1.0, 1, clock.clone());
    budget.take(Priority::Change).await;
    tokio::select! {
        () = budget.take(Priority::Change) => panic!("there is no token"),
        () = clock.sleep(millis(100)) => {}
    }
    budget.take(Priority::Change).await;
    assert!(clock.monotonic() <= millis(1_100), "{:?}", clock.monotonic());
}

#[tokio::test(start_paused = true)]
async fn after_ten_failures_in_a_row_one_probe_every_five_seconds_is_all_that_leaves() {
    let (clock, broken, asked) = (Simulated::new(), Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let breaker = Breaker::new(Ask::list(&SHOOTS, "garden-dev").with("limit", "1"));
    let options = Options { breaker: Some(breaker.clone()), ..Options::new("garden", clock.clone()) };
    let client = served({
        let (broken, asked) = (broken.clone(), asked.clone());
        move |_, _, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            let code = if broken.load(Ordering::Relaxed) { 503 } else { 200 };
            async move { json(code, &json!({})) }
        }
    });
    let access = Access::new(client, options);
    let ask = || Ask::get(&SHOOTS, "garden-dev", "shop");
    for _ in 0..10 {
        access.send(ask()).await.expect_err("broken");
    }
    assert!(breaker.is_open());
    assert_eq!(access.send(ask()).await.expect_err("held").reason, "CircuitOpen");
    assert_eq!(asked.load(Ordering::Relaxed), 10, "nothing more left");
    clock.sleep(secs(31)).await;
    assert_eq!(asked.load(Ordering::Relaxed), 16, "one probe every five seconds");
    broken.store(false, Ordering::Relaxed);
    let mut changes = breaker.changes();
    changes.wait_for(|open| !open).await.expect("closed");
    access.send(ask()).await.expect("answered");
}

/// One cluster whose kubeconfig cannot be made must not stop all others.
#[tokio::test(start_paused = true)]
async fn failures_of_one_objects_part_open_no_breaker() {
    let breaker = Breaker::new(Ask::list(&SHOOTS, "garden-dev"));
    let options = Options { breaker: Some(breaker.clone()), ..Options::new("garden", Simulated::new()) };
    let access = Access::new(served(|_, _, _| async { json(500, &json!({})) }), options);
    for _ in 0..30 {
        let ask = Ask::create_under(&SHOOTS, "garden-dev", "shop", "adminkubeconfig", json!({}));
        access.send(ask).await.expect_err("broken");
    }
    assert!(!breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn refusals_open_no_breaker() {
    let clock = Simulated::new();
    let breaker = Breaker::new(Ask::list(&SHOOTS, "garden-dev"));
    let options = Options { breaker: Some(breaker.clone()), ..Options::new("garden", clock) };
    let access = Access::new(served(|_, _, _| async { json(422, &json!({})) }), options);
    for _ in 0..30 {
        access.send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("refused");
    }
    assert!(!breaker.is_open());
    let counters = &access.options().counters;
    assert_eq!(counters.sum(|counted| counted.code == 422 && counted.resource == "shoots"), 30);
}

/// A cache whose watch broke has nothing to add to the probe, and hears of the return by it.
#[tokio::test(start_paused = true)]
async fn while_calls_are_held_no_watch_is_tried_and_all_come_back_with_the_probe() {
    let (clock, broken) = (Simulated::new(), Arc::new(AtomicBool::new(true)));
    let asked = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let breaker = Breaker::new(Ask::list(&SHOOTS, "garden-dev").with("limit", "1"));
    let options = Options { breaker: Some(breaker.clone()), ..Options::new("garden", clock.clone()) };
    let client = served({
        let (broken, asked) = (broken.clone(), asked.clone());
        move |_, uri, _| {
            asked[usize::from(uri.contains("limit=500"))].fetch_add(1, Ordering::Relaxed);
            let code = if broken.load(Ordering::Relaxed) { 503 } else { 200 };
            async move { json(code, &json!({"metadata": {"resourceVersion": "1"}, "items": []})) }
        }
    });
    let access = Access::new(client, options);
    for _ in 0..10 {
        access.send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("broken");
    }
    let source = Source {
        access,
        resource: &SHOOTS,
        namespace: "garden-dev".to_owned(),
        selector: String::new(),
        random: Arc::new(Counting::default()),
    };
    let cache = Cache::<Nothing>::default();
    let task = tokio::spawn(cache.clone().run(source, Box::new(|_| {})));
    clock.sleep(secs(61)).await;
    let lists = asked[1].load(Ordering::Relaxed);
    assert_eq!(
        (lists, asked[0].load(Ordering::Relaxed)),
        (1, 10 + 12),
        "the first try, and one probe every five seconds"
    );
    broken.store(false, Ordering::Relaxed);
    let before = clock.monotonic();
    cache.until_synced().await;
    assert!(clock.monotonic() - before <= secs(5), "{:?}", clock.monotonic() - before);
    task.abort();
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Nothing {}

impl Projection for Nothing {}
