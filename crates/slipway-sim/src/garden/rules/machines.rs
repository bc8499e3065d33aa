//! U10, W7 to W11, W15, C10, C20: what the cloud profile offers.

use kube_sandbox::status::Status;
use serde_json::{Value, json};

use super::Case;
use crate::garden::{
    names::quantity,
    problems::Problems,
    profile::{Profile, is_expired},
    value::{at, has, is_deleting, list, named, number, same, text, texts},
    version::{Version, meets},
};

pub(super) fn u10(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    if is_deleting(case.new) {
        return Ok(());
    }
    let path = "spec.kubernetes.version";
    offered(case, path, case.version(), text(case.old, path), case.is_create(), problems);
    for (path, worker, old) in case.workers().filter(|(_, worker, _)| has(worker, "kubernetes.version")) {
        let before = text(old, "kubernetes.version");
        let before = if before.is_empty() { text(case.old, "spec.kubernetes.version") } else { before };
        let wanted = text(worker, "kubernetes.version");
        offered(case, &format!("{path}.kubernetes.version"), wanted, before, old.is_null(), problems);
    }
    Ok(())
}

fn offered(case: &Case<'_>, path: &str, wanted: &str, before: &str, is_new: bool, problems: &mut Problems) {
    if wanted == before {
        return;
    }
    let usable = case.refs.profile.versions().iter().filter(|one| !is_new || !is_expired(one, case.ctx.now));
    let usable: Vec<&Value> = usable.collect();
    if usable.iter().any(|one| text(one, "version") == wanted) {
        return;
    }
    let shown = |version: &&Value| {
        let preview = if text(version, "classification") == "preview" { " (preview)" } else { "" };
        format!("{}{preview}", text(version, "version"))
    };
    let known: Vec<String> = usable.iter().map(shown).collect();
    problems.unsupported(path, wanted, &known.iter().map(String::as_str).collect::<Vec<_>>());
}

pub(super) fn region(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let path = "spec.region";
    let wanted = text(case.new, path);
    if wanted != text(case.old, path) && case.refs.profile.region(wanted).is_none() {
        let known: Vec<&str> = list(&case.refs.profile.spec, "regions").iter().map(|one| text(one, "name")).collect();
        problems.unsupported(path, wanted, &known);
    }
    Ok(())
}

pub(super) fn c10(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let path = "spec.accessRestrictions";
    if same(at(case.new, path), at(case.old, path))
        && text(case.new, "spec.seedName") == text(case.old, "spec.seedName")
    {
        return Ok(());
    }
    let names = |restrictions: &[Value]| -> Vec<String> {
        restrictions.iter().map(|one| text(one, "name").to_owned()).collect()
    };
    let region =
        case.refs.profile.region(text(case.new, "spec.region")).map_or(&[][..], |one| list(one, "accessRestrictions"));
    let by_region = names(region);
    for (index, restriction) in list(case.new, path).iter().enumerate() {
        let (path, called) = (format!("{path}[{index}]"), text(restriction, "name"));
        if !by_region.iter().any(|one| one == called) {
            let known: Vec<&str> = by_region.iter().map(String::as_str).collect();
            problems.unsupported(path.as_str(), called, &known);
        }
        if !case.refs.seed.is_null() {
            let by_seed = names(list(&case.refs.seed, "spec.accessRestrictions"));
            if !by_seed.iter().any(|one| one == called) {
                let seed = text(case.new, "spec.seedName");
                problems.forbidden(path, &format!("access restriction {called:?} is not supported by seed {seed:?}"));
            }
        }
    }
    Ok(())
}

pub(super) fn w8(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    if is_deleting(case.new) {
        return Ok(());
    }
    for (path, worker, old) in case.workers() {
        machine_type(case, &path, worker, old, problems);
        volume_type(case, &path, worker, old, problems);
    }
    Ok(())
}

fn machine_type(case: &Case<'_>, path: &str, worker: &Value, old: &Value, problems: &mut Problems) {
    let (wanted, architecture) = (text(worker, "machine.type"), text(worker, "machine.architecture"));
    if wanted == text(old, "machine.type") && architecture == text(old, "machine.architecture") {
        return;
    }
    let (profile, zones) = (&case.refs.profile, texts(worker, "zones"));
    let unavailable =
        |name: &str| profile.is_unavailable(text(case.new, "spec.region"), &zones, "unavailableMachineTypes", name);
    let supports = |name: &str| profile.architecture(name) == architecture;
    let fits = |kind: &&Value| {
        let name = text(kind, "name");
        Profile::is_usable(kind) && supports(name) && !unavailable(name)
    };
    let types = list(&profile.spec, "machineTypes");
    let mut supported: Vec<&str> = types.iter().filter(fits).map(|one| text(one, "name")).collect();
    supported.sort_unstable();
    let path = format!("{path}.machine.type");
    let Some(found) = named(types, wanted) else {
        return problems.unsupported(path, wanted, &supported);
    };
    let mut detail = format!("machine type {wanted:?} ");
    let plain = detail.len();
    if !Profile::is_usable(found) {
        detail += "is unusable, ";
    }
    if unavailable(wanted) {
        detail += "is unavailable in at least one zone, ";
    }
    if !supports(wanted) {
        detail += &format!("does not support CPU architecture {architecture:?}, ");
    }
    if detail.len() > plain {
        problems.invalid(path, wanted, &format!("{detail}supported types are [{}]", supported.join(" ")));
    }
}

