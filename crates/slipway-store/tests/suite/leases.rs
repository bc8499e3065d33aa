//! Replicas that come, beat, die and leave.

use slipway_model::{
    Timestamp,
    ports::{CommitOutcome, Next, Peer},
    time::secs,
};

use crate::bed::{Bed, Run, park, peer, replica, t};

pub(crate) async fn heartbeats_count_and_show_the_others(bed: Bed) {
    let (me, other) = (bed.replica("a").await, bed.replica("b").await);
    let beat = bed.store.heartbeat(&me, t(1)).await.expect("beats");
    assert!(beat.alive);
    assert_eq!(beat.peers, [Peer { id: other.clone(), beat: 0, at: Timestamp::default() }]);
    bed.store.heartbeat(&me, t(2)).await.expect("beats");
    let beat = bed.store.heartbeat(&other, t(3)).await.expect("beats");
    assert_eq!(beat.peers, [Peer { id: me, beat: 2, at: t(2) }]);
    let stranger = bed.store.heartbeat(&replica("stranger"), t(3)).await.expect("answers");
    assert!(!stranger.alive && stranger.peers.len() == 2);
}

pub(crate) async fn a_dead_replica_is_given_up_and_its_work_is_due(bed: Bed) {
    let (dead, me) = (bed.replica("dead").await, bed.replica("me").await);
    let mut run = bed.running(&dead, t(0)).await;
    bed.must(run.saying("half way", t(1), Next::Run)).await;
    let taken = bed.store.take_over(&peer(&dead, 0), t(5)).await.expect("takes over");
    assert_eq!(taken, 1);
    assert!(!bed.store.heartbeat(&dead, t(5)).await.expect("answers").alive);
    assert!(bed.claim_all(&dead, t(6)).await.claims.is_empty(), "the dead get nothing");
    let claim = bed.claim_one(&me, t(5)).await;
    assert_eq!((claim.taken_from.as_ref(), claim.lease.fence), (Some(&dead), 3));
    assert_eq!(claim.operation.fields.description, "half way");
    assert!(matches!(bed.commit(run.saying("from beyond", t(6), Next::Run)).await, CommitOutcome::Fenced));
    bed.must(Run::of(&claim).saying("going on", t(6), park(t(7), None, false))).await;
    assert_eq!(bed.claim_one(&me, t(7)).await.taken_from, None, "told once");
}

pub(crate) async fn a_replica_that_still_beats_is_not_given_up(bed: Bed) {
    let (other, me) = (bed.replica("other").await, bed.replica("me").await);
    let mut run = bed.running(&other, t(0)).await;
    bed.store.heartbeat(&other, t(1)).await.expect("beats");
    assert_eq!(bed.store.take_over(&peer(&other, 0), t(2)).await.expect("answers"), 0);
    assert!(bed.store.heartbeat(&other, t(2)).await.expect("beats").alive);
    assert!(bed.claim_all(&me, t(2)).await.claims.is_empty());
    bed.must(run.saying("alive", t(3), Next::Run)).await;
}

pub(crate) async fn a_released_replica_gives_everything_back(bed: Bed) {
    let (leaving, me) = (bed.replica("leaving").await, bed.replica("me").await);
    let mut one = bed.running(&leaving, t(0)).await;
    bed.running(&leaving, t(0)).await;
    assert_eq!(bed.store.release(&leaving, t(1)).await.expect("releases"), 2);
    assert_eq!(bed.store.release(&leaving, t(1)).await.expect("again"), 0);
    assert!(matches!(bed.commit(one.saying("late", t(2), Next::Run)).await, CommitOutcome::Fenced));
    assert_eq!(bed.claim_all(&me, t(1)).await.claims.len(), 2);
}

pub(crate) async fn a_parked_operation_keeps_its_timer_when_its_holder_leaves(bed: Bed) {
    let (leaving, me) = (bed.replica("leaving").await, bed.replica("me").await);
    let mut run = bed.running(&leaving, t(0)).await;
    bed.must(run.next(t(0), park(t(50), None, true))).await;
    assert_eq!(bed.store.release(&leaving, t(1)).await.expect("releases"), 1);
    assert!(bed.claim_all(&me, t(49)).await.claims.is_empty());
    let claim = bed.claim_one(&me, t(50)).await;
    assert_eq!((claim.taken_from, claim.lease.fence), (None, 3), "no step was cut short");
}

pub(crate) async fn held_operations_can_be_surrendered_once(bed: Bed) {
    let (me, other) = (bed.replica("me").await, bed.replica("other").await);
    let run = bed.running(&me, t(0)).await;
    let mut parked = bed.running(&me, t(0)).await;
    bed.must(parked.next(t(0), park(t(50), None, true))).await;
    let held = bed.store.held(&me).await.expect("tells");
    assert_eq!(held, [(run.id, 1)], "a parked one is not running");
    assert_eq!(bed.store.surrender(&other, &held, t(1)).await.expect("answers"), 0, "not theirs to give");
    assert_eq!(bed.store.surrender(&me, &[(run.id, 9), (parked.id, 1)], t(1)).await.expect("answers"), 0);
    assert_eq!(bed.store.surrender(&me, &held, t(1)).await.expect("gives back"), 1);
    assert_eq!(bed.store.surrender(&me, &held, t(1)).await.expect("again"), 0);
    assert!(bed.store.held(&me).await.expect("tells").is_empty());
    let claim = bed.claim_one(&other, t(1)).await;
    assert_eq!((claim.operation.id, claim.taken_from, claim.lease.fence), (run.id, None, 3));
}

pub(crate) async fn a_new_replica_is_told_the_time_of_the_others(bed: Bed) {
    let me = bed.replica("a").await;
    // Engine time may be far from the database's clock: it is what the fleet goes by.
    bed.store.heartbeat(&me, t(1000)).await.expect("beats");
    let told = bed.store.register(&replica("b"), &[]).await.expect("registers");
    assert!(told.has_peers);
    assert!(told.gap < secs(60), "{told:?}");
    assert_eq!(told.now, t(1000) + told.gap);
    // Registering again keeps the count, so that nobody takes a beating replica for dead.
    bed.store.heartbeat(&replica("b"), t(1001)).await.expect("beats");
    bed.store.register(&replica("b"), &[]).await.expect("registers again");
    assert_eq!(bed.store.heartbeat(&me, t(1002)).await.expect("beats").peers[0].beat, 1);
}

pub(crate) async fn a_heartbeat_held_up_on_its_way_does_not_set_the_time_back(bed: Bed) {
    let (me, paused) = (bed.replica("me").await, bed.replica("paused").await);
    bed.store.heartbeat(&me, t(1000)).await.expect("beats");
    assert!(bed.store.heartbeat(&paused, t(970)).await.expect("beats late").alive);
    let told = bed.store.register(&replica("new"), &[]).await.expect("registers");
    assert_eq!(told.now, t(1000) + told.gap);
}
