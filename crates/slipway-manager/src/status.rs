//! The status of a Runtime: what a pass found out, merged into what was said before, and whether that is worth a write.

use jiff::Timestamp as Jiff;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};
use slipway_kube::{
    RuntimeState,
    access::resource::RUNTIMES,
    conditions,
    runtime::{LastOperation, RuntimeStatus},
    shoot::Shoot,
};
use slipway_model::time::{Timestamp, secs};

use crate::outcome::ConditionUpdate;

/// Progress moves by less than this: not worth a write.
const PROGRESS_STEP: i32 = 10;

/// What a pass found out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    /// In the order they were set.
    conditions: Vec<ConditionUpdate>,
    /// The state; none leaves it.
    pub(crate) state: Option<RuntimeState>,
    /// It is, or was once, ready.
    pub(crate) is_completed: bool,
    /// The generation of the Shoot that is as it should be; none leaves what was said.
    pub(crate) aligned: Option<i64>,
}

impl Report {
    /// One more condition; the last word on a type counts.
    pub(crate) fn set(&mut self, new: ConditionUpdate) {
        debug_assert!(conditions::is_allowed(new.of, new.reason, new.status), "not in the catalogue: {new:?}");
        self.conditions.retain(|other| other.of != new.of);
        self.conditions.push(new);
    }
}

pub(crate) fn merge(
    before: &RuntimeStatus,
    report: &Report,
    shoot: Option<&Shoot>,
    generation: i64,
    now: Timestamp,
) -> RuntimeStatus {
    let mut status = before.clone();
    if let Some(state) = report.state {
        status.state = state;
    }
    status.observed_generation = Some(generation.max(before.observed_generation.unwrap_or(0)));
    if report.is_completed {
        status.provisioning_completed = Some(true);
    }
    status.aligned_shoot_generation = report.aligned.or(before.aligned_shoot_generation);
    if let Some(shoot) = shoot {
        let seen = shoot.status.as_ref();
        status.shoot_last_operation = seen.and_then(|status| status.last_operation.clone());
        status.shoot_last_errors = seen.map(|status| status.last_errors.clone()).unwrap_or_default();
        status.facts = shoot.facts();
    }
    for new in &report.conditions {
        let old = status.conditions.iter().position(|condition| condition.type_ == new.of.as_str());
        let kept = old.map(|place| &status.conditions[place]).filter(|old| old.status == new.status.as_str());
        let since = kept.map_or_else(|| to_kubernetes(now), |old| old.last_transition_time.clone());
        let condition = Condition {
            type_: new.of.as_str().to_owned(),
            status: new.status.as_str().to_owned(),
            reason: new.reason.as_str().to_owned(),
            message: new.message.clone(),
            last_transition_time: since,
            observed_generation: Some(generation),
        };
        match old {
            Some(place) => status.conditions[place] = condition,
            None => status.conditions.push(condition),
        }
    }
    status
}

/// Whether the difference is worth a write: everything is, but a little progress.
pub(crate) fn is_news(before: &RuntimeStatus, after: &RuntimeStatus) -> bool {
    // Where nobody has said yet which generation is as it should be, it is said with the next news: whoever starts for
    // the first time with thousands of Runtimes does not write them all for that.
    let is_said = before.aligned_shoot_generation.is_some();
    let without = |status: &RuntimeStatus| RuntimeStatus {
        shoot_last_operation: None,
        aligned_shoot_generation: status.aligned_shoot_generation.filter(|_| is_said),
        ..status.clone()
    };
    if without(before) != without(after) {
        return true;
    }
    operation_is_news(before.shoot_last_operation.as_ref(), after.shoot_last_operation.as_ref())
}

