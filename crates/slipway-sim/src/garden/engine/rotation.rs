//! Rotation of credentials: which phases an annotation begins, and how they end.
//!
//! The words are picked up when the operation begins, in the write that follows its first status: a
//! server refuses every write of a Shoot in which a word stands that its phases no longer allow. From
//! then on the status alone says what is under way, so another attempt or another process goes on with it.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    clock::seconds,
    garden::{
        shoot::{OPERATION, operations},
        value::{has, list, text},
        version,
    },
};

/// The rotations that have phases.
const CA: &str = "certificateAuthorities";
const ACCOUNT: &str = "serviceAccountKey";
const ETCD: &str = "etcdEncryptionKey";
/// The rotations that have none.
const ONCE: [&str; 2] = ["observability", "sshKeypair"];
/// Pools whose roll-out was asked for and is not done.
const PENDING: &str = "manualWorkerPoolRollout";

/// What an operation does about credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Rotations that start.
    pub starts: Vec<&'static str>,
    /// Rotations that complete.
    pub completes: Vec<&'static str>,
    /// Rotations without phases that are simply done.
    pub once: Vec<&'static str>,
    /// Nodes are left alone at first.
    pub without_rollout: bool,
    /// Pools whose nodes are replaced.
    pub rolls: Vec<String>,
}

/// What the annotation asks for.
pub fn read_rotation(shoot: &Value) -> Rotation {
    let mut rotation = Rotation::default();
    for word in operations(shoot, OPERATION) {
        rotation.without_rollout |= word.ends_with("-without-workers-rollout");
        let base = word.strip_suffix("-without-workers-rollout").unwrap_or(word);
        match base {
            "rotate-credentials-start" => {
                rotation.starts = vec![CA, ACCOUNT, ETCD];
                rotation.once = ONCE.to_vec();
            }
            "rotate-credentials-complete" => rotation.completes = vec![CA, ACCOUNT, ETCD],
            "rotate-ca-start" => rotation.starts.push(CA),
            "rotate-ca-complete" => rotation.completes.push(CA),
            "rotate-serviceaccount-key-start" => rotation.starts.push(ACCOUNT),
            "rotate-serviceaccount-key-complete" => rotation.completes.push(ACCOUNT),
            "rotate-etcd-encryption-key" | "rotate-etcd-encryption-key-start" => rotation.starts.push(ETCD),
            "rotate-etcd-encryption-key-complete" => rotation.completes.push(ETCD),
            "rotate-observability-credentials" => rotation.once.push("observability"),
            "rotate-ssh-keypair" => rotation.once.push("sshKeypair"),
            word => {
                let pools = word.strip_prefix("rotate-rollout-workers=").or(word.strip_prefix("rollout-workers="));
                rotation.rolls.extend(pools.into_iter().flat_map(|pools| pools.split(',')).map(str::to_owned));
            }
        }
    }
    rotation.roll_for_a_new_authority();
    rotation
}

/// What was begun and is not finished, as the status tells it.
pub fn under_way(shoot: &Value) -> Rotation {
    let mut rotation = Rotation::default();
    let told = |what: &str, field: &str| text(shoot, &format!("status.credentials.rotation.{what}.{field}"));
    for what in [CA, ACCOUNT, ETCD] {
        match told(what, "phase") {
            "Preparing" => rotation.starts.push(what),
            "PreparingWithoutWorkersRollout" => {
                rotation.starts.push(what);
                rotation.without_rollout = true;
            }
            "Completing" => rotation.completes.push(what),
            _ => {}
        }
    }
    // Both times have the same form, so their order is that of their text.
    rotation.once =
        ONCE.into_iter().filter(|what| told(what, "lastInitiationTime") > told(what, "lastCompletionTime")).collect();
    let pending = list(shoot, &format!("status.{PENDING}.pendingWorkersRollouts"));
    rotation.rolls = pending.iter().map(|pool| text(pool, "name").to_owned()).collect();
    rotation.roll_for_a_new_authority();
    rotation
}

/// The annotation without the words an operation picks up; none if nothing is left of it.
pub fn without_picked_up(shoot: &Value) -> Option<String> {
    let left: Vec<&str> = operations(shoot, OPERATION)
        .into_iter()
        .filter(|word| !word.starts_with("rotate-") && !word.starts_with("rollout-"))
        .collect();
    (!left.is_empty()).then(|| left.join(";"))
}

impl Rotation {
    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Together with another.
    pub fn and(mut self, other: Self) -> Self {
        fn join<T: PartialEq>(into: &mut Vec<T>, more: Vec<T>) {
            more.into_iter().for_each(|one| {
                if !into.contains(&one) {
                    into.push(one);
                }
            });
        }
        join(&mut self.starts, other.starts);
        join(&mut self.completes, other.completes);
        join(&mut self.once, other.once);
        join(&mut self.rolls, other.rolls);
        self.without_rollout |= other.without_rollout;
        self
    }

