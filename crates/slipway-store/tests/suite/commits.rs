//! The writes of a lease holder.

use slipway_model::{
    Action, Ending, JsonText, LastError, OperationState, OperationType, Reason, RecordKind, StepRecord, StepStatus,
    ports::{Commit, CommitOutcome, Lease, Next, StoreError},
    reason::Component,
};

use crate::bed::{Bed, Run, key, park, replica, t};

fn finished(stage: &str) -> RecordKind {
    RecordKind::StageFinished { stage: stage.to_owned() }
}

pub(crate) async fn a_commit_writes_fields_ledger_and_recorder(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let mut fields = run.fields.clone();
    fields.description = "creating the cluster; 45 % – so far".to_owned();
    fields.finished_stages = vec!["start".to_owned(), "create".to_owned()];
    fields.skipped_steps = vec!["EDP_Registration".to_owned()];
    fields.last_error = Some(LastError {
        message: "no".to_owned(),
        reason: Reason::KebTimeout,
        component: Component::Edp,
        step: "EDP_Registration".to_owned(),
    });
    fields.ending = Some(Ending { state: OperationState::Failed, description: "it failed".to_owned() });
    fields.data = JsonText::parse(r#"{ "quote": "\"'; DROP TABLE operations; --" }"#.to_owned()).expect("an object");
    let mut step = StepRecord::new(3, "create", "Create_Runtime", StepStatus::Retrying);
    step.attempts = 4;
    step.first_run_at = Some(t(1));
    step.first_failure_at = Some(t(2));
    step.last_run_at = Some(t(3));
    step.next_run_at = Some(t(4));
    step.reason = Some("not yet".to_owned());
    let commit = Commit {
        fields: Some(fields.clone()),
        records: vec![(t(3), finished("start"))],
        ..run.with_steps(t(3), Next::Run, vec![step.clone()])
    };
    assert_eq!(bed.must(commit).await, 3);
    let op = bed.get(run.id).await;
    assert_eq!((op.fields, op.version, op.updated_at), (fields, 3, t(3)));
    assert_eq!(bed.store.steps(run.id).await.expect("reads"), [step]);
    assert_eq!(bed.kinds(run.id).await.last(), Some(&finished("start")));
    assert_eq!(bed.store.held(&me).await.expect("tells"), [(run.id, 1)], "it goes on running");
}

pub(crate) async fn a_repeated_commit_is_answered_again_and_written_once(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let commit =
        Commit { records: vec![(t(1), finished("start"))], ..run.saying("once", t(1), park(t(9), None, false)) };
    assert_eq!(bed.must(commit.clone()).await, 3);
    assert_eq!(bed.must(commit.clone()).await, 3, "the answer was lost; the commit was not");
    assert_eq!(bed.get(run.id).await.version, 3);
    assert_eq!(bed.kinds(run.id).await.iter().filter(|kind| **kind == finished("start")).count(), 1);
    // Once somebody holds it anew, the old lease is told so.
    bed.claim_one(&me, t(9)).await;
    assert!(matches!(bed.commit(commit).await, CommitOutcome::Fenced));
}

pub(crate) async fn a_repeated_end_is_answered_again(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let end = run.end(t(1));
    bed.must(end.clone()).await;
    bed.must(end).await;
    assert!(matches!(bed.commit(run.end(t(2))).await, CommitOutcome::Fenced), "a new commit comes too late");
    assert_eq!(bed.get(run.id).await.finished_at, Some(t(1)));
}

pub(crate) async fn a_changed_version_is_a_conflict_and_writes_nothing(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let mut outside = run.fields.clone();
    outside.description = "changed from outside".to_owned();
    assert_eq!(bed.store.update(run.id, 2, outside.clone(), t(1)).await.expect("answers"), Some(3));
    let step = StepRecord::new(1, "start", "Starting", StepStatus::Done);
    let commit = Commit {
        steps: vec![step],
        records: vec![(t(2), finished("start"))],
        ..run.saying("from a stale view", t(2), Next::Run)
    };
    match bed.commit(commit.clone()).await {
        CommitOutcome::Conflict(op) => assert_eq!((op.version, &op.fields), (3, &outside)),
        other => panic!("{other:?}"),
    }
    let op = bed.get(run.id).await;
    assert_eq!((op.fields, op.version, op.schedule.commits), (outside, 3, 0));
    assert!(bed.store.steps(run.id).await.expect("reads").is_empty());
    assert!(!bed.kinds(run.id).await.contains(&finished("start")));
    assert_eq!(bed.must(Commit { expected_version: 3, ..commit }).await, 4, "the same number, made anew");
}

pub(crate) async fn a_foreign_or_stale_lease_is_fenced(bed: Bed) {
    let me = bed.replica("a").await;
    let run = bed.running(&me, t(0)).await;
    let foreign = Lease { replica: replica("b"), fence: 1 };
    let stale = Lease { replica: me.clone(), fence: 0 };
    let future = Lease { replica: me.clone(), fence: 2 };
    for lease in [foreign, stale, future] {
        let mut other = Run { lease, ..run.clone() };
        assert!(matches!(bed.commit(other.saying("mine", t(1), Next::Run)).await, CommitOutcome::Fenced));
    }
    assert_eq!(bed.get(run.id).await.version, 2);
    // After a surrender the same replica may hold it again, but not with the old lease.
    let mut old = run.clone();
    assert_eq!(bed.store.surrender(&me, &[(run.id, 1)], t(1)).await.expect("gives back"), 1);
    assert!(matches!(bed.commit(old.saying("mine", t(1), Next::Run)).await, CommitOutcome::Fenced));
    assert!(bed.claim_one(&me, t(1)).await.lease.fence > 1);
    assert!(matches!(bed.commit(old.saying("mine", t(1), Next::Run)).await, CommitOutcome::Fenced));
}

pub(crate) async fn each_commit_of_a_group_is_answered_by_itself(bed: Bed) {
    let me = bed.replica("a").await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(bed.running(&me, t(0)).await);
    }
    bed.store.update(runs[1].id, 2, runs[1].fields.clone(), t(1)).await.expect("changed");
    runs[3].lease.fence = 7;
    let group = [
        runs[0].saying("zero", t(1), Next::Run),
        runs[1].saying("one", t(1), Next::Run),
        runs[2].end(t(1)),
        runs[3].saying("three", t(1), Next::Run),
        runs[4].saying("four", t(1), park(t(9), Some("runtime/4"), true)),
    ];
    let outcomes = bed.store.commit(&group).await.expect("answers");
    use CommitOutcome::{Committed, Conflict, Fenced};
    assert!(
        matches!(outcomes.as_slice(), [Committed { .. }, Conflict(_), Committed { .. }, Fenced, Committed { .. }]),
        "{outcomes:?}"
    );
    assert_eq!(bed.get(runs[0].id).await.fields.description, "zero");
    assert_eq!(bed.get(runs[2].id).await.state, OperationState::Succeeded);
    assert_eq!(bed.get(runs[4].id).await.schedule.wait_on, Some(key("runtime/4")));
}

