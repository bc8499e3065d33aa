//! U1 to U13, U16 to U18: what may change about a stored Shoot.

use std::collections::BTreeSet;

use kube_sandbox::status::Status;
use serde_json::{Map, Value};

use super::Case;
use crate::garden::{
    problems::Problems,
    shoot::{self, is_in_place},
    value::{at, has, is_deleting, is_true, list, same, text, texts},
    version::Version,
};

pub(super) fn u1(case: &Case<'_>, problems: &mut Problems) {
    if !case.is_create() && is_deleting(case.new) && case.spec_changed() {
        let changes = differences(&case.new["spec"], at(case.old, "spec"), "");
        let detail =
            format!("cannot update shoot spec if deletion timestamp is set. Requested changes: {}", changes.join(","));
        problems.forbidden("spec", &detail);
    }
}

/// What differs, for the sentence above: by the names the real server has for its fields.
fn differences(new: &Value, old: &Value, path: &str) -> Vec<String> {
    let below = |key: &str, new: &Value, old: &Value| {
        differences(new, old, &if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") })
    };
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            let keys: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
            let field = |map: &Map<String, Value>, key: &String| map.get(key).cloned().unwrap_or_default();
            keys.into_iter().flat_map(|key| below(&go_name(key), &field(new, key), &field(old, key))).collect()
        }
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() => {
            let pairs = new.iter().zip(old).enumerate();
            pairs.flat_map(|(index, (new, old))| below(&format!("slice[{index}]"), new, old)).collect()
        }
        (new, old) if same(new, old) => Vec::new(),
        (new, old) => {
            let shown = |value: &Value| match value {
                Value::Null => "<nil pointer>".to_owned(),
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            vec![format!("{path}: {} != {}", shown(new), shown(old))]
        }
    }
}

fn go_name(key: &str) -> String {
    let (first, rest) = key.split_at(key.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}", first.to_uppercase())
}

/// Rules about updates are silent for creates and for Shoots whose deletion has begun: then U1 speaks.
fn applies(case: &Case<'_>) -> bool {
    !(case.is_create() || is_deleting(case.new) && case.spec_changed())
}

pub(super) fn u2(case: &Case<'_>, problems: &mut Problems) {
    if !applies(case) {
        return;
    }
    for path in ["spec.region", "spec.provider.type"] {
        problems.immutable(path, at(case.new, path), at(case.old, path));
    }
    if !has(case.old, "spec.networking") {
        return;
    }
    if !has(case.new, "spec.networking") {
        return problems.forbidden("spec.networking", "networking cannot be set to nil if it's already set");
    }
    problems.immutable(
        "spec.networking.type",
        at(case.new, "spec.networking.type"),
        at(case.old, "spec.networking.type"),
    );
    for path in ["spec.networking.pods", "spec.networking.services"] {
        if has(case.old, path) {
            problems.immutable(path, at(case.new, path), at(case.old, path));
        }
    }
}

pub(super) fn u3(case: &Case<'_>, problems: &mut Problems) {
    if !applies(case) || !has(case.old, "spec.networking") || !has(case.new, "spec.networking") {
        return;
    }
    let (new, old) = (texts(case.new, "spec.networking.ipFamilies"), texts(case.old, "spec.networking.ipFamilies"));
    let (single, dual) = (["IPv4"], ["IPv4", "IPv6"]);
    let migrates = (old == single && new == dual) || (old == dual && new == single);
    if new != old && !migrates {
        let detail = format!(
            "unsupported IP family update: oldIPFamilies=[{}], newIPFamilies=[{}]",
            old.join(" "),
            new.join(" ")
        );
        problems.forbidden("spec.networking.ipFamilies", &detail);
    }
}

pub(super) fn u4(case: &Case<'_>, problems: &mut Problems) {
    if !applies(case) {
        return;
    }
    let path = "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize";
    problems.immutable(path, at(case.new, path), at(case.old, path));
    let path = "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSizeIPv6";
    if has(case.old, path) {
        problems.immutable(path, at(case.new, path), at(case.old, path));
    }
}

pub(super) fn u5(case: &Case<'_>, problems: &mut Problems) {
    if !applies(case) || !has(case.old, "spec.dns") {
        return;
    }
    if !has(case.new, "spec.dns") {
        return problems.immutable("spec.dns", at(case.new, "spec.dns"), at(case.old, "spec.dns"));
    }
    let domain = "spec.dns.domain";
    if has(case.old, domain) {
        problems.immutable(domain, at(case.new, domain), at(case.old, domain));
    }
    if !has(case.new, "spec.seedName") {
        return;
    }
    let primary = |object| list(object, "spec.dns.providers").iter().find(|provider| is_true(provider, "primary"));
    let Some(old) = primary(case.old) else { return };
    match primary(case.new) {
        None => problems.forbidden("spec.dns.providers", "removing a primary provider is not allowed"),
        Some(new) if has(old, "type") && !has(new, "type") => {
            problems.forbidden("spec.dns.providers", "removing the primary provider type is not allowed");
        }
        Some(new) if has(old, "type") && text(new, "type") != text(old, "type") => {
            problems.forbidden("spec.dns.providers", "changing primary provider type is not allowed");
        }
        Some(_) => {}
    }
}

