//! What people and competing operations ask of an operation.

use slipway_model::{
    Action, OperationState, RecordKind, StepRecord, StepStatus,
    ports::{Commit, CommitOutcome, Next, StoreError},
    time::secs,
};

use crate::bed::{Bed, Run, key, park, t};

fn refusal<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Refused(sentence)) => sentence,
        other => panic!("not refused: {other:?}"),
    }
}

fn skip(step: &str) -> Action {
    Action::SkipStep { step: step.to_owned() }
}

pub(crate) async fn an_update_needs_the_version_and_an_unfinished_operation(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let mut fields = run.fields.clone();
    fields.description = "from outside".to_owned();
    assert_eq!(bed.store.update(run.id, 1, fields.clone(), t(1)).await.expect("answers"), None);
    assert_eq!(bed.get(run.id).await.version, 2);
    assert_eq!(bed.store.update(run.id, 2, fields.clone(), t(1)).await.expect("answers"), Some(3));
    let op = bed.get(run.id).await;
    assert_eq!((op.fields, op.updated_at), (fields.clone(), t(1)));
    run.version = 3;
    bed.must(run.end(t(2))).await;
    let sentence = refusal(bed.store.update(run.id, 3, fields, t(3)).await);
    assert_eq!(sentence, format!("operation {} has already ended: succeeded", run.id));
}

pub(crate) async fn retry_now_makes_a_waiting_operation_due(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(0), park(t(100), Some("runtime/1"), false))).await;
    let op = bed.act(run.id, Action::RetryNow, t(1)).await.expect("taken");
    assert_eq!((op.control.seq, op.schedule.due_at), (1, Some(t(1))));
    assert_eq!(bed.claim_one(&me, t(1)).await.woken_by.as_deref(), Some("retry_now by ada"));
}

pub(crate) async fn a_pause_holds_and_a_resume_gives_the_time_back(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let mut waiting = StepRecord::new(1, "create", "Wait", StepStatus::Retrying);
    (waiting.first_run_at, waiting.first_failure_at) = (Some(t(1)), Some(t(2)));
    let mut done = StepRecord::new(0, "create", "Done", StepStatus::Done);
    done.first_run_at = Some(t(0));
    let commit = run.with_steps(t(2), park(t(100), None, false), vec![done.clone(), waiting.clone()]);
    bed.must(commit).await;

    bed.act(run.id, Action::Pause, t(10)).await.expect("paused");
    assert_eq!(refusal(bed.act(run.id, Action::Pause, t(11)).await), format!("operation {} is paused already", run.id));
    let mut run = Run::of(&bed.claim_one(&me, t(10)).await);
    bed.must(run.next(t(10), Next::Hold)).await;
    let held = bed.get(run.id).await;
    assert_eq!((held.schedule.due_at, held.schedule.owner), (None, None));
    assert!(bed.claim_all(&me, t(1000)).await.claims.is_empty(), "no timer");

    let resumed = bed.act(run.id, Action::Resume, t(70)).await.expect("resumed");
    assert_eq!(resumed.budget_from, Some(t(0) + secs(60)));
    let claim = bed.claim_one(&me, t(70)).await;
    assert_eq!(claim.operation.budget_from, Some(t(60)));
    (waiting.first_run_at, waiting.first_failure_at) = (Some(t(61)), Some(t(62)));
    assert_eq!(claim.steps, [done, waiting], "the budget of a settled step does not matter");
    assert_eq!(refusal(bed.act(run.id, Action::Resume, t(71)).await), format!("operation {} is not paused", run.id));
}

pub(crate) async fn a_paused_operation_sleeps_through_events_and_looks_when_resumed(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(0), park(t(100), Some("runtime/1"), false))).await;
    bed.act(run.id, Action::Pause, t(1)).await.expect("paused");
    assert_eq!(bed.store.wake(&[key("runtime/1")], "ready", t(2)).await.expect("wakes"), 0);
    let claim = bed.claim_one(&me, t(2)).await;
    assert_eq!(claim.woken_by.as_deref(), Some("pause by ada"), "due for the sake of the pause");
    bed.must(Run::of(&claim).next(t(2), Next::Hold)).await;
    assert_eq!(bed.store.wake(&[key("runtime/1")], "ready", t(3)).await.expect("wakes"), 0);
    assert!(bed.claim_all(&me, t(200)).await.claims.is_empty());
    bed.act(run.id, Action::Resume, t(4)).await.expect("resumed");
    let mut run = Run::of(&bed.claim_one(&me, t(4)).await);
    bed.must(run.next(t(5), park(t(100), Some("runtime/1"), false))).await;
    assert_eq!(bed.claim_one(&me, t(5)).await.operation.id, run.id, "the event of the pause was not seen yet");
}

