//! Which operation of an instance goes when.

use secrecy::ExposeSecret;
use slipway_model::{
    Action, OperationState, OperationType, RecordKind,
    ports::{Enqueued, Next},
};

use crate::bed::{Bed, Run, t};

pub(crate) async fn an_accepted_operation_reads_back_as_it_was_given(bed: Bed) {
    let new = bed.asked(OperationType::Deprovision, "shop");
    let new = slipway_model::NewOperation { temporary: true, ..new };
    bed.store.enqueue(new.clone(), t(5)).await.expect("accepted");
    let op = bed.get(new.id).await;
    assert_eq!(op.secrets.as_ref().map(ExposeSecret::expose_secret), Some(r#"{"password":"hunter2"}"#));
    assert_eq!(format!("{op:?}"), format!("{:?}", new.accepted(t(5))));
    assert_eq!(bed.kinds(op.id).await, [RecordKind::Accepted { by: "the shop".to_owned() }]);
}

pub(crate) async fn the_same_id_is_inserted_once(bed: Bed) {
    let new = bed.asked(OperationType::Provision, "shop");
    assert!(matches!(bed.store.enqueue(new.clone(), t(0)).await, Ok(Enqueued::New(_))));
    let again = bed.store.enqueue(new.clone(), t(9)).await.expect("answers");
    assert!(matches!(&again, Enqueued::Existing(op) if op.created_at == t(0)));
    assert_eq!(bed.all().await.len(), 1);
    assert_eq!(bed.kinds(new.id).await.len(), 1);
}

pub(crate) async fn removing_twice_is_one_removal_and_suspending_twice_one_suspension(bed: Bed) {
    let suspension = slipway_model::NewOperation { temporary: true, ..bed.asked(OperationType::Deprovision, "shop") };
    let first = suspension.id;
    bed.store.enqueue(suspension.clone(), t(0)).await.expect("accepted");
    let second = slipway_model::NewOperation { id: bed.new_id(), ..suspension };
    assert_eq!(bed.store.enqueue(second, t(1)).await.expect("answers").operation().id, first);
    let removal = bed.accept(OperationType::Deprovision, "shop", t(2)).await;
    let again = bed.asked(OperationType::Deprovision, "shop");
    assert_eq!(bed.store.enqueue(again, t(3)).await.expect("answers").operation().id, removal);
    assert!(bed.get(first).await.control.cancel.is_some(), "a removal for good cancels a suspension");
    assert_eq!(bed.all().await.len(), 2);
}

pub(crate) async fn a_removal_cancels_what_is_unfinished_and_goes_first(bed: Bed) {
    let me = bed.replica("a").await;
    let running = bed.accept(OperationType::Provision, "shop", t(0)).await;
    let mut run = Run::of(&bed.claim_one(&me, t(0)).await);
    let waiting = bed.accept(OperationType::Update, "shop", t(1)).await;
    assert!(bed.claim_all(&me, t(1)).await.claims.is_empty(), "one at a time");

    let removal = bed.accept(OperationType::Deprovision, "shop", t(2)).await;
    for victim in [running, waiting] {
        let cancel = bed.get(victim).await.control.cancel.expect("was canceled");
        assert_eq!((cancel.preempted_by, cancel.at), (Some(removal), t(2)));
        assert!(
            matches!(bed.kinds(victim).await.last(), Some(RecordKind::Action { action, .. }) if action == "cancel")
        );
    }
    // The pending victim is handed out to be ended; the removal waits for the running one.
    let claims = bed.claim_all(&me, t(2)).await.claims;
    assert_eq!(claims.iter().map(|claim| (claim.operation.id, claim.started)).collect::<Vec<_>>(), [(waiting, false)]);
    bed.must(run.end(t(3))).await;
    let claim = bed.claim_one(&me, t(3)).await;
    assert_eq!((claim.operation.id, claim.started), (removal, true), "before the older update");
}

pub(crate) async fn pending_operations_start_one_after_the_other_by_age(bed: Bed) {
    let me = bed.replica("a").await;
    let mut ids = Vec::new();
    for kind in [OperationType::Provision, OperationType::Update, OperationType::UpgradeKyma] {
        ids.push(bed.accept(kind, "shop", t(0)).await);
    }
    for id in ids {
        let claim = bed.claim_one(&me, t(10)).await;
        assert_eq!((claim.operation.id, claim.operation.state), (id, OperationState::InProgress));
        bed.must(Run::of(&claim).end(t(10))).await;
    }
}

pub(crate) async fn the_end_of_one_makes_the_next_due_and_tells_why(bed: Bed) {
    let me = bed.replica("a").await;
    let first = bed.accept(OperationType::Provision, "shop", t(0)).await;
    let second = bed.accept(OperationType::Update, "shop", t(0)).await;
    let mut run = Run::of(&bed.claim_one(&me, t(1)).await);
    let second_op = bed.get(second).await;
    assert_eq!(second_op.schedule.due_at, second_op.deadline(), "set aside until the first one ends");
    bed.must(run.end(t(7))).await;
    assert_eq!(bed.get(second).await.schedule.due_at, Some(t(7)));
    assert_eq!(bed.claim_one(&me, t(7)).await.woken_by, Some(format!("end of operation {first}")));
}

pub(crate) async fn a_pending_operation_that_is_being_canceled_is_not_handed_out_twice(bed: Bed) {
    let me = bed.replica("a").await;
    bed.accept(OperationType::Provision, "shop", t(0)).await;
    let mut first = Run::of(&bed.claim_one(&me, t(0)).await);
    let second = bed.accept(OperationType::Update, "shop", t(1)).await;
    let third = bed.accept(OperationType::UpgradeKyma, "shop", t(1)).await;
    bed.claim_all(&me, t(1)).await;
    bed.act(second, Action::Cancel, t(2)).await.expect("canceled");
    let mut canceled = Run::of(&bed.claim_one(&me, t(2)).await);
    bed.must(first.end(t(3))).await;
    assert!(bed.claim_all(&me, t(3)).await.claims.is_empty(), "its holder has it already");
    bed.must(canceled.next(t(4), Next::End { state: OperationState::Canceled })).await;
    assert_eq!(bed.claim_one(&me, t(4)).await.operation.id, third);
}

pub(crate) async fn a_paused_pending_operation_is_not_woken_by_an_end(bed: Bed) {
    let me = bed.replica("a").await;
    bed.accept(OperationType::Provision, "shop", t(0)).await;
    let mut first = Run::of(&bed.claim_one(&me, t(0)).await);
    let second = bed.accept(OperationType::Update, "shop", t(1)).await;
    bed.act(second, Action::Pause, t(1)).await.expect("paused");
    let claim = bed.claim_one(&me, t(1)).await;
    assert!(!claim.started);
    bed.must(Run::of(&claim).next(t(1), Next::Hold)).await;
    bed.must(first.end(t(2))).await;
    assert!(bed.claim_all(&me, t(3)).await.claims.is_empty());
    bed.act(second, Action::Resume, t(4)).await.expect("resumed");
    assert!(bed.claim_one(&me, t(4)).await.started);
}