fn volume_type(case: &Case<'_>, path: &str, worker: &Value, old: &Value, problems: &mut Problems) {
    let wanted = text(worker, "volume.type");
    if wanted.is_empty() || wanted == text(old, "volume.type") {
        return;
    }
    let (profile, zones) = (&case.refs.profile, texts(worker, "zones"));
    let unavailable =
        |name: &str| profile.is_unavailable(text(case.new, "spec.region"), &zones, "unavailableVolumeTypes", name);
    let types = list(&profile.spec, "volumeTypes");
    let fits = |kind: &&Value| Profile::is_usable(kind) && !unavailable(text(kind, "name"));
    let mut supported: Vec<&str> = types.iter().filter(fits).map(|one| text(one, "name")).collect();
    supported.sort_unstable();
    let path = format!("{path}.volume.type");
    let Some(found) = named(types, wanted) else {
        return problems.unsupported(path, wanted, &supported);
    };
    let mut detail = format!("volume type {wanted:?} ");
    let plain = detail.len();
    if !Profile::is_usable(found) {
        detail += "is unusable, ";
    }
    if unavailable(wanted) {
        detail += "is unavailable in at least one zone, ";
    }
    if detail.len() > plain {
        problems.invalid(path, wanted, &format!("{detail}supported types are [{}]", supported.join(" ")));
    }
}

pub(super) fn w7(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    if is_deleting(case.new) {
        return Ok(());
    }
    let profile = &case.refs.profile;
    for (path, worker, _) in case.workers() {
        let kind = text(worker, "volume.type");
        let Some(size) = quantity(at(worker, "volume.size")) else { continue };
        if kind.is_empty() {
            continue;
        }
        let machine = profile.machine_type(text(worker, "machine.type")).map(|machine| at(machine, "storage"));
        let by_machine = machine.filter(|storage| text(storage, "type") == kind).map(|storage| at(storage, "minSize"));
        let by_volume = named(list(&profile.spec, "volumeTypes"), kind).map(|volume| at(volume, "minSize"));
        let least = [by_machine, by_volume]
            .into_iter()
            .flatten()
            .find(|least| quantity(least).is_some_and(|least| size < least));
        if let Some(least) = least {
            let detail = format!("size must be >= {}", least.as_str().unwrap_or_default());
            problems.invalid(format!("{path}.volume.size"), text(worker, "volume.size"), &detail);
        }
    }
    Ok(())
}

/// The image is there, is active, runs on the architecture, with the runtime and the kubelet.
pub(super) fn w9(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    if is_deleting(case.new) {
        return Ok(());
    }
    for (path, worker, old) in case.workers() {
        if same(at(worker, "machine"), at(old, "machine")) && same(at(worker, "cri"), at(old, "cri")) {
            continue;
        }
        image(case, &path, worker, old, problems);
    }
    Ok(())
}

fn image(case: &Case<'_>, path: &str, worker: &Value, old: &Value, problems: &mut Problems) {
    let (called, version) = (text(worker, "machine.image.name"), text(worker, "machine.image.version"));
    let architecture = text(worker, "machine.architecture");
    let runs = |one: &Value| {
        let list = texts(one, "architectures");
        (list.is_empty() && architecture == "amd64") || list.contains(&architecture)
    };
    // Maintenance must be able to go on from an expired version to a newer expired one.
    let not_lower = |one: &Value| {
        let parsed = |text: &str| text.parse::<Version>().ok();
        !old.is_null() && parsed(text(one, "version")) >= parsed(text(old, "machine.image.version"))
    };
    let active = |one: &Value| !is_expired(one, case.ctx.now) || not_lower(one);
    let usable = |one: &Value| runs(one) && active(one);
    let found = case.refs.profile.image_version(called, version).filter(|one| usable(one));
    let Some(found) = found else {
        let image = named(list(&case.refs.profile.spec, "machineImages"), called);
        let versions = image.map_or(&[][..], |image| list(image, "versions")).iter().filter(|one| usable(one));
        let mut known: Vec<String> = versions.map(|one| format!("{called}:{}", text(one, "version"))).collect();
        known.sort();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return problems.unsupported(format!("{path}.machine.image.version"), version, &known);
    };
    runtimes(path, worker, found, problems);
    let own = text(worker, "kubernetes.version");
    let kubelet = if own.is_empty() { case.version() } else { own };
    let constraint = text(found, "kubeletVersionConstraint");
    if let Ok(parsed) = kubelet.parse::<Version>()
        && !constraint.is_empty()
        && !meets(&parsed, constraint)
    {
        let detail = format!(
            "machine image '{called}@{version}' does not support kubelet version '{kubelet}', supported kubelet versions by this machine image version: '{constraint}'"
        );
        // The real server shows its internal form.
        let shown = json!({"Name": called, "ProviderConfig": null, "Version": version});
        problems.invalid(format!("{path}.machine.image"), shown, &detail);
    }
}

