//! Who gets what, and when.

use slipway_model::{
    Action, NewOperation, OperationState, OperationType, ProcessKey,
    ports::{ClaimRequest, Next, Want},
    state::Class,
};

use crate::bed::{Bed, Run, known, park, replica, request, t};

pub(crate) async fn due_operations_come_in_order_of_their_time(bed: Bed) {
    let me = bed.replica("a").await;
    let late = bed.accept(OperationType::Provision, "a", t(3)).await;
    let early = bed.accept(OperationType::Provision, "b", t(1)).await;
    let middle = bed.accept(OperationType::Provision, "c", t(2)).await;
    bed.accept(OperationType::Provision, "d", t(99)).await;
    let claims = bed.claim_all(&me, t(3)).await.claims;
    assert_eq!(claims.iter().map(|claim| claim.operation.id).collect::<Vec<_>>(), [early, middle, late]);
}

pub(crate) async fn a_class_gets_no_more_than_it_wants(bed: Bed) {
    let me = bed.replica("a").await;
    for n in 0..3 {
        bed.accept(OperationType::Provision, &format!("p{n}"), t(0)).await;
        bed.accept(OperationType::UpgradeCluster, &format!("u{n}"), t(0)).await;
    }
    let wants = vec![Want { class: Class::Provision, limit: 2 }, Want { class: Class::Upgrade, limit: 1 }];
    let request = ClaimRequest { wants, ..request(&me, t(0), 0) };
    let classes = |claims: Vec<slipway_model::ports::Claim>| {
        claims.iter().map(|claim| claim.operation.kind.class()).collect::<Vec<_>>()
    };
    let first = bed.store.claim(&request).await.expect("claims").claims;
    assert_eq!(classes(first), [Class::Provision, Class::Provision, Class::Upgrade]);
    let second = bed.store.claim(&request).await.expect("claims").claims;
    assert_eq!(classes(second), [Class::Provision, Class::Upgrade]);
}

pub(crate) async fn blocked_operations_take_no_place_of_others(bed: Bed) {
    let me = bed.replica("a").await;
    bed.accept(OperationType::Provision, "busy", t(0)).await;
    bed.claim_one(&me, t(0)).await;
    for _ in 0..5 {
        bed.accept(OperationType::Update, "busy", t(1)).await;
    }
    let free = bed.accept(OperationType::Update, "free", t(2)).await;
    let claims = bed.claim(&me, t(2), 1).await.expect("claims").claims;
    assert_eq!(claims.iter().map(|claim| claim.operation.id).collect::<Vec<_>>(), [free]);
}

pub(crate) async fn unknown_processes_are_left_for_programs_that_know_them(bed: Bed) {
    let me = bed.replica("a").await;
    let new = bed.asked(OperationType::Provision, "shop");
    let process = ProcessKey { name: "provision".to_owned(), version: 2 };
    bed.store.enqueue(slipway_model::NewOperation { process: process.clone(), ..new }, t(0)).await.expect("accepted");
    let claimed = bed.claim_all(&me, t(1)).await;
    assert!(claimed.claims.is_empty());
    let known = [known(), vec![process]].concat();
    let claims = bed.store.claim(&ClaimRequest { known, ..request(&me, t(1), 1) }).await.expect("claims").claims;
    assert_eq!(claims.len(), 1);
}

pub(crate) async fn operations_that_no_registered_replica_can_run_are_counted(bed: Bed) {
    let key = |text: &str| text.parse::<ProcessKey>().expect("a process");
    let accept = async |process: &str, instance: &str| {
        let new = NewOperation { process: key(process), ..bed.asked(OperationType::Update, instance) };
        bed.store.enqueue(new, t(0)).await.expect("accepted");
    };
    let stranded = async || bed.store.stranded().await.expect("counts");
    for (process, instance) in [("sample@9", "a"), ("sample@9", "b"), ("sample@10", "c"), ("other@1", "d")] {
        accept(process, instance).await;
    }
    assert_eq!(stranded().await, [(key("other@1"), 1), (key("sample@9"), 2), (key("sample@10"), 1)], "nobody is there");
    let (one, two) = (replica("one"), replica("two"));
    bed.store.register(&one, &[key("sample@9"), key("sample@10")]).await.expect("registers");
    assert_eq!(stranded().await, [(key("other@1"), 1)]);
    bed.store.register(&two, &[key("other@1")]).await.expect("registers");
    assert_eq!(stranded().await, []);
    bed.store.release(&one, t(1)).await.expect("leaves");
    assert_eq!(stranded().await, [(key("sample@9"), 2), (key("sample@10"), 1)]);
}

