//! C16 and force deletion: what may be asked for by annotation.

use serde_json::Value;

use super::Case;
use crate::garden::{
    problems::Problems,
    shoot::{
        self, CODES, CONFIRM_FORCE_DELETION, MAINTENANCE_OPERATION, OPERATION, is_in_hibernation, is_in_place,
        is_ready_for_rotation, needs_force_deletion, operations,
    },
    value::{is_deleting, list, named, text, texts},
    version,
};

/// Words for the annotation that runs at once, besides those of the next table.
const AT_ONCE: [&str; 3] = ["force-in-place-update", "maintain", "retry"];

/// Words for both annotations.
const WORDS: [&str; 16] = [
    "reconcile",
    "rollout-workers",
    "rotate-ca-complete",
    "rotate-ca-start",
    "rotate-ca-start-without-workers-rollout",
    "rotate-credentials-complete",
    "rotate-credentials-start",
    "rotate-credentials-start-without-workers-rollout",
    "rotate-etcd-encryption-key",
    "rotate-etcd-encryption-key-complete",
    "rotate-etcd-encryption-key-start",
    "rotate-observability-credentials",
    "rotate-rollout-workers",
    "rotate-serviceaccount-key-complete",
    "rotate-serviceaccount-key-start",
    "rotate-serviceaccount-key-start-without-workers-rollout",
];

/// Words that stand alone.
const ALONE: [&str; 3] = ["force-in-place-update", "maintain", "retry"];

/// Words that a sleeping Shoot refuses.
const AWAKE: [&str; 9] = [
    "rotate-credentials-start",
    "rotate-credentials-start-without-workers-rollout",
    "rotate-credentials-complete",
    "rotate-etcd-encryption-key",
    "rotate-etcd-encryption-key-start",
    "rotate-etcd-encryption-key-complete",
    "rotate-serviceaccount-key-start",
    "rotate-serviceaccount-key-start-without-workers-rollout",
    "rotate-serviceaccount-key-complete",
];

/// Words that exclude each other.
const EXCLUDES: [(&str, &[&str]); 5] = [
    (
        "rotate-credentials-start",
        &[
            "rotate-ca-start-without-workers-rollout",
            "rotate-serviceaccount-key-start-without-workers-rollout",
            "rotate-credentials-start-without-workers-rollout",
        ],
    ),
    ("rotate-credentials-start-without-workers-rollout", &["rotate-ca-start", "rotate-serviceaccount-key-start"]),
    ("rotate-ca-start", &["rotate-ca-start-without-workers-rollout"]),
    ("rotate-serviceaccount-key-start", &["rotate-serviceaccount-key-start-without-workers-rollout"]),
    ("rotate-etcd-encryption-key", &["rotate-etcd-encryption-key-start"]),
];

/// Starts: the word, what it is called, and the rotations that must be at rest.
const STARTS: [(&str, &str, &[&str]); 8] = [
    (
        "rotate-credentials-start",
        "rotation of all credentials",
        &["certificateAuthorities", "serviceAccountKey", "etcdEncryptionKey"],
    ),
    (
        "rotate-credentials-start-without-workers-rollout",
        "rotation of all credentials",
        &["certificateAuthorities", "serviceAccountKey", "etcdEncryptionKey"],
    ),
    ("rotate-ca-start", "CA rotation", &["certificateAuthorities"]),
    ("rotate-ca-start-without-workers-rollout", "CA rotation", &["certificateAuthorities"]),
    ("rotate-serviceaccount-key-start", "service account key rotation", &["serviceAccountKey"]),
    ("rotate-serviceaccount-key-start-without-workers-rollout", "service account key rotation", &["serviceAccountKey"]),
    ("rotate-etcd-encryption-key", "ETCD encryption key rotation", &["etcdEncryptionKey"]),
    ("rotate-etcd-encryption-key-start", "ETCD encryption key rotation", &["etcdEncryptionKey"]),
];