pub(crate) async fn two_commits_of_one_operation_in_a_group_are_refused(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let group = [run.saying("one", t(1), Next::Run), run.saying("two", t(1), Next::Run)];
    assert!(matches!(bed.store.commit(&group).await, Err(StoreError::Refused(_))));
    assert_eq!(bed.get(run.id).await.version, 2);
    assert!(bed.store.commit(&[]).await.expect("nothing to do").is_empty());
}

pub(crate) async fn an_end_that_the_states_do_not_allow_is_refused(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let end = run.next(t(1), Next::End { state: OperationState::Pending });
    let error = bed.store.commit(&[end]).await.expect_err("no such change");
    assert_eq!(error.to_string(), format!("operation {} cannot go from in progress to pending", run.id));
    assert_eq!(bed.get(run.id).await.state, OperationState::InProgress);
}

pub(crate) async fn a_commit_of_an_unknown_operation_says_so(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    run.id = bed.new_id();
    let error = bed.store.commit(&[run.saying("x", t(1), Next::Run)]).await.expect_err("unknown");
    assert!(matches!(error, StoreError::NotFound { what: "operation", .. }));
}

pub(crate) async fn a_wait_ends_by_its_timer_or_its_event(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(0), park(t(100), Some("runtime/7"), false))).await;
    assert!(bed.claim_all(&me, t(99)).await.claims.is_empty());
    let claim = bed.claim_one(&me, t(100)).await;
    assert_eq!(claim.woken_by, None, "the timer");

    let mut run = Run::of(&claim);
    bed.must(run.next(t(100), park(t(200), Some("runtime/7"), false))).await;
    assert_eq!(bed.store.wake(&[key("runtime/8")], "another one", t(101)).await.expect("wakes"), 0);
    assert!(bed.claim_all(&me, t(101)).await.claims.is_empty());
    let keys = [key("runtime/7"), key("runtime/9")];
    assert_eq!(bed.store.wake(&keys, "it is ready", t(102)).await.expect("wakes"), 1);
    assert_eq!(bed.claim_one(&me, t(102)).await.woken_by.as_deref(), Some("it is ready"));
}