pub(crate) async fn the_next_due_time_is_told_unless_more_is_due_now(bed: Bed) {
    let me = bed.replica("a").await;
    let other = bed.replica("b").await;
    assert_eq!(bed.claim_all(&me, t(0)).await.next_due, None);
    bed.accept(OperationType::Provision, "a", t(10)).await;
    bed.accept(OperationType::Update, "b", t(20)).await;
    assert_eq!(bed.claim_all(&me, t(0)).await.next_due, Some(t(10)));
    let updates = vec![Want { class: Class::Update, limit: 1 }];
    let request = ClaimRequest { wants: updates, ..request(&me, t(0), 0) };
    assert_eq!(bed.store.claim(&request).await.expect("claims").next_due, Some(t(20)));

    bed.accept(OperationType::Provision, "c", t(11)).await;
    let claimed = bed.claim(&me, t(15), 1).await.expect("claims");
    assert_eq!((claimed.claims.len(), claimed.next_due), (1, Some(t(20))), "more provisionings are due already");

    // What another replica keeps for itself is no business of this one.
    let mut run = Run::of(&bed.claim_one(&other, t(15)).await);
    bed.must(run.next(t(15), park(t(16), None, true))).await;
    assert_eq!(bed.claim(&me, t(15), 1).await.expect("claims").next_due, Some(t(20)));
    assert_eq!(bed.claim(&other, t(15), 1).await.expect("claims").next_due, Some(t(16)));
}

pub(crate) async fn an_unregistered_replica_gets_nothing(bed: Bed) {
    bed.accept(OperationType::Provision, "a", t(0)).await;
    bed.accept(OperationType::Provision, "b", t(50)).await;
    let claimed = bed.claim_all(&replica("stranger"), t(1)).await;
    assert!(claimed.claims.is_empty() && claimed.next_due.is_none());
}

pub(crate) async fn a_canceled_pending_operation_is_handed_out_without_starting(bed: Bed) {
    let me = bed.replica("a").await;
    let id = bed.accept(OperationType::Provision, "a", t(0)).await;
    bed.act(id, Action::Cancel, t(1)).await.expect("canceled");
    let claim = bed.claim_one(&me, t(1)).await;
    assert_eq!((claim.started, claim.operation.state), (false, OperationState::Pending));
    assert_eq!(claim.woken_by.as_deref(), Some("cancel by ada"));
    bed.must(Run::of(&claim).next(t(2), Next::End { state: OperationState::Canceled })).await;
    let op = bed.get(id).await;
    assert_eq!((op.state, op.finished_at, op.started_at), (OperationState::Canceled, Some(t(2)), None));
}

pub(crate) async fn starting_raises_the_version_and_begins_the_budget_of_an_upgrade(bed: Bed) {
    let me = bed.replica("a").await;
    bed.accept(OperationType::UpgradeKyma, "a", t(0)).await;
    let claim = bed.claim_one(&me, t(5)).await;
    let op = &claim.operation;
    assert!(claim.started);
    assert_eq!((op.version, op.started_at, op.budget_from), (2, Some(t(5)), Some(t(5))));
    assert_eq!((claim.lease.fence, op.schedule.fence, op.schedule.commits), (1, 1, 0));
    assert_eq!(format!("{op:?}"), format!("{:?}", bed.get(op.id).await), "what was answered is what is stored");
    bed.accept(OperationType::Provision, "b", t(0)).await;
    assert_eq!(bed.claim_one(&me, t(5)).await.operation.budget_from, Some(t(0)), "queueing counts");
}

pub(crate) async fn a_parked_lease_comes_back_to_its_holder_only(bed: Bed) {
    let (me, other) = (bed.replica("a").await, bed.replica("b").await);
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(0), park(t(5), None, true))).await;
    assert!(bed.claim_all(&other, t(6)).await.claims.is_empty());
    let claim = bed.claim_one(&me, t(6)).await;
    assert_eq!((claim.lease.fence, claim.operation.schedule.commits), (1, 1), "the same lease goes on");

    let mut run = Run::of(&claim);
    bed.must(run.next(t(6), park(t(7), None, false))).await;
    let claim = bed.claim_one(&other, t(7)).await;
    assert_eq!((claim.lease.fence, claim.operation.schedule.commits), (2, 0), "a new lease begins");
}

pub(crate) async fn due_operations_are_counted_per_class(bed: Bed) {
    bed.accept(OperationType::Provision, "a", t(0)).await;
    bed.accept(OperationType::Provision, "b", t(0)).await;
    bed.accept(OperationType::UpgradeKyma, "c", t(0)).await;
    bed.accept(OperationType::Update, "d", t(9)).await;
    let due = bed.store.due(t(1)).await.expect("counts");
    assert_eq!(due, [(Class::Provision, 2), (Class::Deprovision, 0), (Class::Update, 0), (Class::Upgrade, 1)]);
}

pub(crate) async fn a_pending_operation_is_handed_out_when_its_budget_ends(bed: Bed) {
    let me = bed.replica("me").await;
    bed.accept(OperationType::Provision, "shop", t(0)).await;
    bed.claim_one(&me, t(0)).await;
    let behind = bed.accept(OperationType::Update, "shop", t(1)).await;
    assert!(bed.claim_all(&me, t(2)).await.claims.is_empty(), "it is blocked");
    let deadline = bed.get(behind).await.deadline().expect("its budget runs");
    assert_eq!(bed.get(behind).await.schedule.due_at, Some(deadline));
    let claim = bed.claim_one(&me, deadline).await;
    assert_eq!((claim.operation.id, claim.operation.state, claim.started), (behind, OperationState::Pending, false));
}
