//! The care loop: conditions, constraints, and the label that sums a Shoot up.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    clock::seconds,
    garden::value::{at, is_true, list, text},
};

/// Conditions, with reason and sentence when all is well.
#[rustfmt::skip]
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("APIServerAvailable",             "HealthzRequestSucceeded",        "API server /healthz endpoint responded with success status code."),
    ("ControlPlaneHealthy",            "ControlPlaneRunning",            "All control plane components are healthy."),
    ("ObservabilityComponentsHealthy", "ObservabilityComponentsRunning", "All observability components are healthy."),
    ("EveryNodeReady",                 "EveryNodeReady",                 "All nodes are ready."),
    ("SystemComponentsHealthy",        "SystemComponentsRunning",        "All system components are healthy."),
];

#[rustfmt::skip]
const CONSTRAINTS: [(&str, &str, &str); 2] = [
    ("HibernationPossible",               "NoProblematicWebhooks", "All webhooks are properly configured."),
    ("MaintenancePreconditionsSatisfied", "NoProblematicWebhooks", "All webhooks are properly configured."),
];

/// How the cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Nobody has looked yet.
    Unknown,
    /// An operation has just ended; what was there is looked at again.
    Progressing,
    /// All is well.
    Well,
    /// It sleeps and is not looked at.
    Asleep,
    /// A check fails, for a short time (`Progressing`) or for longer (`False`).
    Failing {
        /// Which condition.
        condition: String,
        /// It has failed for longer than the threshold.
        long: bool,
    },
}

fn applies(shoot: &Value, condition: &str) -> bool {
    let nodes = matches!(condition, "EveryNodeReady" | "SystemComponentsHealthy");
    !nodes || !list(shoot, "spec.provider.workers").is_empty()
}

/// The patch of `status.conditions` and `status.constraints`, or nothing if all is as it was.
pub fn patch(shoot: &Value, health: &Health, now: Timestamp) -> Option<Value> {
    let conditions = write(shoot, "status.conditions", &CONDITIONS, health, now);
    // Constraints say what may be done, not how it is: they are true once anybody has looked.
    let constraints = match health {
        Health::Unknown => Value::Null,
        _ => write(shoot, "status.constraints", &CONSTRAINTS, &Health::Well, now),
    };
    let same = |path: &str, new: &Value| new.is_null() || meaning(at(shoot, path)) == meaning(new);
    if same("status.conditions", &conditions) && same("status.constraints", &constraints) {
        return None;
    }
    let mut patch = json!({ "conditions": conditions });
    if !constraints.is_null() {
        patch["constraints"] = constraints;
    }
    Some(patch)
}

/// Without the times: those alone are no reason to write.
fn meaning(list: &Value) -> Vec<(String, String, String)> {
    let own = |value: &Value, key: &str| text(value, key).to_owned();
    let list = list.as_array().into_iter().flatten();
    list.map(|one| (own(one, "type"), own(one, "status"), own(one, "reason"))).collect()
}

fn write(shoot: &Value, path: &str, rows: &[(&str, &str, &str)], health: &Health, now: Timestamp) -> Value {
    let now = seconds(now);
    let rows = rows.iter().filter(|(kind, ..)| applies(shoot, kind)).map(|(kind, reason, message)| {
        let before = list(shoot, path).iter().find(|one| text(one, "type") == *kind);
        let (status, reason, message) = match health {
            Health::Unknown => ("Unknown", "ConditionInitialized", "The condition has been initialized but its semantic check has not been performed yet."),
            Health::Progressing => ("Progressing", "LastOperationSucceeded", "The last operation has succeeded; the check is repeated."),
            Health::Asleep => ("True", "ConditionNotChecked", "Shoot cluster has been hibernated."),
            Health::Failing { condition, long } if condition == kind => {
                (if *long { "False" } else { "Progressing" }, "CheckFailed", "The check fails on demand.")
            }
            Health::Well | Health::Failing { .. } => ("True", *reason, *message),
        };
        let changed = before.is_none_or(|before| text(before, "status") != status);
        let since = before.filter(|_| !changed).map_or(now.as_str(), |before| text(before, "lastTransitionTime"));
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since, "lastUpdateTime": now})
    });
    rows.collect()
}

/// The label that sums it up.
pub fn status_label(shoot: &Value) -> &'static str {
    let last = at(shoot, "status.lastOperation");
    let conditions = || list(shoot, "status.conditions").iter().chain(list(shoot, "status.constraints"));
    let any = |status: &str| conditions().any(|one| text(one, "status") == status);
    match text(last, "state") {
        "Error" | "Failed" | "Aborted" => "unhealthy",
        "Processing" if !list(shoot, "status.lastErrors").is_empty() => "unhealthy",
        "Pending" => "progressing",
        "Processing" if text(last, "type") == "Create" || text(last, "type") == "Delete" => "progressing",
        _ if any("False") => "unhealthy",
        _ if any("Unknown") => "unknown",
        _ if any("Progressing") => "progressing",
        _ => "healthy",
    }
}

/// How the cluster is as far as its own state says.
pub fn health(shoot: &Value) -> Health {
    if is_true(shoot, "status.hibernated") { Health::Asleep } else { Health::Well }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::value::set;

    fn cared(shoot: &mut Value, health: &Health) -> bool {
        let Some(patch) = patch(shoot, health, Timestamp::UNIX_EPOCH) else { return false };
        for (key, value) in patch.as_object().expect("patch") {
            set(shoot, &format!("status.{key}"), value.clone());
        }
        true
    }

    #[test]
    fn care_writes_only_what_changes() {
        let mut shoot = json!({"spec": {"provider": {"workers": [{}]}}, "status": {"lastOperation": {"type": "Create", "state": "Succeeded"}}});
        assert!(cared(&mut shoot, &Health::Unknown));
        assert_eq!(status_label(&shoot), "unknown");
        assert!(cared(&mut shoot, &Health::Well) && !cared(&mut shoot, &Health::Well));
        assert_eq!(status_label(&shoot), "healthy");
        assert_eq!(list(&shoot, "status.constraints").len(), 2);
        let failing = Health::Failing { condition: "EveryNodeReady".into(), long: true };
        assert!(cared(&mut shoot, &failing));
        assert_eq!(status_label(&shoot), "unhealthy");
        assert!(cared(&mut shoot, &Health::Asleep));
        assert!(list(&shoot, "status.conditions").iter().all(|one| text(one, "reason") == "ConditionNotChecked"));
    }

    #[test]
    fn a_workerless_shoot_has_no_nodes_to_care_for() {
        let mut shoot = json!({"spec": {}});
        cared(&mut shoot, &Health::Well);
        assert_eq!(list(&shoot, "status.conditions").len(), 3);
    }
}