fn runtimes(path: &str, worker: &Value, image: &Value, problems: &mut Problems) {
    let offered = list(image, "cri");
    if offered.is_empty() || !has(worker, "cri") {
        return;
    }
    let (called, version) = (text(worker, "machine.image.name"), text(worker, "machine.image.version"));
    let cri = text(worker, "cri.name");
    let Some(found) = named(offered, cri) else {
        let known: Vec<&str> = offered.iter().map(|one| text(one, "name")).collect();
        let detail = format!(
            "machine image '{called}@{version}' does not support CRI '{cri}', supported values: [{}]",
            known.join(" ")
        );
        return problems.invalid(format!("{path}.cri.name"), cri, &detail);
    };
    let known: Vec<&str> = list(found, "containerRuntimes").iter().map(|one| text(one, "type")).collect();
    for (index, runtime) in list(worker, "cri.containerRuntimes").iter().enumerate() {
        let wanted = text(runtime, "type");
        if !known.contains(&wanted) {
            let detail = format!(
                "machine image '{called}@{version}' does not support container runtime '{wanted}', supported values: [{}]",
                known.join(" ")
            );
            problems.invalid(format!("{path}.cri.containerRuntimes[{index}].type"), wanted, &detail);
        }
    }
}

pub(super) fn w10(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let region = text(case.new, "spec.region");
    let known = case.refs.profile.zones(region);
    for (path, worker, old) in case.workers() {
        if region == text(case.old, "spec.region") && same(at(worker, "zones"), at(old, "zones")) {
            continue;
        }
        let zones = texts(worker, "zones");
        for (index, zone) in zones.iter().enumerate() {
            let path = format!("{path}.zones[{index}]");
            if !known.contains(zone) {
                if known.is_empty() {
                    let detail = "this region does not support availability zones, please do not configure them";
                    problems.invalid(path.as_str(), region, detail);
                } else {
                    problems.unsupported(path.as_str(), zone, &known);
                }
            }
            if zones[..index].contains(zone) {
                problems.duplicate(path, *zone);
            }
        }
    }
    Ok(())
}

pub(super) fn w11(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let most = number(&case.refs.profile.spec, "limits.maxNodesTotal");
    if most == 0 || is_deleting(case.new) || !case.spec_changed() {
        return Ok(());
    }
    let mut total = 0;
    for (_, worker, _) in case.workers() {
        total += number(worker, "minimum");
    }
    if total > most {
        let detail = format!(
            "the total minimum node count of all worker pools must not exceed the limit of {most} configured in the CloudProfile"
        );
        problems.forbidden("spec.provider.workers", &detail);
    }
    Ok(())
}

pub(super) fn w15(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    if is_deleting(case.new) {
        return Ok(());
    }
    for (path, worker, _) in case.workers().filter(|(_, worker, _)| has(worker, "kubernetes")) {
        let own = at(worker, "kubernetes.kubelet");
        let kubelet = if own.is_null() { at(case.new, "spec.kubernetes.kubelet") } else { own };
        let Some(machine) = case.refs.profile.machine_type(text(worker, "machine.type")) else { continue };
        for (field, shown) in [("cpu", "CPU"), ("memory", "memory")] {
            let reserved = quantity(at(kubelet, &format!("kubeReserved.{field}"))).unwrap_or_default();
            let capacity = at(machine, field);
            if quantity(capacity).is_some_and(|capacity| reserved >= capacity) {
                let given = at(kubelet, &format!("kubeReserved.{field}"));
                let value = format!("kubeReserved {shown}: {}", given.as_str().unwrap_or_default());
                let detail = format!(
                    "total reserved {shown} (kubeReserved) cannot be more than the Node's {shown} capacity '{}'",
                    capacity.as_str().unwrap_or_default()
                );
                problems.invalid(format!("{path}.kubernetes.kubelet"), value, &detail);
            }
        }
    }
    Ok(())
}