/// Completions: the word, what it is called, and the rotations that must be prepared.
const COMPLETIONS: [(&str, &str, &[&str]); 4] = [
    (
        "rotate-credentials-complete",
        "rotation of all credentials",
        &["certificateAuthorities", "serviceAccountKey", "etcdEncryptionKey"],
    ),
    ("rotate-ca-complete", "CA rotation", &["certificateAuthorities"]),
    ("rotate-serviceaccount-key-complete", "service account key rotation", &["serviceAccountKey"]),
    ("rotate-etcd-encryption-key-complete", "ETCD encryption key rotation", &["etcdEncryptionKey"]),
];

fn known() -> Vec<&'static str> {
    let mut known: Vec<&str> = WORDS.iter().chain(&AT_ONCE).copied().chain(["rotate-ssh-keypair"]).collect();
    known.sort_unstable();
    known
}

fn is_known(word: &str) -> bool {
    known().contains(&word) || word.starts_with("rotate-rollout-workers") || word.starts_with("rollout-workers")
}

pub(super) fn c16(case: &Case<'_>, problems: &mut Problems) {
    let now = operations(case.new, OPERATION);
    let later = operations(case.new, MAINTENANCE_OPERATION);
    let paths = [path(OPERATION), path(MAINTENANCE_OPERATION)];
    for (words, path) in [(&now, &paths[0]), (&later, &paths[1])] {
        for word in words {
            if !is_known(word) {
                return problems.unsupported(path.as_str(), word, &known());
            }
            if words.len() > 1 && ALONE.contains(word) {
                let detail = format!("operation '{word}' is not permitted to be run in parallel with other operations");
                return problems.forbidden(path.as_str(), &detail);
            }
        }
    }
    if now.iter().any(|word| later.contains(word)) {
        let detail = format!("annotations {} and {} must not have any equal operations", paths[0], paths[1]);
        problems.forbidden("metadata.annotations", &detail);
    }
    for word in &now {
        words_together(case, word, &now, &paths[0], "operations", problems);
    }
    for word in &later {
        words_together(case, word, &later, &paths[1], "maintenance operations", problems);
    }
    for word in &now {
        context(case.new, word, &paths[0], problems);
    }
    if !is_deleting(case.new) {
        for word in &later {
            context(case.new, word, &paths[1], problems);
        }
    }
}

/// What a server has against the words that wait in a Shoot, whoever writes it: the phases may have moved on.
#[cfg(test)]
pub(crate) fn waiting_words(shoot: &Value) -> Problems {
    let mut problems = Problems::default();
    for word in operations(shoot, OPERATION) {
        context(shoot, word, OPERATION, &mut problems);
    }
    problems
}

fn path(key: &str) -> String {
    format!("metadata.annotations[{key}]")
}

fn words_together(case: &Case<'_>, word: &str, all: &[&str], path: &str, what: &str, problems: &mut Problems) {
    if matches!(word, "rotate-etcd-encryption-key-start" | "rotate-etcd-encryption-key-complete")
        && version::at_least(case.version(), 1, 34)
    {
        let detail = format!(
            "for Kubernetes versions >= 1.34, operation '{word}' is no longer supported, please use 'rotate-etcd-encryption-key' instead, which performs a complete etcd encryption key rotation"
        );
        problems.forbidden(path, &detail);
    }
    if let Some((_, others)) = EXCLUDES.iter().find(|(one, _)| *one == word)
        && all.iter().any(|one| others.contains(one))
    {
        let detail =
            format!("operation '{word}' is not permitted to be run together with {} {what}", others.join(", "));
        problems.forbidden(path, &detail);
    }
    let rolls = word.starts_with("rotate-rollout-workers") || word.starts_with("rollout-workers");
    if is_in_hibernation(case.new) && (rolls || AWAKE.contains(&word)) {
        let detail = format!("operation '{word}' is not permitted when shoot is hibernated or is waking up");
        problems.forbidden(path, &detail);
    }
}

