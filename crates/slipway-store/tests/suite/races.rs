//! Real concurrency: many calls at once on the databases, in bounded loops. What must not happen is
//! asserted after each round, when all calls have answered; no clock decides anything.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use slipway_model::{
    Action, NewOperation, OperationState, OperationType, WaitKey,
    ports::{Enqueued, Next, Random},
};
use slipway_store::testing::{Chance, Postgres};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;

use crate::bed::{Bed, Run, key, open_postgres, park, peer, replica, t};

/// Declares each race for both databases.
macro_rules! races {
    ($($race:ident,)+) => {
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $race() { super::$race(std::sync::Arc::new(crate::bed::Bed::sqlite().await)).await }
        )+ }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $race() { super::$race(std::sync::Arc::new(crate::bed::Bed::postgres().await)).await }
        )+ }
    };
}

races! {
    no_wake_up_is_slept_over,
    no_end_is_slept_over_by_who_waits_on_it,
    no_wish_is_slept_over,
    two_claimers_never_get_the_same_operation,
    an_instance_never_runs_two_operations_and_forgets_none,
    a_dead_replica_never_ends_up_owning_something,
    of_many_removals_at_once_one_is_accepted,
    the_same_id_at_once_is_inserted_once,
    groups_that_wait_on_each_others_ends_do_not_lock_up,
}

async fn all_done(tasks: &mut JoinSet<()>) {
    while let Some(done) = tasks.join_next().await {
        done.expect("no panic");
    }
}

/// Claims `count` operations that are running already.
async fn runs(bed: &Bed, count: usize) -> Vec<Run> {
    let me = bed.replica("a").await;
    for n in 0..count {
        bed.accept(OperationType::Provision, &format!("i{n}"), t(0)).await;
    }
    let claims = bed.claim_all(&me, t(0)).await.claims;
    assert_eq!(claims.len(), count);
    claims.iter().map(Run::of).collect()
}

async fn no_wake_up_is_slept_over(bed: Arc<Bed>) {
    let mut runs = runs(&bed, 6).await;
    let me = replica("a");
    for round in 1..=60 {
        let mut tasks = JoinSet::new();
        let on = format!("runtime/{round}");
        for (n, run) in runs.iter_mut().enumerate() {
            let (bed, commit) = (Arc::clone(&bed), run.next(t(round), park(t(1_000_000), Some(&on), n % 2 == 0)));
            tasks.spawn(async move { assert!(bed.must(commit).await > 0) });
        }
        let (waker, on) = (Arc::clone(&bed), key(&on));
        tasks.spawn(async move {
            waker.store.wake(&[on], "it happened", t(round)).await.expect("wakes");
        });
        all_done(&mut tasks).await;
        let claims = bed.claim_all(&me, t(round)).await.claims;
        assert_eq!(claims.len(), runs.len(), "round {round}: somebody sleeps although it happened");
        runs = claims.iter().map(Run::of).collect();
    }
}

async fn no_end_is_slept_over_by_who_waits_on_it(bed: Arc<Bed>) {
    let me = bed.replica("a").await;
    for round in 1..=40 {
        let mut worker = bed.running(&me, t(round)).await;
        let mut waiter = bed.running(&me, t(round)).await;
        let on = WaitKey::operation(worker.id).to_string();
        let mut tasks = JoinSet::new();
        for commit in [waiter.next(t(round), park(t(1_000_000), Some(&on), true)), worker.end(t(round))] {
            let bed = Arc::clone(&bed);
            tasks.spawn(async move { assert!(bed.must(commit).await > 0) });
        }
        all_done(&mut tasks).await;
        let claim = bed.claim_one(&me, t(round)).await;
        assert_eq!(claim.operation.id, waiter.id);
        bed.must(Run::of(&claim).end(t(round))).await;
    }
}

async fn no_wish_is_slept_over(bed: Arc<Bed>) {
    let mut runs = runs(&bed, 6).await;
    let me = replica("a");
    for round in 1..=40 {
        let mut tasks = JoinSet::new();
        for (n, run) in runs.iter_mut().enumerate() {
            let next = if n % 3 == 0 { Next::Hold } else { park(t(1_000_000), None, n % 3 == 1) };
            let (parker, commit) = (Arc::clone(&bed), run.next(t(round), next));
            tasks.spawn(async move { assert!(parker.must(commit).await > 0) });
            let (actor, id) = (Arc::clone(&bed), run.id);
            tasks.spawn(async move { drop(actor.act(id, Action::RetryNow, t(round)).await.expect("taken")) });
        }
        all_done(&mut tasks).await;
        let claims = bed.claim_all(&me, t(round)).await.claims;
        assert_eq!(claims.len(), runs.len(), "round {round}: somebody sleeps over a wish");
        runs = claims.iter().map(Run::of).collect();
    }
}

