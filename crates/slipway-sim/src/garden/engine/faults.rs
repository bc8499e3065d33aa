//! What goes wrong on demand in the life of Shoots.
//!
//! A fault is injected by the control API or a scenario (a list that all Shoots look into), or by
//! annotations on the Shoot itself, under [`PREFIX`]:
//!
//! | annotation | value | meaning |
//! |---|---|---|
//! | `fail` | `infrastructure=ERR_INFRA_QUOTA_EXCEEDED`, `worker-wait` | the step fails, with these codes |
//! | `fail-times` | `2` | so many attempts; for ever if absent |
//! | `stuck` | `etcd` | no progress and no heartbeat from this step on |
//! | `slow` | `3` | everything takes so many times as long |
//! | `unhealthy` | `EveryNodeReady` | this condition fails |
//! | `unschedulable` | `true` | no Seed fits |
//! | `kubeconfig` | `missingAuthority`, `wrongAuthority`, `expired`, `notYetValid` | what is wrong with kubeconfigs issued for it |
//! | `endpoint` | `refuses`, `slow` | how its API server answers |

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::timeline::Operation;
use crate::garden::value::{annotation, name, namespace, parses_as_true};

/// What annotations of faults begin with.
pub const PREFIX: &str = "sim.slipway/";

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "fault", deny_unknown_fields)]
pub enum Fault {
    /// F1: a step fails.
    Fail {
        /// Its id; empty means any.
        #[serde(default)]
        step: String,
        /// Error codes.
        #[serde(default)]
        codes: Vec<String>,
        /// In so many attempts; for ever if absent.
        times: Option<u32>,
    },
    /// F2: no progress and no heartbeat from a step on.
    Stuck {
        /// Its id.
        step: String,
    },
    /// F3: everything takes longer.
    Slow {
        /// So many times.
        factor: f64,
    },
    /// F4: a condition fails.
    Unhealthy {
        /// Which.
        condition: String,
    },
    /// F5: no Seed fits.
    Unschedulable,
    /// F12: kubeconfigs issued for it are of no use. A real Gardener API server issues good ones whatever is asked here.
    Kubeconfig {
        /// What is wrong.
        wrong: Kubeconfig,
    },
    /// F12: its API server answers badly.
    Endpoint {
        /// How.
        wrong: Endpoint,
    },
}

/// What is wrong with a kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kubeconfig {
    /// It names no CA.
    MissingAuthority,
    /// It names a CA that did not sign the API server.
    WrongAuthority,
    /// Its certificate has ended before it was issued.
    Expired,
    /// Its certificate begins in the future: whoever signed it has a wrong clock.
    NotYetValid,
}

/// How an API server answers badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Endpoint {
    /// Every connection breaks.
    Refuses,
    /// Every answer takes seconds.
    Slow,
}

/// A fault and whom it strikes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Aimed {
    /// `namespace/name`; empty means every Shoot.
    #[serde(default)]
    pub shoot: String,
    /// `create`, `reconcile`, `hibernate`, `wake`, `delete`; empty means any.
    #[serde(default)]
    pub operation: String,
    /// What goes wrong.
    #[serde(flatten)]
    pub fault: Fault,
}

/// The faults that are switched on. Clones are the same switchboard.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Vec<Aimed>>>);

impl Faults {
    fn list(&self) -> MutexGuard<'_, Vec<Aimed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches one on.
    pub fn inject(&self, fault: Aimed) {
        self.list().push(fault);
    }

    /// Switches all off that strike this Shoot; all there are, if none is named.
    pub fn clear(&self, shoot: &str) {
        self.list().retain(|fault| !shoot.is_empty() && fault.shoot != shoot);
    }

    /// Those that are on.
    pub fn all(&self) -> Vec<Aimed> {
        self.list().clone()
    }

    /// Those that strike a Shoot in an operation, its own annotations first.
    pub fn on(&self, shoot: &Value, operation: Option<Operation>) -> Vec<Fault> {
        let mut found = annotated(shoot);
        let key = format!("{}/{}", namespace(shoot), name(shoot));
        let word = operation.map_or("", word);
        let strikes = |fault: &&Aimed| {
            (fault.shoot.is_empty() || fault.shoot == key) && (fault.operation.is_empty() || fault.operation == word)
        };
        found.extend(self.list().iter().filter(strikes).map(|aimed| aimed.fault.clone()));
        found
    }
}