fn context(shoot: &Value, word: &str, path: &str, problems: &mut Problems) {
    let phase = |what: &str| text(shoot, &format!("status.credentials.rotation.{what}.phase"));
    if let Some((_, what, at_rest)) = STARTS.iter().find(|(one, ..)| *one == word) {
        if !is_ready_for_rotation(shoot) {
            let detail = format!(
                "cannot start {what} if shoot was not yet created successfully or is not ready for reconciliation"
            );
            problems.forbidden(path, &detail);
        }
        for rotation in *at_rest {
            if !matches!(phase(rotation), "" | "Completed") {
                let detail =
                    format!("cannot start {what} if .status.credentials.rotation.{rotation}.phase is not 'Completed'");
                problems.forbidden(path, &detail);
            }
        }
    }
    if let Some((_, what, prepared)) = COMPLETIONS.iter().find(|(one, ..)| *one == word) {
        let two_steps = !version::at_least(text(shoot, "spec.kubernetes.version"), 1, 34);
        for rotation in *prepared {
            let skipped = *rotation == "etcdEncryptionKey" && prepared.len() > 1 && !two_steps;
            if phase(rotation) != "Prepared" && !skipped {
                let detail = format!(
                    "cannot complete {what} if .status.credentials.rotation.{rotation}.phase is not 'Prepared'"
                );
                problems.forbidden(path, &detail);
            }
        }
    }
    if let Some(pools) = word.strip_prefix("rotate-rollout-workers") {
        if phase("certificateAuthorities") != "WaitingForWorkersRollout"
            && phase("serviceAccountKey") != "WaitingForWorkersRollout"
        {
            let detail = "either .status.credentials.rotation.certificateAuthorities.phase or .status.credentials.rotation.serviceAccountKey.phase must be in 'WaitingForWorkersRollout' in order to trigger workers rollout";
            problems.forbidden(path, detail);
        }
        pools_named(shoot, pools, path, false, problems);
    } else if let Some(pools) = word.strip_prefix("rollout-workers") {
        pools_named(shoot, pools, path, true, problems);
    }
}

fn pools_named(shoot: &Value, pools: &str, path: &str, rolls_out: bool, problems: &mut Problems) {
    let workers = list(shoot, "spec.provider.workers");
    let given: Vec<&str> = pools.trim_start_matches('=').split(',').collect();
    if given.contains(&"") {
        let (word, star) =
            if rolls_out { ("rollout-workers", "either '*' or ") } else { ("rotate-rollout-workers", "") };
        let detail = format!("must provide {star}at least one pool name via {word}=<poolName1>[,<poolName2>,...]");
        problems.required(path, &detail);
    }
    let every = rolls_out && given == ["*"];
    if rolls_out && !every && given.contains(&"*") {
        problems.forbidden(path, "if '*' is provided, no other pool names are allowed");
    }
    let given = if every { workers.iter().map(|worker| text(worker, "name")).collect() } else { given };
    for (index, pool) in given.iter().enumerate() {
        if given[..index].contains(pool) {
            problems.duplicate(path, format!("pool name {pool} was specified multiple times"));
        }
        match named(workers, pool) {
            None => {
                let detail = format!("worker pool name {pool} does not exist in .spec.provider.workers[]");
                problems.invalid(path, *pool, &detail);
            }
            Some(worker) if rolls_out && is_in_place(worker) => {
                let detail = format!(
                    "worker pool {pool} is using in-place update strategy; manual worker pool rollout is not supported for such pools"
                );
                problems.invalid(path, *pool, &detail);
            }
            Some(_) => {}
        }
    }
}

/// Only with a deletion timestamp and one of five error codes; never taken back.
pub(super) fn force_deletion(case: &Case<'_>, problems: &mut Problems) {
    let (before, after) = (needs_force_deletion(case.old), needs_force_deletion(case.new));
    let path = path(CONFIRM_FORCE_DELETION);
    if before && !after {
        problems.forbidden(path.as_str(), "force-deletion annotation cannot be removed once set");
    }
    if before || !after {
        return;
    }
    if !is_deleting(case.new) {
        problems
            .forbidden(path.as_str(), "force-deletion annotation cannot be set when Shoot deletionTimestamp is nil");
    }
    let mut errors = list(case.new, "status.lastErrors").iter().flat_map(|error| texts(error, "codes"));
    if !errors.any(|code| shoot::find_code(code).is_some_and(|code| code.allows_force_deletion)) {
        let mut codes: Vec<&str> =
            CODES.iter().filter(|code| code.allows_force_deletion).map(|code| code.name).collect();
        codes.sort_unstable();
        let detail = format!(
            "force-deletion annotation cannot be set when Shoot status does not contain one of these error codes: [{}]",
            codes.join(" ")
        );
        problems.forbidden(path, &detail);
    }
}