    /// A new CA replaces all nodes, unless told otherwise.
    fn roll_for_a_new_authority(&mut self) {
        if self.starts.contains(&CA) && !self.without_rollout {
            self.rolls = vec!["*".to_owned()];
        }
    }

    /// The pools to remember as not yet rolled; nothing where a phase remembers it.
    pub fn pending(&self, now: Timestamp) -> Option<(&'static str, Value)> {
        if self.rolls.is_empty() || (self.starts.contains(&CA) && !self.without_rollout) {
            return None;
        }
        let pools: Vec<Value> =
            self.rolls.iter().map(|pool| json!({"name": pool, "lastInitiationTime": seconds(now)})).collect();
        Some((PENDING, json!({"pendingWorkersRollouts": pools})))
    }

    /// Nothing is pending any more.
    pub fn settled(shoot: &Value) -> Option<(&'static str, Value)> {
        has(shoot, &format!("status.{PENDING}")).then_some((PENDING, Value::Null))
    }

    /// Whether a new CA comes, or the old one goes.
    pub fn authorities(&self) -> (bool, bool) {
        (self.starts.contains(&CA), self.completes.contains(&CA))
    }

    /// The patch of `status.credentials.rotation` when the operation begins.
    pub fn begin(&self, now: Timestamp) -> Value {
        let now = seconds(now);
        let mut patch = json!({});
        let phase = if self.without_rollout { "PreparingWithoutWorkersRollout" } else { "Preparing" };
        for rotation in &self.starts {
            let phase = if *rotation == ETCD { "Preparing" } else { phase };
            patch[*rotation] = json!({"phase": phase, "lastInitiationTime": now, "lastCompletionTriggeredTime": null});
        }
        for rotation in &self.completes {
            patch[*rotation] = json!({"phase": "Completing", "lastCompletionTriggeredTime": now});
        }
        for rotation in &self.once {
            patch[*rotation] = json!({"lastInitiationTime": now});
        }
        patch
    }

    /// The patch when it has succeeded.
    pub fn finish(&self, shoot: &Value, now: Timestamp) -> Value {
        let now = seconds(now);
        let mut patch = json!({});
        // From 1.34 on the encryption key is rotated in one go.
        let in_one = version::at_least(text(shoot, "spec.kubernetes.version"), 1, 34);
        for rotation in &self.starts {
            patch[*rotation] = match *rotation {
                ETCD if in_one => {
                    json!({"phase": "Completed", "lastInitiationFinishedTime": now, "lastCompletionTime": now})
                }
                ETCD => json!({"phase": "Prepared", "lastInitiationFinishedTime": now}),
                _ if self.without_rollout => json!({"phase": "WaitingForWorkersRollout"}),
                _ => json!({"phase": "Prepared", "lastInitiationFinishedTime": now}),
            };
        }
        for rotation in &self.completes {
            patch[*rotation] = json!({"phase": "Completed", "lastCompletionTime": now});
        }
        for rotation in &self.once {
            patch[*rotation] = json!({"lastCompletionTime": now});
        }
        for rotation in [CA, ACCOUNT] {
            let waiting =
                text(shoot, &format!("status.credentials.rotation.{rotation}.phase")) == "WaitingForWorkersRollout";
            if waiting && !self.rolls.is_empty() {
                patch[rotation] = json!({"phase": "Prepared", "lastInitiationFinishedTime": now});
            }
        }
        patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation(words: &str) -> Rotation {
        read_rotation(&json!({"metadata": {"annotations": { OPERATION: words }}}))
    }

    #[test]
    fn a_rotation_is_prepared_and_then_completed() {
        let shoot = json!({"spec": {"kubernetes": {"version": "1.34.5"}}});
        let all = rotation("rotate-credentials-start");
        assert_eq!(all.begin(Timestamp::UNIX_EPOCH)[CA]["phase"], "Preparing");
        assert_eq!(all.rolls, ["*"], "a new CA replaces all nodes");
        let done = all.finish(&shoot, Timestamp::UNIX_EPOCH);
        assert_eq!((&done[CA]["phase"], &done[ETCD]["phase"]), (&json!("Prepared"), &json!("Completed")));
        assert_eq!(rotation("rotate-ca-complete").finish(&shoot, Timestamp::UNIX_EPOCH)[CA]["phase"], "Completed");
        assert!(rotation("").is_empty());
    }

    #[test]
    fn nodes_can_be_rolled_later() {
        let start = rotation("rotate-ca-start-without-workers-rollout");
        assert!(start.rolls.is_empty());
        assert_eq!(start.finish(&json!({}), Timestamp::UNIX_EPOCH)[CA]["phase"], "WaitingForWorkersRollout");
        let shoot = json!({"status": {"credentials": {"rotation": { CA: {"phase": "WaitingForWorkersRollout"}}}}});
        let roll = rotation("rotate-rollout-workers=a,b");
        assert_eq!(roll.rolls, ["a", "b"]);
        assert_eq!(roll.finish(&shoot, Timestamp::UNIX_EPOCH)[CA]["phase"], "Prepared");
    }
}