/// The word for an operation.
pub fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "create",
        Operation::Reconcile => "reconcile",
        Operation::Hibernate => "hibernate",
        Operation::Wake => "wake",
        Operation::Delete | Operation::ForceDelete => "delete",
    }
}

fn annotated(shoot: &Value) -> Vec<Fault> {
    let given = |key: &str| annotation(shoot, &format!("{PREFIX}{key}"));
    let mut found = Vec::new();
    let fail = given("fail");
    if !fail.is_empty() {
        let (step, codes) = fail.split_once('=').unwrap_or((fail, ""));
        let codes = codes.split(',').filter(|code| !code.is_empty()).map(str::to_owned).collect();
        found.push(Fault::Fail { step: step.to_owned(), codes, times: given("fail-times").parse().ok() });
    }
    if !given("stuck").is_empty() {
        found.push(Fault::Stuck { step: given("stuck").to_owned() });
    }
    if let Ok(factor) = given("slow").parse() {
        found.push(Fault::Slow { factor });
    }
    if !given("unhealthy").is_empty() {
        found.push(Fault::Unhealthy { condition: given("unhealthy").to_owned() });
    }
    if parses_as_true(given("unschedulable")) {
        found.push(Fault::Unschedulable);
    }
    if let Ok(wrong) = serde_json::from_value(given("kubeconfig").into()) {
        found.push(Fault::Kubeconfig { wrong });
    }
    if let Ok(wrong) = serde_json::from_value(given("endpoint").into()) {
        found.push(Fault::Endpoint { wrong });
    }
    found
}

/// The codes a step fails with in this attempt, if it fails.
pub fn failure(faults: &[Fault], step: &str, failures: u32) -> Option<Vec<String>> {
    faults.iter().find_map(|fault| match fault {
        Fault::Fail { step: at, codes, times }
            if (at.is_empty() || at == step) && times.is_none_or(|times| failures < times) =>
        {
            Some(codes.clone())
        }
        _ => None,
    })
}

/// Whether a step never ends.
pub fn is_stuck(faults: &[Fault], step: &str) -> bool {
    faults.iter().any(|fault| matches!(fault, Fault::Stuck { step: at } if at == step))
}

/// How many times as long everything takes.
pub fn slowness(faults: &[Fault]) -> f64 {
    let factor = |fault: &Fault| if let Fault::Slow { factor } = fault { *factor } else { 1.0 };
    faults.iter().map(factor).product::<f64>().clamp(0.01, 1000.0)
}

/// What is wrong with its kubeconfigs, if anything is.
pub fn kubeconfig(faults: &[Fault]) -> Option<Kubeconfig> {
    faults.iter().find_map(|fault| if let Fault::Kubeconfig { wrong } = fault { Some(*wrong) } else { None })
}

/// What is wrong with its API server, if anything is.
pub fn endpoint(faults: &[Fault]) -> Option<Endpoint> {
    faults.iter().find_map(|fault| if let Fault::Endpoint { wrong } = fault { Some(*wrong) } else { None })
}

/// The condition that fails, if one does.
pub fn unhealthy(faults: &[Fault]) -> Option<&str> {
    faults
        .iter()
        .find_map(|fault| if let Fault::Unhealthy { condition } = fault { Some(condition.as_str()) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_come_from_annotations_and_from_the_switchboard() {
        let mut shoot = json!({"metadata": {"name": "a", "namespace": "n", "annotations": {
            "sim.slipway/fail": "infrastructure=ERR_A,ERR_B", "sim.slipway/fail-times": "2", "sim.slipway/slow": "3"}}});
        let board = Faults::default();
        let on = board.on(&shoot, Some(Operation::Create));
        assert_eq!(failure(&on, "infrastructure", 1), Some(vec!["ERR_A".into(), "ERR_B".into()]));
        assert_eq!(failure(&on, "infrastructure", 2), None, "twice is enough");
        assert_eq!(failure(&on, "etcd", 0), None);
        assert!((slowness(&on) - 3.0).abs() < 1e-9);
        shoot["metadata"]["annotations"] = json!({});
        let aimed: Aimed =
            serde_json::from_value(json!({"shoot": "n/a", "operation": "delete", "fault": "stuck", "step": "cleanup"}))
                .expect("fault");
        board.inject(aimed);
        assert!(is_stuck(&board.on(&shoot, Some(Operation::Delete)), "cleanup"));
        assert!(board.on(&shoot, Some(Operation::Create)).is_empty());
        board.clear("n/other");
        assert_eq!(board.all().len(), 1);
        board.clear("");
        assert!(board.all().is_empty());
    }
}