pub(crate) async fn a_skip_is_taken_only_for_a_step_that_is_not_settled(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let steps = vec![
        StepRecord::new(0, "create", "Settled", StepStatus::Done),
        StepRecord::new(1, "create", "Stuck", StepStatus::Retrying),
    ];
    bed.must(run.with_steps(t(0), park(t(100), None, false), steps)).await;
    for step in ["Settled", "Unheard_Of"] {
        let sentence = refusal(bed.act(run.id, skip(step), t(1)).await);
        assert!(sentence.contains("cannot be skipped"), "{sentence}");
    }
    assert_eq!(bed.get(run.id).await.control.seq, 0, "a refusal leaves no trace");
    bed.act(run.id, skip("Stuck"), t(1)).await.expect("taken");
    let claim = bed.claim_one(&me, t(1)).await;
    assert_eq!(claim.operation.control.skip.expect("is there").step, "Stuck");
}

pub(crate) async fn a_skip_is_cleared_unless_a_newer_wish_came(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    let stuck = vec![StepRecord::new(1, "create", "Stuck", StepStatus::Retrying)];
    bed.must(run.with_steps(t(0), park(t(100), None, true), stuck)).await;
    bed.act(run.id, skip("Stuck"), t(1)).await.expect("taken");
    let mut run = Run::of(&bed.claim_one(&me, t(1)).await);
    bed.act(run.id, Action::RetryNow, t(2)).await.expect("taken");
    let clearing = Commit { clear_skip: true, ..run.next(t(2), Next::Run) };
    match bed.commit(clearing).await {
        CommitOutcome::Committed { control, .. } => assert!(control.skip.is_some() && control.seq == 2),
        other => panic!("{other:?}"),
    }
    run.seen = 2;
    let clearing = Commit { clear_skip: true, ..run.next(t(3), Next::Run) };
    match bed.commit(clearing).await {
        CommitOutcome::Committed { control, .. } => assert!(control.skip.is_none()),
        other => panic!("{other:?}"),
    }
    assert_eq!(bed.get(run.id).await.control.skip, None);
}

pub(crate) async fn nothing_can_be_asked_of_a_finished_operation(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(1), Next::End { state: OperationState::Failed })).await;
    for action in [Action::RetryNow, Action::Cancel, Action::Pause, Action::Resume, skip("x")] {
        let sentence = refusal(bed.act(run.id, action, t(2)).await);
        assert_eq!(sentence, format!("operation {} has already ended: failed", run.id));
    }
    assert!(bed.claim_all(&me, t(9)).await.claims.is_empty());
}

pub(crate) async fn every_action_is_on_record(bed: Bed) {
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    bed.must(run.next(t(0), park(t(100), None, false))).await;
    let before = bed.kinds(run.id).await.len();
    for action in [Action::RetryNow, Action::Pause, Action::Resume, Action::Cancel] {
        bed.act(run.id, action, t(1)).await.expect("taken");
    }
    let actions: Vec<String> = bed
        .kinds(run.id)
        .await
        .split_off(before)
        .into_iter()
        .map(|kind| match kind {
            RecordKind::Action { action, by, why, step: None } => format!("{action} {by} {why}"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(actions, ["retry_now ada because", "pause ada because", "resume ada because", "cancel ada because"]);
}

/// A refusal must leave no lock behind: claims pass over locked rows.
pub(crate) async fn a_refused_wish_keeps_nobody_from_claiming(bed: Bed) {
    let me = bed.replica("a").await;
    for n in 0..20 {
        let mut run = bed.running(&me, t(n)).await;
        bed.must(run.next(t(n), park(t(n), None, false))).await;
        refusal(bed.act(run.id, Action::Resume, t(n)).await);
        let mut run = Run::of(&bed.claim_one(&me, t(n)).await);
        bed.must(run.end(t(n))).await;
    }
}
