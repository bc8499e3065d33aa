//! What a client may rely on, whatever goes wrong: a judge of status histories.
//!
//! T3 and T7 allow things (`Processing` with 100, many events) and cannot be broken; T8 is seen by T2:
//! `Succeeded` counts for the generation it worked on.

use serde_json::Value;

use crate::garden::value::{at, has, list, number, text};

/// A broken promise: which, and where in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// `T1`, ...
    pub rule: &'static str,
    /// Index of the state that broke it.
    pub at: usize,
    /// What was seen.
    pub what: String,
}

/// Judges the states of one Shoot, in the order they were stored.
pub fn judge(history: &[Value]) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut created = false;
    for (index, now) in history.iter().enumerate() {
        let before = if index == 0 { &Value::Null } else { &history[index - 1] };
        let mut tell = |rule: &'static str, what: String| broken.push(Broken { rule, at: index, what });
        progress_never_falls(before, now, &mut tell);
        success_is_whole(now, &mut tell);
        failure_keeps_progress(before, now, &mut tell);
        identity_stays(before, now, &mut tell);
        let last = at(now, "status.lastOperation");
        if !created && has(now, "status.lastOperation") && !matches!(text(last, "type"), "Create" | "Delete" | "") {
            tell("T6", format!("{} before the creation has succeeded", text(last, "type")));
        }
        created |= text(last, "state") == "Succeeded";
    }
    broken
}

fn last(shoot: &Value) -> (&str, &str, i64) {
    let last = at(shoot, "status.lastOperation");
    (text(last, "type"), text(last, "state"), number(last, "progress"))
}

/// T1: within one attempt progress does not fall. A new attempt begins with zero.
fn progress_never_falls(before: &Value, now: &Value, tell: &mut impl FnMut(&'static str, String)) {
    let ((kind, state, progress), (kind_now, state_now, progress_now)) = (last(before), last(now));
    let same_attempt = kind == kind_now && state == "Processing" && state_now == "Processing" && progress_now != 0;
    if same_attempt && progress_now < progress {
        tell("T1", format!("progress fell from {progress} to {progress_now}"));
    }
    let begins = state != "Processing" && state_now == "Processing" && has(now, "status.lastOperation");
    if begins && progress_now != 0 {
        tell("T1", format!("an attempt began at {progress_now}"));
    }
}

/// T2: success means 100, no errors, and a generation that was worked on.
fn success_is_whole(now: &Value, tell: &mut impl FnMut(&'static str, String)) {
    let (_, state, progress) = last(now);
    if state != "Succeeded" {
        return;
    }
    if progress != 100 {
        tell("T2", format!("succeeded at {progress}"));
    }
    if !list(now, "status.lastErrors").is_empty() {
        tell("T2", "succeeded with errors".to_owned());
    }
    let (observed, generation) = (number(now, "status.observedGeneration"), number(now, "metadata.generation"));
    if observed > generation || observed == 0 {
        tell("T2", format!("succeeded for generation {observed} of {generation}"));
    }
}

/// T4: failing keeps the progress reached and says why.
fn failure_keeps_progress(before: &Value, now: &Value, tell: &mut impl FnMut(&'static str, String)) {
    let ((_, state, progress), (_, state_now, progress_now)) = (last(before), last(now));
    if state != "Processing" || !matches!(state_now, "Error" | "Failed") {
        return;
    }
    if progress_now < progress {
        tell("T4", format!("failing lost progress: {progress} became {progress_now}"));
    }
    if list(now, "status.lastErrors").is_empty() {
        tell("T4", "failed without saying why".to_owned());
    }
}

/// T5: what identifies the cluster stays.
fn identity_stays(before: &Value, now: &Value, tell: &mut impl FnMut(&'static str, String)) {
    for field in ["uid", "technicalID", "clusterIdentity"] {
        let path = format!("status.{field}");
        let was = text(before, &path);
        if !was.is_empty() && was != text(now, &path) {
            tell("T5", format!("{field} changed from {was:?} to {:?}", text(now, &path)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state(kind: &str, state: &str, progress: i64, more: Value) -> Value {
        let mut status =
            json!({"lastOperation": {"type": kind, "state": state, "progress": progress}, "observedGeneration": 2});
        for (key, value) in more.as_object().expect("map") {
            status[key] = value.clone();
        }
        json!({"metadata": {"generation": 2}, "status": status})
    }

    #[test]
    fn a_good_history_passes() {
        let none = || json!({});
        let history = [
            json!({"metadata": {"generation": 1}}),
            state("Create", "Processing", 0, none()),
            state("Create", "Processing", 40, json!({"uid": "1"})),
            state("Create", "Error", 40, json!({"uid": "1", "lastErrors": [{}]})),
            state("Create", "Processing", 0, json!({"uid": "1", "lastErrors": [{}]})),
            state("Create", "Processing", 100, json!({"uid": "1"})),
            state("Create", "Succeeded", 100, json!({"uid": "1"})),
            state("Reconcile", "Processing", 0, json!({"uid": "1"})),
        ];
        assert_eq!(judge(&history), []);
    }

    #[test]
    fn every_broken_promise_is_found() {
        let none = || json!({});
        let broken = |history: &[Value]| judge(history).into_iter().map(|broken| broken.rule).collect::<Vec<_>>();
        let running = |progress| state("Create", "Processing", progress, none());
        assert_eq!(broken(&[running(0), running(40), running(30)]), ["T1"]);
        assert_eq!(broken(&[running(10)]), ["T1"], "an attempt begins at zero");
        assert_eq!(broken(&[state("Create", "Succeeded", 99, none())]), ["T2"]);
        assert_eq!(broken(&[state("Create", "Succeeded", 100, json!({"lastErrors": [{}]}))]), ["T2"]);
        assert_eq!(broken(&[state("Create", "Succeeded", 100, json!({"observedGeneration": 3}))]), ["T2"]);
        assert_eq!(
            broken(&[running(0), running(40), state("Create", "Error", 10, json!({"lastErrors": [{}]}))]),
            ["T4"]
        );
        assert_eq!(broken(&[running(0), state("Create", "Failed", 0, none())]), ["T4"]);
        assert_eq!(
            broken(&[
                state("Create", "Processing", 0, json!({"uid": "1"})),
                state("Create", "Processing", 0, json!({"uid": "2"}))
            ]),
            ["T5"]
        );
        assert_eq!(broken(&[state("Reconcile", "Processing", 0, none())]), ["T6"]);
    }
}
