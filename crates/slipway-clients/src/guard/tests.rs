//! Stories of a system that goes down and comes back, on simulated time.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures::{FutureExt as _, future::join_all};
use slipway_model::time::{millis, secs};

use super::*;
use crate::{
    system::{Breaker, Login, UsedBy},
    testing::PausedClock,
};

static TABLE: &[OutsideSystem] = &[OutsideSystem {
    name: "sample",
    title: "the sample",
    about: "a sample",
    used_by: &[UsedBy::Broker],
    login: Login::None,
    timeout: secs(30),
    in_flight: 2,
    breaker: Breaker { failures: 3, open_for: secs(10) },
}];

/// What the system does with a call: how long it takes, and the status, or silence.
type Does = (Duration, Option<u16>);

/// A system with a script; when that is over, it is well and quick.
struct Scripted {
    clock: Arc<dyn Clock>,
    script: Mutex<VecDeque<Does>>,
    sent: Arc<AtomicUsize>,
}

impl Transport for Scripted {
    fn send<'a>(
        &'a self,
        system: &'static str,
        _: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            self.sent.fetch_add(1, Ordering::Relaxed);
            let (takes, status) = locked(&self.script).pop_front().unwrap_or((Duration::ZERO, Some(200)));
            self.clock.sleep(takes.min(timeout)).await;
            match status.filter(|_| takes <= timeout) {
                Some(status) => Ok(Response::builder().status(status).body(Bytes::new()).expect("response")),
                None => Err(TransportError::NoAnswer { system, problem: "the time ran out".to_owned() }),
            }
        })
    }
}

struct Story {
    clock: Arc<dyn Clock>,
    guard: Guard<Scripted>,
    sent: Arc<AtomicUsize>,
}

impl Story {
    fn of(script: &[Does]) -> Self {
        let (clock, sent): (Arc<dyn Clock>, _) = (Arc::new(PausedClock::default()), Arc::new(AtomicUsize::new(0)));
        let script = Mutex::new(script.iter().copied().collect());
        let wire = Scripted { clock: clock.clone(), script, sent: sent.clone() };
        let guard = Guard::new(wire, TABLE, &SettingsBySystem::new(), clock.clone());
        Self { clock, guard, sent }
    }

    /// The status, or why there is none.
    async fn call(&self) -> Result<u16, TransportError> {
        let answer = self.guard.send("sample", Request::new(Bytes::new()), secs(30)).await;
        answer.map(|answer| answer.status().as_u16())
    }

    fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    fn health(&self) -> Health {
        self.guard.health().look().remove(0)
    }
}

const BROKEN: Does = (Duration::ZERO, Some(503));
const SILENT: Does = (Duration::ZERO, None);

fn is_held_back(answer: &Result<u16, TransportError>) -> bool {
    matches!(answer, Err(TransportError::NotSent { problem, .. }) if problem.contains("held back"))
}

#[tokio::test(start_paused = true)]
async fn a_system_that_is_down_is_left_alone_and_one_call_finds_it_well_again() {
    let story = Story::of(&[BROKEN, SILENT, BROKEN]);
    for _ in 0..3 {
        assert!(!is_held_back(&story.call().await));
    }
    let held = story.call().await.expect_err("held back");
    let said = "sample cannot be reached: calls are held back for another 10 s, since 3 in a row failed: status 503";
    assert_eq!(held.to_string(), said);
    let health = story.health();
    assert!(matches!(health.state, BreakerState::Open { .. }));
    assert_eq!((health.failed, health.answered, health.held_back), (3, 0, 1));
    assert_eq!(health.last_failure.map(|(_, problem)| problem).as_deref(), Some("status 503"));
    story.clock.sleep(secs(10)).await;
    assert_eq!(story.call().await, Ok(200));
    assert_eq!(story.call().await, Ok(200));
    let health = story.health();
    assert_eq!((story.sent(), health.state), (5, BreakerState::Closed { failures: 0 }));
    assert!(health.last_success.is_some());
}

#[tokio::test(start_paused = true)]
async fn while_one_call_tries_the_others_wait_for_its_word() {
    let slow_failure = (secs(5), Some(500));
    let story = Story::of(&[BROKEN, BROKEN, BROKEN, slow_failure]);
    for _ in 0..3 {
        let _ = story.call().await;
    }
    story.clock.sleep(secs(10)).await;
    let both = join_all([story.call(), story.call()]).await;
    assert_eq!((both[0].clone(), is_held_back(&both[1])), (Ok(500), true));
    assert_eq!(story.sent(), 4);
    assert!(is_held_back(&story.call().await), "the trial failed, so it is left alone again");
    story.clock.sleep(secs(10)).await;
    assert_eq!(story.call().await, Ok(200));
}

#[tokio::test(start_paused = true)]
async fn refusals_are_signs_of_life_and_only_failures_in_a_row_count() {
    let (refused, busy) = ((Duration::ZERO, Some(404)), (Duration::ZERO, Some(429)));
    let story = Story::of(&[BROKEN, BROKEN, refused, BROKEN, SILENT, busy, BROKEN, BROKEN]);
    for _ in 0..9 {
        assert!(!is_held_back(&story.call().await));
    }
    assert_eq!(story.health().state, BreakerState::Closed { failures: 0 });
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_is_given_up_leaves_its_place_to_the_next() {
    let story = Story::of(&[BROKEN, BROKEN, BROKEN, (secs(20), Some(200))]);
    for _ in 0..3 {
        let _ = story.call().await;
    }
    story.clock.sleep(secs(10)).await;
    tokio::select! {
        biased;
        _ = story.call() => panic!("it takes longer"),
        () = story.clock.sleep(secs(1)) => {}
    }
    assert_eq!((story.call().await, story.health().in_flight), (Ok(200), 0));
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_under_way_than_the_table_says_and_waiting_is_part_of_their_time() {
    let story = Story::of(&[(secs(20), Some(200)); 4]);
    let begun = story.clock.monotonic();
    let mut calls: Vec<_> = (0..4).map(|_| Box::pin(story.call())).collect();
    for call in &mut calls {
        assert!(call.now_or_never().is_none());
    }
    assert_eq!((story.health().in_flight, story.sent()), (2, 2));
    let answers = join_all(calls).await;
    assert_eq!(answers[..2], [Ok(200), Ok(200)]);
    // The others had ten seconds left when their turn came, and twenty were needed.
    assert!(answers[2..].iter().all(|answer| matches!(answer, Err(TransportError::NoAnswer { .. }))), "{answers:?}");
    assert!(story.clock.monotonic() - begun < secs(30) + millis(10));
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_place_in_time_was_never_sent() {
    let hanging = (secs(3600), None);
    let story = Story::of(&[hanging; 2]);
    let mut hangs: Vec<_> =
        (0..2).map(|_| Box::pin(story.guard.send("sample", Request::new(Bytes::new()), secs(3600)))).collect();
    for call in &mut hangs {
        assert!(call.now_or_never().is_none());
    }
    let error = story.call().await.expect_err("no place");
    assert_eq!(error.to_string(), "sample cannot be reached: 2 calls were under way for the whole time");
    assert_eq!((story.sent(), story.health().held_back), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn names_that_are_not_in_the_table_pass() {
    let story = Story::of(&[SILENT; 9]);
    for _ in 0..9 {
        let answer = story.guard.send("issuer", Request::new(Bytes::new()), secs(1)).await;
        assert!(matches!(answer, Err(TransportError::NoAnswer { .. })));
    }
    assert_eq!(story.guard.health().look().len(), 1);
}