pub(super) fn u6(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.credentialsBindingName";
    if applies(case) && has(case.old, path) && text(case.new, path).is_empty() {
        problems.forbidden(path, "the field cannot be unset");
    }
}

pub(super) fn u7(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.secretBindingName";
    let migrates =
        has(case.old, path) && !has(case.new, path) && !text(case.new, "spec.credentialsBindingName").is_empty();
    if applies(case) && !migrates {
        problems.immutable(path, at(case.new, path), at(case.old, path));
    }
}

pub(super) fn u8(case: &Case<'_>, problems: &mut Problems) {
    if applies(case) {
        let old = text(case.old, "spec.kubernetes.version");
        version_update("spec.kubernetes.version", case.version(), old, false, problems);
    }
}

fn version_update(path: &str, new: &str, old: &str, may_skip: bool, problems: &mut Problems) {
    if new.is_empty() {
        return problems.invalid(path, new, "cannot validate kubernetes version upgrade because it is unset");
    }
    let (Ok(new), Ok(old)) = (new.parse::<Version>(), old.parse::<Version>()) else { return };
    if new < old {
        problems.forbidden(path, "kubernetes version downgrade is not supported");
    }
    if !may_skip && new.at_least(old.major, old.minor + 2) {
        problems.forbidden(path, "kubernetes version upgrade cannot skip a minor version");
    }
}

/// Against the control plane, and against the version the pool has.
pub(super) fn u9(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, old) in case.workers() {
        let path = format!("{path}.kubernetes.version");
        let own = text(worker, "kubernetes.version");
        if let (false, Ok(own), Ok(control)) =
            (own.is_empty(), own.parse::<Version>(), case.version().parse::<Version>())
        {
            if own > control {
                let detail = "worker group kubernetes version must not be higher than control plane version";
                problems.forbidden(path.clone(), detail);
            }
            if control.at_least(own.major, own.minor + 4) {
                let detail =
                    "worker group kubernetes version must be at most three minor versions behind control plane version";
                problems.forbidden(path.clone(), detail);
            }
        }
        if !applies(case) {
            continue;
        }
        let effective = |worker: &Value, shoot: &Value| {
            let own = text(worker, "kubernetes.version").to_owned();
            if own.is_empty() { text(shoot, "spec.kubernetes.version").to_owned() } else { own }
        };
        let before = effective(if old.is_null() { worker } else { old }, case.old);
        version_update(&path, &effective(worker, case.new), &before, !is_in_place(worker), problems);
    }
}

pub(super) fn u11(case: &Case<'_>, problems: &mut Problems) {
    if !applies(case) {
        return;
    }
    let had = !list(case.old, "spec.provider.workers").is_empty();
    match (had, !case.is_workerless()) {
        (true, false) => {
            problems.forbidden("spec.provider.workers", "cannot switch from a Shoot with workers to a workerless Shoot")
        }
        (false, true) => {
            problems.forbidden("spec.provider.workers", "cannot switch from a workerless Shoot to a Shoot with workers")
        }
        _ => {}
    }
}

pub(super) fn u12(case: &Case<'_>, problems: &mut Problems) {
    if !applies(case) || case.is_workerless() {
        return;
    }
    for (path, worker, old) in case.workers().filter(|(_, _, old)| !old.is_null()) {
        let strategy = at(worker, "updateStrategy").clone();
        match (is_in_place(old), is_in_place(worker)) {
            (true, false) => problems.invalid(
                format!("{path}.updateStrategy"),
                strategy,
                "update strategy cannot be changed from AutoInPlaceUpdate/ManualInPlaceUpdate to AutoRollingUpdate",
            ),
            (false, true) => problems.invalid(
                format!("{path}.updateStrategy"),
                strategy,
                "update strategy cannot be changed from AutoRollingUpdate to AutoInPlaceUpdate/ManualInPlaceUpdate",
            ),
            (true, true) => in_place(&path, worker, old, problems),
            (false, false) => {}
        }
    }
}

fn in_place(path: &str, worker: &Value, old: &Value, problems: &mut Problems) {
    const FROZEN: [(&str, &str); 4] = [
        ("machine.type", "machine type"),
        ("machine.image.name", "machine image name"),
        ("cri.name", "CRI name"),
        ("volume", "volume"),
    ];
    for (field, what) in FROZEN {
        if !same(at(worker, field), at(old, field)) {
            let detail =
                format!("{what} cannot be changed if update strategy is AutoInPlaceUpdate/ManualInPlaceUpdate");
            problems.invalid(format!("{path}.{field}"), at(worker, field).clone(), &detail);
        }
    }
    let image = |worker| text(worker, "machine.image.version").parse::<Version>();
    if let (Ok(new), Ok(old)) = (image(worker), image(old))
        && new < old
    {
        let detail = "machine image version downgrade is not supported when the update strategy is AutoInPlaceUpdate or ManualInPlaceUpdate";
        problems.forbidden(format!("{path}.machine.image.version"), detail);
    }
}

