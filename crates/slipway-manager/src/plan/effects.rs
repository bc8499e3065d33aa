//! What the change of a field costs.
//!
//! A table: the first row that fits decides. `[*]` stands for any entry of a list. Sources: what
//! Gardener documents about updates of Shoots, and what its API server answers in our suites.

use serde_json::Value;

use super::{Change, Effect, difference::Difference};
use crate::version::{Version, is_higher};

/// How a row decides.
enum EffectRule {
    Always(Effect, &'static str),
    Depends(fn(&Difference) -> (Effect, &'static str)),
}

use Effect::{InPlace, Recreates, Refused, RollsNodes};
use EffectRule::{Always, Depends};

static EFFECTS: &[(&str, EffectRule)] = &[
    ("metadata", Always(InPlace, "a note on the Shoot")),
    ("spec.kubernetes.version", Depends(kubernetes_version)),
    ("spec.kubernetes.kubelet", Always(InPlace, "kubelets restart")),
    ("spec.kubernetes", Always(InPlace, "the control plane restarts")),
    ("spec.provider.workers[*].machine", Depends(machine)),
    ("spec.provider.workers[*].volume", Always(RollsNodes, "machines are made anew with other disks")),
    ("spec.provider.workers[*].dataVolumes", Always(RollsNodes, "machines are made anew with other disks")),
    ("spec.provider.workers[*].kubeletDataVolumeName", Always(RollsNodes, "machines are made anew with other disks")),
    ("spec.provider.workers[*].providerConfig", Always(RollsNodes, "machines are made anew with other settings")),
    ("spec.provider.workers[*].cri", Always(RollsNodes, "machines are made anew with other container runtimes")),
    ("spec.provider.workers[*].updateStrategy", Depends(update_strategy)),
    ("spec.provider.workers[*].kubernetes.version", Depends(kubernetes_version)),
    (
        "spec.provider.workers[*].kubernetes.kubelet.kubeReserved",
        Always(RollsNodes, "reserved room changes with the machine"),
    ),
    (
        "spec.provider.workers[*].kubernetes.kubelet.systemReserved",
        Always(RollsNodes, "reserved room changes with the machine"),
    ),
    (
        "spec.provider.workers[*].kubernetes.kubelet.evictionHard",
        Always(RollsNodes, "reserved room changes with the machine"),
    ),
    (
        "spec.provider.workers[*].kubernetes.kubelet.cpuManagerPolicy",
        Always(RollsNodes, "the policy changes with the machine"),
    ),
    ("spec.provider.workers[*].kubernetes", Always(InPlace, "kubelets restart")),
    ("spec.provider.workers[*].zones", Always(InPlace, "new machines may be in new zones")),
    ("spec.provider.workers[*].", Always(InPlace, "machines stay")),
    ("spec.provider.workers[*]", Depends(pool)),
    ("spec.provider.workersSettings", Always(InPlace, "machines stay")),
    ("spec.provider.infrastructureConfig", Always(InPlace, "the networks in the cloud are changed")),
    ("spec.provider.controlPlaneConfig", Always(InPlace, "the control plane restarts")),
    ("spec.provider.type", Always(Recreates, "a cluster does not move to another cloud")),
    ("spec.region", Always(Recreates, "a cluster does not move to another region")),
    ("spec.networking", Always(Recreates, "networks of a cluster do not change")),
    ("spec.dns.domain", Always(Recreates, "a domain does not change")),
    ("spec.dns", Always(InPlace, "records are written anew")),
    ("spec.exposureClassName", Always(Recreates, "how a cluster is exposed does not change")),
    ("spec.controlPlane", Depends(high_availability)),
    ("spec.secretBindingName", Always(Refused, "Gardener takes no other SecretBinding; move to a CredentialsBinding")),
    (
        "spec.credentialsBindingName",
        Always(InPlace, "another account is used; Gardener refuses it where it may not read both"),
    ),
    ("spec.seedName", Always(Refused, "a cluster does not move to another Seed by its Runtime")),
    ("spec.hibernation", Always(InPlace, "the cluster falls asleep or wakes up")),
    ("spec.seedSelector", Always(InPlace, "Gardener refuses it where the Seed no longer fits")),
    ("spec.accessRestrictions", Always(InPlace, "Gardener refuses it where region or Seed do not offer it")),
    ("spec.cloudProfile", Always(InPlace, "Gardener refuses it where the profile has another root")),
    ("spec.tolerations", Always(InPlace, "only a new Seed would tell")),
    ("spec.purpose", Always(InPlace, "the control plane may get another size")),
    ("spec.maintenance", Always(InPlace, "from the next window on")),
    ("spec.extensions", Always(InPlace, "extensions are installed anew")),
    ("spec.resources", Always(InPlace, "references are followed anew")),
];

/// Labels a difference.
pub(super) fn label(difference: Difference) -> Change {
    let verdict = EFFECTS.iter().find(|(pattern, _)| fits(pattern, &difference.path)).map(|(_, verdict)| verdict);
    let (effect, reason) = match verdict {
        Some(Always(effect, reason)) => (*effect, *reason),
        Some(Depends(decide)) => decide(&difference),
        None => (InPlace, "the cluster is reconciled"),
    };
    let Difference { path, before, after } = difference;
    Change { path, before, after, effect, reason: reason.to_owned() }
}

/// Whether a path is what a pattern says, or below it.
fn fits(pattern: &str, path: &str) -> bool {
    let mut rest = path;
    for (at, part) in pattern.split("[*]").enumerate() {
        if at > 0 {
            let Some(inside) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else { return false };
            rest = inside.1;
        }
        let Some(after) = rest.strip_prefix(part) else { return false };
        rest = after;
    }
    rest.is_empty() || pattern.ends_with('.') || rest.starts_with(['.', '['])
}

fn texts(difference: &Difference) -> (Option<&str>, Option<&str>) {
    (difference.before.as_ref().and_then(Value::as_str), difference.after.as_ref().and_then(Value::as_str))
}

fn kubernetes_version(difference: &Difference) -> (Effect, &'static str) {
    let (Some(before), Some(after)) = texts(difference) else { return (InPlace, "the version is set") };
    if is_higher(before, after) {
        return (Refused, "clusters cannot go back to a lower version");
    }
    match (Version::parse(before).map(|version| version.minor()), Version::parse(after).map(|version| version.minor()))
    {
        (Some(before), Some(after)) if before == after => (InPlace, "a patch version: kubelets restart"),
        (Some((major, minor)), Some(after)) if after == (major, minor + 1) => {
            (RollsNodes, "a minor version: machines are made anew")
        }
        (Some(_), Some(_)) => (Refused, "minor versions cannot be skipped; go up one by one"),
        _ => (Refused, "this is not a version"),
    }
}

fn machine(difference: &Difference) -> (Effect, &'static str) {
    if difference.path.ends_with(".image.version")
        && let (Some(before), Some(after)) = texts(difference)
        && is_higher(before, after)
    {
        return (RollsNodes, "machines are made anew with an older image");
    }
    (RollsNodes, "machines are made anew")
}

fn update_strategy(difference: &Difference) -> (Effect, &'static str) {
    let is_in_place = |strategy: Option<&str>| strategy.is_some_and(|strategy| strategy.ends_with("InPlaceUpdate"));
    let (before, after) = texts(difference);
    match is_in_place(before) == is_in_place(after) {
        true => (InPlace, "machines stay"),
        false => (Refused, "a pool cannot move between rolling and in-place updates; make another pool"),
    }
}

fn pool(difference: &Difference) -> (Effect, &'static str) {
    match difference.after {
        Some(_) => (InPlace, "a new pool"),
        None => (RollsNodes, "the pool is removed; its machines go, and what runs on them moves"),
    }
}

fn high_availability(difference: &Difference) -> (Effect, &'static str) {
    match difference.before {
        None => (InPlace, "the control plane is spread; it stays so for ever"),
        Some(_) => (Refused, "high availability, once chosen, does not change"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::owned_paths;

    #[test]
    fn every_path_that_is_ours_has_a_row() {
        for (path, owner) in owned_paths().filter(|(path, _)| path.contains('.')) {
            let inner = format!("{path}[x].y");
            assert!(
                EFFECTS.iter().any(|(pattern, _)| fits(pattern, path) || fits(pattern, &inner)),
                "{path} of {owner}"
            );
        }
    }

    #[test]
    fn patterns_fit_whole_names_and_what_is_below() {
        assert!(fits("spec.provider.workers[*].machine", "spec.provider.workers[a].machine.type"));
        assert!(!fits("spec.provider.workers[*].machine", "spec.provider.workers[a].machineControllerManager"));
        assert!(fits("spec.provider.workers[*].", "spec.provider.workers[a].labels"));
        assert!(!fits("spec.provider.workers[*].", "spec.provider.workers[a]"));
        assert!(!fits("spec.dns.domain", "spec.dns"));
    }
}