async fn two_claimers_never_get_the_same_operation(bed: Arc<Bed>) {
    const COUNT: usize = 120;
    for n in 0..COUNT {
        bed.accept(OperationType::Provision, &format!("i{n}"), t(0)).await;
    }
    let mut tasks = JoinSet::new();
    for n in 0..4 {
        let bed = Arc::clone(&bed);
        tasks.spawn(async move {
            let me = bed.replica(&format!("r{n}")).await;
            let mut mine = Vec::new();
            // Rows that others hold just now are passed over, so an empty answer is not the end.
            for _ in 0..60 {
                mine.extend(bed.claim(&me, t(1), 3).await.expect("claims").claims.iter().map(|c| c.operation.id));
            }
            mine
        });
    }
    let mut seen = HashSet::new();
    while let Some(mine) = tasks.join_next().await {
        for id in mine.expect("no panic") {
            assert!(seen.insert(id), "{id} was handed out twice");
        }
    }
    assert_eq!(seen.len(), COUNT);
}

/// Three replicas accept, claim, wait, cancel and end operations of one instance, at once.
async fn an_instance_never_runs_two_operations_and_forgets_none(bed: Arc<Bed>) {
    let (running, started, tick) =
        (Arc::new(AtomicI64::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicI64::new(1)));
    let mut tasks = JoinSet::new();
    for n in 0..3_u64 {
        let (bed, running, started, tick) =
            (Arc::clone(&bed), Arc::clone(&running), Arc::clone(&started), Arc::clone(&tick));
        tasks.spawn(async move {
            let me = bed.replica(&format!("r{n}")).await;
            let dice = Chance::seeded(n + 40);
            for turn in 0..170 {
                let now = t(tick.fetch_add(1, Ordering::SeqCst));
                if dice.next_u64().is_multiple_of(3) {
                    let kind = OperationType::ALL[usize::try_from(dice.next_u64() % 5).expect("small")];
                    // A removal makes everything else due by canceling it and so hides what was
                    // forgotten; the later turns have none.
                    let temporary = turn > 60 || dice.next_u64().is_multiple_of(2);
                    let temporary = kind == OperationType::Deprovision && temporary;
                    let new = NewOperation { temporary, ..bed.asked(kind, "shop") };
                    let id = bed.store.enqueue(new, now).await.expect("accepted").operation().id;
                    match dice.next_u64() % 8 {
                        0 => drop(bed.act(id, Action::Cancel, now).await),
                        1 => {
                            bed.act(id, Action::Pause, now).await.ok();
                            bed.act(id, Action::Resume, now).await.ok();
                        }
                        _ => {}
                    }
                }
                end_what_is_due(&bed, &me, now, &running, &started).await;
            }
        });
    }
    all_done(&mut tasks).await;
    let me = bed.replica("last").await;
    for _ in 0..1000 {
        let now = t(tick.fetch_add(1, Ordering::SeqCst));
        end_what_is_due(&bed, &me, now, &running, &started).await;
    }
    let left: Vec<_> = bed.all().await.into_iter().filter(|op| !op.state.is_finished()).collect();
    assert!(left.is_empty(), "forgotten: {left:#?}");
    assert!(started.load(Ordering::SeqCst) > 10, "something ran");
}

async fn end_what_is_due(
    bed: &Bed,
    me: &slipway_model::ReplicaId,
    now: slipway_model::Timestamp,
    running: &AtomicI64,
    started: &AtomicUsize,
) {
    for claim in bed.claim(me, now, 2).await.expect("claims").claims {
        let mut run = Run::of(&claim);
        let op = &claim.operation;
        if op.state == OperationState::InProgress {
            assert!(claim.started, "nobody parks here");
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two run at once");
            started.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            bed.must(run.end(now)).await;
        } else if op.control.cancel.is_some() {
            bed.must(run.next(now, Next::End { state: OperationState::Canceled })).await;
        } else {
            bed.must(run.next(now, Next::Hold)).await;
        }
    }
}

async fn a_dead_replica_never_ends_up_owning_something(bed: Arc<Bed>) {
    for n in 0..8 {
        bed.accept(OperationType::Provision, &format!("i{n}"), t(0)).await;
    }
    for round in 0..60 {
        let doomed = bed.replica(&format!("doomed{round}")).await;
        let mut tasks = JoinSet::new();
        for half in 0..4 {
            let (bed, doomed) = (Arc::clone(&bed), doomed.clone());
            tasks.spawn(async move {
                if half == 0 {
                    bed.store.take_over(&peer(&doomed, 0), t(1)).await.expect("takes over");
                } else {
                    bed.claim(&doomed, t(1), 3).await.expect("claims");
                }
            });
        }
        all_done(&mut tasks).await;
        let owned: Vec<_> = bed.all().await.into_iter().filter(|op| op.schedule.owner.is_some()).collect();
        assert!(owned.is_empty(), "round {round}: owned by the dead: {owned:#?}");
    }
}