pub(super) fn u13(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.controlPlane.highAvailability.failureTolerance.type";
    let group = "spec.controlPlane.highAvailability";
    if has(case.new, group) && !matches!(text(case.new, path), "node" | "zone") {
        problems.unsupported(path, text(case.new, path), &["node", "zone"]);
    }
    if case.is_create() {
        return;
    }
    if has(case.new, group) && !has(case.old, group) && shoot::is_in_hibernation(case.new) {
        let detail = "Shoot is currently hibernated and cannot be scaled up to HA. Please make sure your cluster has woken up before scaling it up to HA";
        problems.forbidden(path, detail);
    }
    if has(case.old, group) && has(case.new, "spec.seedName") {
        problems.immutable(path, at(case.new, path), at(case.old, path));
    }
}

pub(super) fn u16(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.schedulerName";
    if !applies(case) || same(at(case.new, path), at(case.old, path)) {
        return;
    }
    if has(case.old, path) || text(case.new, path) != "default-scheduler" {
        problems.invalid(path, at(case.new, path).clone(), "field is immutable");
    }
}

fn phase<'a>(shoot: &'a Value, what: &str) -> &'a str {
    text(shoot, &format!("status.credentials.rotation.{what}.phase"))
}

pub(super) fn u17(case: &Case<'_>, problems: &mut Problems) {
    if case.is_create() {
        return;
    }
    const PATH: &str = "spec.kubernetes.kubeAPIServer.encryptionConfig";
    let resources = |object, path: &str| {
        let mut resources = texts(object, path);
        resources.sort_unstable();
        resources
    };
    let kind = format!("{PATH}.provider.type");
    let listed = format!("{PATH}.resources");
    let (new, old) = (resources(case.new, &listed), resources(case.old, &listed));
    let (new_kind, old_kind) = (text(case.new, &kind), text(case.old, &kind));
    // Before the first reconciliation the status says nothing; then nothing is being rolled out either.
    let rolled_out = !has(case.new, "status.credentials.encryptionAtRest")
        || (old == resources(case.new, "status.credentials.encryptionAtRest.resources")
            && old_kind == text(case.new, "status.credentials.encryptionAtRest.provider.type"));
    let rotates = !matches!(phase(case.new, "etcdEncryptionKey"), "" | "Completed");
    let refuse = |path: &str, what: &str, problems: &mut Problems| {
        if rotates {
            let detail = format!(
                "{what} cannot be changed when .status.credentials.rotation.etcdEncryptionKey.phase is not \"Completed\""
            );
            problems.forbidden(path, &detail);
        }
        if !rolled_out {
            let detail = format!(
                "{what} cannot be changed because a previous encryption configuration change is currently being rolled out"
            );
            problems.forbidden(path, &detail);
        }
        if is_true(case.new, "spec.hibernation.enabled") {
            problems.forbidden(path, &format!("{what} cannot be changed when shoot is in hibernation"));
        }
    };
    if new != old {
        refuse(&listed, "resources", problems);
    }
    if new_kind != old_kind {
        if !shoot::is_ready_for_rotation(case.new) {
            let detail = "provider type cannot be changed if resource was not yet created successfully or is not ready for reconciliation";
            problems.forbidden(kind.clone(), detail);
        }
        refuse(&kind, "provider type", problems);
        if new != old {
            problems.forbidden(kind, "provider type and resources cannot be changed simultaneously");
        }
    }
}

fn falls_asleep(case: &Case<'_>) -> bool {
    !is_true(case.old, "spec.hibernation.enabled") && is_true(case.new, "spec.hibernation.enabled")
}

pub(super) fn u18(case: &Case<'_>, problems: &mut Problems) {
    if case.is_create() || !falls_asleep(case) {
        return;
    }
    for (what, busy) in [
        ("etcdEncryptionKey", &["Preparing", "Completing"][..]),
        ("serviceAccountKey", &["Preparing", "PreparingWithoutWorkersRollout", "Completing"][..]),
    ] {
        let phase = phase(case.new, what);
        if busy.contains(&phase) {
            let detail =
                format!("shoot cannot be hibernated when .status.credentials.rotation.{what}.phase is {phase:?}");
            problems.forbidden("spec.hibernation.enabled", &detail);
        }
    }
}

pub(super) fn u18_admission(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let constraint = list(case.new, "status.constraints").iter().find(|one| text(one, "type") == "HibernationPossible");
    match constraint {
        Some(constraint) if falls_asleep(case) && text(constraint, "status") != "True" => {
            let (status, message) = (text(constraint, "status"), text(constraint, "message"));
            Err(case.refuse(format!("'HibernationPossible' constraint is '{status}': {message}")))
        }
        _ => Ok(()),
    }
}
