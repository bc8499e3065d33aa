//! When a write moves a Shoot's generation, and what becomes of operation annotations.
//!
//! The gardenlet looks at generations alone, so whatever must start an operation moves it.

use serde_json::Value;

use super::{
    shoot::{OPERATION, needs_force_deletion},
    value::{annotation, at, has, is_deleting, is_true, number, same, set, text, unannotate},
};

/// What a write asks for by annotation.
struct AnnotationEffect {
    moves: bool,
    consumed: bool,
}

/// Words that move the generation and stay until the gardenlet has picked them up.
const PICKED_UP: [&str; 13] = [
    "rotate-credentials-start",
    "rotate-credentials-start-without-workers-rollout",
    "rotate-credentials-complete",
    "rotate-ca-start",
    "rotate-ca-start-without-workers-rollout",
    "rotate-ca-complete",
    "rotate-serviceaccount-key-start",
    "rotate-serviceaccount-key-start-without-workers-rollout",
    "rotate-serviceaccount-key-complete",
    "rotate-etcd-encryption-key",
    "rotate-etcd-encryption-key-start",
    "rotate-etcd-encryption-key-complete",
    "rotate-observability-credentials",
];

/// For a write of the Shoot itself: sets the generation, and takes a consumed annotation away.
pub fn on_write(new: &mut Value, old: &Value) {
    let asked = read_annotation(new);
    if asked.consumed {
        consume(new);
    }
    let moves = spec_moves(new, old)
        || (is_deleting(new) && !is_deleting(old))
        || (needs_force_deletion(new) && !needs_force_deletion(old))
        || asked.moves;
    put(new, old, moves);
}

/// For the binding: a changed spec moves it.
pub fn on_binding(new: &mut Value, old: &Value) {
    let moves = !same(&new["spec"], &old["spec"]);
    put(new, old, moves);
}

fn put(new: &mut Value, old: &Value, moves: bool) {
    set(new, "metadata.generation", number(old, "metadata.generation") + i64::from(moves));
}

/// A Shoot that confines roll-outs to its window moves at once for hibernation alone.
fn spec_moves(new: &Value, old: &Value) -> bool {
    let sleeps = |shoot| is_true(shoot, "spec.hibernation.enabled");
    if is_true(new, "spec.maintenance.confineSpecUpdateRollout") {
        return sleeps(new) != sleeps(old);
    }
    !same(&new["spec"], at(old, "spec"))
}

fn read_annotation(shoot: &Value) -> AnnotationEffect {
    let nothing = AnnotationEffect { moves: false, consumed: false };
    if !has(shoot, "status.lastOperation") {
        return nothing;
    }
    let failed = text(shoot, "status.lastOperation.state") == "Failed";
    let words: Vec<&str> = annotation(shoot, OPERATION).split(';').map(str::trim).collect();
    match words[..] {
        ["retry"] if failed => AnnotationEffect { moves: true, consumed: true },
        _ if failed => nothing,
        _ if words.contains(&"reconcile") => AnnotationEffect { moves: true, consumed: true },
        ["rotate-ssh-keypair"] if !is_true(shoot, "spec.provider.workersSettings.sshAccess.enabled") => {
            AnnotationEffect { moves: false, consumed: true }
        }
        ["rotate-ssh-keypair"] => AnnotationEffect { moves: true, consumed: false },
        _ => {
            let picked_up = |word: &&str| {
                PICKED_UP.contains(word)
                    || word.starts_with("rotate-rollout-workers")
                    || word.starts_with("rollout-workers")
            };
            AnnotationEffect { moves: words.iter().any(picked_up), consumed: false }
        }
    }
}

/// Removes the consumed word, and the annotation with the last one.
fn consume(shoot: &mut Value) {
    let consumed = ["reconcile", "retry", "rotate-ssh-keypair"];
    let left: Vec<String> = annotation(shoot, OPERATION)
        .split(';')
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty() && !consumed.contains(&word.as_str()))
        .collect();
    if left.is_empty() {
        unannotate(shoot, OPERATION);
    } else {
        super::value::annotate(shoot, OPERATION, left.join(";"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn write(state: &str, annotation: &str, spec: Value) -> (i64, String) {
        let last = if state.is_empty() { Value::Null } else { json!({"state": state}) };
        let old = json!({"metadata": {"generation": 7}, "spec": {"a": 1}, "status": {"lastOperation": last}});
        let mut new = old.clone();
        new["spec"] = spec;
        if !annotation.is_empty() {
            new["metadata"]["annotations"] = json!({ OPERATION: annotation });
        }
        on_write(&mut new, &old);
        (number(&new, "metadata.generation"), super::annotation(&new, OPERATION).to_owned())
    }

    #[test]
    fn the_spec_moves_the_generation_and_labels_do_not() {
        assert_eq!(write("Succeeded", "", json!({"a": 1})).0, 7);
        assert_eq!(write("Succeeded", "", json!({"a": 2})).0, 8);
        assert_eq!(write("Succeeded", "", json!({"a": 1, "b": []})).0, 7, "an empty list is no change");
        let confined = json!({"a": 2, "maintenance": {"confineSpecUpdateRollout": true}});
        assert_eq!(write("Succeeded", "", confined.clone()).0, 7);
        let mut asleep = confined;
        asleep["hibernation"] = json!({"enabled": true});
        assert_eq!(write("Succeeded", "", asleep).0, 8);
    }

    #[test]
    fn annotations_are_consumed_kept_or_ignored() {
        let spec = || json!({"a": 1});
        assert_eq!(write("Succeeded", "reconcile", spec()), (8, String::new()));
        assert_eq!(write("Failed", "reconcile", spec()), (7, "reconcile".into()));
        assert_eq!(write("Failed", "retry", spec()), (8, String::new()));
        assert_eq!(write("Error", "retry", spec()), (7, "retry".into()), "fires with a later write that meets Failed");
        assert_eq!(write("Succeeded", "rotate-ca-start", spec()), (8, "rotate-ca-start".into()));
        assert_eq!(write("Succeeded", "rollout-workers=a", spec()), (8, "rollout-workers=a".into()));
        assert_eq!(
            write("", "reconcile", spec()),
            (7, "reconcile".into()),
            "nothing happens before the first operation"
        );
        assert_eq!(write("Succeeded", "rotate-ssh-keypair", spec()), (7, String::new()), "no access, no key");
    }
}