async fn of_many_removals_at_once_one_is_accepted(bed: Arc<Bed>) {
    for round in 0..15 {
        let mut tasks = JoinSet::new();
        for _ in 0..6 {
            let bed = Arc::clone(&bed);
            tasks.spawn(async move {
                // Suspensions in turn: no index forbids two of them, only the lock does.
                let new = bed.asked(OperationType::Deprovision, &format!("i{round}"));
                let new = NewOperation { temporary: round % 2 == 0, ..new };
                match bed.store.enqueue(new, t(round)).await.expect("answers") {
                    Enqueued::New(op) => (1, op.id),
                    Enqueued::Existing(op) => (0, op.id),
                }
            });
        }
        let answers: Vec<_> = tasks.join_all().await;
        assert_eq!(answers.iter().map(|(new, _)| new).sum::<i32>(), 1, "round {round}");
        assert!(answers.iter().all(|(_, id)| *id == answers[0].1), "all are told the same one");
    }
}

async fn the_same_id_at_once_is_inserted_once(bed: Arc<Bed>) {
    for round in 0..15 {
        let new = bed.asked(OperationType::Provision, &format!("i{round}"));
        let mut tasks = JoinSet::new();
        for _ in 0..4 {
            let (bed, new) = (Arc::clone(&bed), new.clone());
            tasks.spawn(
                async move { matches!(bed.store.enqueue(new, t(round)).await.expect("answers"), Enqueued::New(_)) },
            );
        }
        assert_eq!(tasks.join_all().await.into_iter().filter(|new| *new).count(), 1);
        assert_eq!(bed.kinds(new.id).await.len(), 1);
    }
}

async fn groups_that_wait_on_each_others_ends_do_not_lock_up(bed: Arc<Bed>) {
    let me = bed.replica("a").await;
    for round in 1..=25 {
        let mut ends = [bed.running(&me, t(round)).await, bed.running(&me, t(round)).await];
        let mut waits = [bed.running(&me, t(round)).await, bed.running(&me, t(round)).await];
        let mut tasks = JoinSet::new();
        for n in 0..2 {
            let on = WaitKey::operation(ends[1 - n].id).to_string();
            let group = [waits[n].next(t(round), park(t(1_000_000), Some(&on), true)), ends[n].end(t(round))];
            let bed = Arc::clone(&bed);
            tasks.spawn(async move { drop(bed.store.commit(&group).await.expect("answers")) });
        }
        all_done(&mut tasks).await;
        let claims = bed.claim_all(&me, t(round)).await.claims;
        assert_eq!(claims.len(), 2, "round {round}: both ends were heard");
        for claim in claims {
            bed.must(Run::of(&claim).end(t(round))).await;
        }
    }
}

/// How many connections to this database wait for a lock.
async fn waiting(conn: &mut PgConnection) -> i64 {
    const WAITING: &str =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    sqlx::query_scalar(WAITING).fetch_one(conn).await.expect("counts")
}

/// The end of one operation is stopped after it has looked for pending ones and before it is
/// durable; just then another one arrives and is looked at. Without the instance's lock it would be
/// set aside behind an operation that is about to end without knowing of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operation_that_arrives_during_an_end_is_not_forgotten() {
    let url = Postgres::shared().fresh_database().await.expect("a database");
    let bed = Arc::new(Bed::on(Arc::new(open_postgres(&url).await)));
    let me = bed.replica("a").await;
    bed.accept(OperationType::Provision, "shop", t(0)).await;
    let mut run = Run::of(&bed.claim_one(&me, t(0)).await);
    let its_end = WaitKey::operation(run.id);
    bed.store.wake(std::slice::from_ref(&its_end), "so that there is a row to hold", t(0)).await.expect("wakes");

    let (mut watch, mut hand) =
        (PgConnection::connect(&url).await.expect("connects"), PgConnection::connect(&url).await.expect("connects"));
    let mut hold = hand.begin().await.expect("begins");
    let row = sqlx::query("SELECT 1 FROM signals WHERE key = $1 FOR UPDATE").bind(its_end.as_str());
    row.execute(&mut *hold).await.expect("holds the row that the end writes last");

    let (ender, end) = (Arc::clone(&bed), run.end(t(1)));
    let ending = tokio::spawn(async move { ender.must(end).await });
    while waiting(&mut watch).await < 1 {
        tokio::task::yield_now().await;
    }
    let (asker, new) = (Arc::clone(&bed), bed.asked(OperationType::Update, "shop"));
    let id = new.id;
    let arriving = tokio::spawn(async move { asker.store.enqueue(new, t(1)).await.expect("accepted") });
    while waiting(&mut watch).await < 2 && !arriving.is_finished() {
        tokio::task::yield_now().await;
    }
    assert!(bed.claim_all(&me, t(1)).await.claims.is_empty(), "the first one has not ended");
    hold.commit().await.expect("lets go");
    ending.await.expect("ends");
    arriving.await.expect("arrives");
    assert_eq!(bed.claim_one(&me, t(1)).await.operation.id, id);
}