/// Whether an operation has moved enough to be told.
pub(crate) fn operation_is_news(before: Option<&LastOperation>, after: Option<&LastOperation>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return before.is_some() != after.is_some() };
    if (&before.operation_type, &before.state) != (&after.operation_type, &after.state) {
        return true;
    }
    if (after.progress - before.progress).abs() >= PROGRESS_STEP {
        return true;
    }
    let passed = match (&before.last_update_time, &after.last_update_time) {
        (Some(before), Some(after)) => after.0.duration_since(before.0).unsigned_abs() >= secs(30),
        _ => false,
    };
    // A description alone changes with every task; together with time it is worth telling.
    passed && (after.progress != before.progress || after.description != before.description)
}

/// The conditions that are new or say something else.
pub(crate) fn changed_conditions<'a>(before: &RuntimeStatus, after: &'a RuntimeStatus) -> Vec<&'a Condition> {
    let same = |one: &Condition, other: &Condition| {
        (&one.type_, &one.status, &one.reason, &one.message)
            == (&other.type_, &other.status, &other.reason, &other.message)
    };
    after.conditions.iter().filter(|new| !before.conditions.iter().any(|old| same(old, new))).collect()
}

/// What is sent: all of it, by server-side apply, without a version.
pub(crate) fn build_document(namespace: &str, name: &str, status: &RuntimeStatus) -> Value {
    json!({"apiVersion": RUNTIMES.api_version(), "kind": RUNTIMES.kind,
        "metadata": {"name": name, "namespace": namespace}, "status": status})
}

/// As Kubernetes keeps times: whole seconds.
pub(crate) fn to_kubernetes(now: Timestamp) -> Time {
    let seconds = now.as_micros().div_euclid(1_000_000);
    Time(Jiff::from_second(seconds).unwrap_or(Jiff::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use conditions::{Reason, Status, Type};

    fn now(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_789_000_000_000_000 + seconds * 1_000_000)
    }

    fn with(status: Status, reason: Reason) -> Report {
        let mut report = Report { state: Some(RuntimeState::Pending), ..Report::default() };
        report.set(ConditionUpdate::new(Type::Provisioned, status, reason, "text"));
        report
    }

    #[test]
    fn a_condition_keeps_its_time_until_its_status_changes() {
        let first = merge(&RuntimeStatus::default(), &with(Status::Unknown, Reason::Pending), None, 1, now(0));
        let second = merge(&first, &with(Status::Unknown, Reason::Processing), None, 2, now(60));
        assert_eq!(second.conditions[0].last_transition_time, first.conditions[0].last_transition_time);
        assert_eq!((second.conditions[0].observed_generation, second.observed_generation), (Some(2), Some(2)));
        assert_eq!(changed_conditions(&first, &second).len(), 1);
        let third = merge(&second, &with(Status::True, Reason::ConfigurationCompleted), None, 2, now(90));
        assert_ne!(third.conditions[0].last_transition_time, first.conditions[0].last_transition_time);
        assert!(is_news(&second, &third) && !is_news(&third, &third.clone()));
    }

    #[test]
    fn a_little_progress_is_not_worth_a_write() {
        let operation = |progress, seconds| RuntimeStatus {
            shoot_last_operation: Some(LastOperation {
                progress,
                state: "Processing".to_owned(),
                operation_type: "Create".to_owned(),
                description: format!("task at {progress}"),
                last_update_time: Some(to_kubernetes(now(seconds))),
            }),
            ..RuntimeStatus::default()
        };
        for (after, seconds, news) in [(45, 5, false), (49, 29, false), (50, 1, true), (41, 31, true), (40, 40, false)]
        {
            assert_eq!(is_news(&operation(40, 0), &operation(after, seconds)), news, "{after} after {seconds} s");
        }
    }

    #[test]
    fn completion_is_said_once_and_never_taken_back() {
        let ready = Report { state: Some(RuntimeState::Ready), is_completed: true, ..Report::default() };
        let first = merge(&RuntimeStatus::default(), &ready, None, 1, now(0));
        let later = merge(&first, &with(Status::Unknown, Reason::Processing), None, 2, now(5));
        assert_eq!(later.provisioning_completed, Some(true));
    }
}