pub(crate) async fn an_event_before_the_wait_is_not_slept_over(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.store.wake(&[key("runtime/7")], "early", t(1)).await.expect("wakes");
    bed.must(run.next(t(2), park(t(100), Some("runtime/7"), true))).await;
    let claim = bed.claim_one(&me, t(2)).await;
    assert_eq!(claim.woken_by.as_deref(), Some("an event during the last look"));
}

pub(crate) async fn an_event_once_seen_does_not_wake_again(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(0), park(t(100), Some("runtime/7"), true))).await;
    bed.store.wake(&[key("runtime/7")], "ready", t(1)).await.expect("wakes");
    let mut run = Run::of(&bed.claim_one(&me, t(1)).await);
    bed.must(run.next(t(2), park(t(100), Some("runtime/7"), true))).await;
    assert!(bed.claim_all(&me, t(50)).await.claims.is_empty(), "it has run for that one");
    bed.store.wake(&[key("runtime/7")], "ready again", t(51)).await.expect("wakes");
    let mut run = Run::of(&bed.claim_one(&me, t(51)).await);
    bed.must(run.next(t(52), park(t(100), Some("runtime/8"), true))).await;
    assert!(bed.claim_all(&me, t(60)).await.claims.is_empty(), "nothing happened to the other thing");
}

pub(crate) async fn a_wish_before_the_wait_is_not_slept_over(bed: Bed) {
    let me = bed.replica("a").await;
    for next in [park(t(100), None, true), park(t(100), None, false), Next::Hold] {
        let mut run = bed.running(&me, t(0)).await;
        bed.act(run.id, Action::Cancel, t(1)).await.expect("canceled");
        bed.must(run.next(t(2), next)).await;
        let mut run = Run::of(&bed.claim_one(&me, t(2)).await);
        assert_eq!(run.seen, 1);
        bed.must(run.end(t(2))).await;
    }
}

pub(crate) async fn the_end_of_an_operation_wakes_who_waits_on_it(bed: Bed) {
    let me = bed.replica("a").await;
    let mut worker = bed.running(&me, t(0)).await;
    let mut waiter = bed.running(&me, t(0)).await;
    let on = format!("operation/{}", worker.id);
    bed.must(waiter.next(t(0), park(t(100), Some(&on), false))).await;
    bed.must(worker.end(t(1))).await;
    let claim = bed.claim_one(&me, t(1)).await;
    assert_eq!((claim.operation.id, claim.woken_by), (waiter.id, Some(format!("end of operation {}", worker.id))));

    // And who comes late does not wait at all.
    let mut late = bed.running(&me, t(2)).await;
    bed.must(late.next(t(2), park(t(100), Some(&on), false))).await;
    assert_eq!(bed.claim_one(&me, t(2)).await.operation.id, late.id);
}

pub(crate) async fn a_ledger_row_keeps_its_place_when_it_is_replaced(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let step = |seq, name: &str, status| StepRecord::new(seq, "create", name, status);
    let first = vec![step(2, "B", StepStatus::Running), step(1, "A", StepStatus::Done)];
    bed.must(run.with_steps(t(0), Next::Run, first)).await;
    let mut again = step(9, "B", StepStatus::Done);
    again.attempts = 2;
    bed.must(run.with_steps(t(1), Next::Run, vec![step(9, "B", StepStatus::Retrying), again.clone()])).await;
    let steps = bed.store.steps(run.id).await.expect("reads");
    assert_eq!(steps, [step(1, "A", StepStatus::Done), StepRecord { seq: 2, ..again }]);
    let claim = {
        bed.must(run.next(t(2), park(t(2), None, true))).await;
        bed.claim_one(&me, t(2)).await
    };
    assert_eq!(claim.steps, steps);
}

pub(crate) async fn records_keep_their_order(bed: Bed) {
    let me = bed.replica("a").await;
    let (mut one, mut two) = (bed.running(&me, t(0)).await, bed.running(&me, t(0)).await);
    let records = |from: usize| (from..from + 20).map(|n| (t(50 - 1), finished(&format!("{n:03}")))).collect();
    for round in 0..3 {
        let group = [
            Commit { records: records(round * 20), ..one.next(t(1), Next::Run) },
            Commit { records: records(round * 20), ..two.next(t(1), Next::Run) },
        ];
        bed.store.commit(&group).await.expect("committed");
    }
    for run in [&one, &two] {
        let read = bed.store.records(run.id, 0, 1000).await.expect("reads");
        assert!(read.windows(2).all(|pair| pair[0].id < pair[1].id));
        let expected: Vec<RecordKind> = (0..60).map(|n| finished(&format!("{n:03}"))).collect();
        let stages: Vec<RecordKind> = read.into_iter().map(|record| record.kind).skip(1).collect();
        assert_eq!(stages, expected);
    }
    assert_eq!(bed.get(one.id).await.kind, OperationType::Provision);
}
