//! Reading what is stored, and forgetting what is old.

use slipway_model::{
    OperationId, OperationState, OperationType, RecordKind,
    ports::{Commit, Filter, Next, StoreError},
};

use crate::bed::{Bed, Run, instance, key, park, t};

async fn listed(bed: &Bed, filter: Filter) -> Vec<OperationId> {
    bed.store.operations(&filter).await.expect("lists").iter().map(|op| op.id).collect()
}

pub(crate) async fn operations_are_listed_newest_first_by_pages_and_filters(bed: Bed) {
    let me = bed.replica("a").await;
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(bed.accept(OperationType::Provision, &format!("i{}", n % 2), t(n)).await);
    }
    ids.reverse();
    let all = Filter { limit: 100, ..Filter::default() };
    assert_eq!(listed(&bed, all.clone()).await, ids);
    assert_eq!(listed(&bed, Filter { limit: 2, ..all.clone() }).await, ids[..2]);
    assert_eq!(listed(&bed, Filter { limit: 2, before: Some(ids[1]), ..all.clone() }).await, ids[2..4]);
    let of_one = Filter { instance: Some(instance("i1")), ..all.clone() };
    assert_eq!(listed(&bed, of_one.clone()).await, [ids[0], ids[2], ids[4]]);

    let mut run = Run::of(&bed.claim(&me, t(9), 1).await.expect("claims").claims[0]);
    assert_eq!(run.id, ids[5]);
    bed.must(run.end(t(9))).await;
    bed.claim(&me, t(9), 1).await.expect("claims");
    use OperationState::{Failed, InProgress, Pending, Succeeded};
    let states = |states: &[OperationState]| Filter { states: states.to_vec(), ..all.clone() };
    assert_eq!(listed(&bed, states(&[Succeeded])).await, [ids[5]]);
    assert_eq!(listed(&bed, states(&[Succeeded, InProgress])).await, ids[4..]);
    assert_eq!(listed(&bed, states(&[Failed])).await, []);
    assert_eq!(listed(&bed, Filter { limit: 2, ..states(&[Pending, Succeeded]) }).await, ids[..2]);
    let pending_of_one = Filter { states: vec![Pending], before: Some(ids[0]), ..of_one };
    assert_eq!(listed(&bed, pending_of_one).await, [ids[2]]);
}

pub(crate) async fn records_are_read_page_by_page(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let kinds: Vec<RecordKind> = (0..5).map(|n| RecordKind::StageFinished { stage: n.to_string() }).collect();
    let records = kinds.iter().map(|kind| (t(1), kind.clone())).collect();
    bed.must(Commit { records, ..run.next(t(1), Next::Run) }).await;
    let (mut after, mut read) = (0, Vec::new());
    loop {
        let page = bed.store.records(run.id, after, 2).await.expect("reads");
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = last.id;
        read.extend(page.into_iter().map(|record| record.kind));
    }
    assert_eq!(read[1..], kinds);
    assert!(bed.store.records(bed.new_id(), 0, 10).await.expect("reads").is_empty());
}

pub(crate) async fn old_records_of_finished_operations_are_purged_in_batches(bed: Bed) {
    let me = bed.replica("a").await;
    let (mut ended, mut going) = (bed.running(&me, t(0)).await, bed.running(&me, t(0)).await);
    let record = |n: i64| (t(n), RecordKind::StageFinished { stage: n.to_string() });
    bed.must(Commit { records: (1..=10).map(record).collect(), ..ended.end(t(10)) }).await;
    bed.must(Commit { records: (1..=10).map(record).collect(), ..going.next(t(10), Next::Run) }).await;
    // Accepted at 0 and stages 1 to 4; the wake-up by the end is as young as the end.
    assert_eq!(bed.store.purge(t(5), 3).await.expect("purges"), 3);
    assert_eq!(bed.store.purge(t(5), 3).await.expect("purges"), 2);
    assert_eq!(bed.store.purge(t(5), 3).await.expect("purges"), 0);
    let kinds: Vec<RecordKind> = (5..=10).map(|n| record(n).1).collect();
    assert_eq!(bed.kinds(ended.id).await, kinds);
    assert_eq!(bed.kinds(going.id).await.len(), 11, "an unfinished operation keeps its story");
}

pub(crate) async fn old_wake_ups_are_purged_and_new_ones_still_wake(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.store.wake(&[key("runtime/1"), key("runtime/2")], "early", t(1)).await.expect("wakes");
    bed.must(run.next(t(2), park(t(900), Some("runtime/1"), false))).await;
    let mut run = Run::of(&bed.claim_one(&me, t(2)).await);
    bed.must(run.next(t(2), park(t(900), Some("runtime/1"), false))).await;
    assert_eq!(bed.store.purge(t(100), 1).await.expect("purges"), 1);
    assert_eq!(bed.store.purge(t(100), 10).await.expect("purges"), 1);
    assert_eq!(bed.store.wake(&[key("runtime/1")], "new", t(101)).await.expect("wakes"), 1);
    let mut run = Run::of(&bed.claim_one(&me, t(101)).await);
    // Numbers never repeat: with a count that began anew the next event would look seen.
    bed.store.wake(&[key("runtime/1")], "during the look", t(102)).await.expect("wakes");
    bed.must(run.next(t(103), park(t(900), Some("runtime/1"), false))).await;
    bed.claim_one(&me, t(103)).await;
}

pub(crate) async fn an_unknown_operation_is_not_found(bed: Bed) {
    let id = bed.new_id();
    let is_missing = |error: StoreError| error.to_string() == format!("there is no operation {id}");
    assert!(bed.store.operation(id).await.is_err_and(is_missing));
    assert!(bed.store.steps(id).await.is_err_and(is_missing));
    assert!(bed.act(id, slipway_model::Action::Cancel, t(0)).await.is_err_and(is_missing));
    let fields = bed.asked(OperationType::Update, "x").accepted(t(0)).fields;
    assert!(bed.store.update(id, 1, fields, t(0)).await.is_err_and(is_missing));
}

pub(crate) async fn hints_come_with_news(bed: Bed) {
    let me = bed.replica("a").await;
    let mut listener = bed.store.listen();
    bed.accept(OperationType::Provision, "a", t(0)).await;
    listener.hint().await;
    let mut run = Run::of(&bed.claim_one(&me, t(0)).await);
    bed.must(run.next(t(0), park(t(100), Some("runtime/1"), false))).await;
    bed.store.wake(&[key("runtime/1")], "ready", t(1)).await.expect("wakes");
    listener.hint().await;
    let mut run = Run::of(&bed.claim_one(&me, t(1)).await);
    bed.act(run.id, slipway_model::Action::Cancel, t(1)).await.expect("canceled");
    listener.hint().await;
    bed.must(run.next(t(1), park(t(100), None, true))).await;
    listener.hint().await; // it is due at once, for the sake of the cancel it has not seen
    let mut run = Run::of(&bed.claim_one(&me, t(1)).await);
    bed.accept(OperationType::Update, "a", t(1)).await;
    listener.hint().await;
    bed.must(run.end(t(2))).await;
    listener.hint().await; // the update is next
    bed.store.release(&me, t(3)).await.expect("releases");
    listener.hint().await;
}
