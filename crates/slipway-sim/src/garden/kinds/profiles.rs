//! Cloud profiles: what they must hold, and what is filled in.

use kube_sandbox::{
    kind::{Ctx, Strategy},
    status::Status,
};
use serde_json::{Value, json};

use crate::garden::{
    problems::{CORE, Problems},
    value::{at, default, has, list, name, place, text},
    version::Version,
};

/// The strategy of cluster-wide profiles.
pub(super) struct CloudProfiles;

/// The strategy of profiles that refine one in a project.
pub(super) struct NamespacedCloudProfiles;

fn fill(profile: &mut Value) {
    for (field, missing) in [("machineTypes", "usable"), ("volumeTypes", "usable")] {
        for one in entries(profile, &format!("spec.{field}")) {
            default(one, missing, true);
            if field == "machineTypes" {
                default(one, "architecture", "amd64");
            }
        }
    }
    for image in entries(profile, "spec.machineImages") {
        default(image, "updateStrategy", "major");
        for version in entries(image, "versions") {
            default(version, "architectures", json!(["amd64"]));
            default(version, "cri", json!([{"name": "containerd"}]));
        }
    }
}

fn entries<'a>(object: &'a mut Value, path: &str) -> impl Iterator<Item = &'a mut Value> {
    let found = if has(object, path) { place(object, path).as_array_mut() } else { None };
    found.into_iter().flatten()
}

fn check(profile: &Value, problems: &mut Problems) {
    if text(profile, "spec.type").is_empty() {
        problems.required("spec.type", "must provide a provider type");
    }
    let versions = list(profile, "spec.kubernetes.versions");
    if versions.is_empty() {
        problems.required("spec.kubernetes.versions", "must provide at least one Kubernetes version");
    }
    let mut seen = Vec::new();
    let mut newest: Option<(Version, usize)> = None;
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.kubernetes.versions[{index}]");
        let given = text(version, "version");
        let parts = given.split('.').filter(|part| part.parse::<u64>().is_ok()).count();
        if parts != 3 || given.split('.').count() != 3 {
            problems.invalid(
                path.as_str(),
                version.clone(),
                r"all Kubernetes versions must match the regex ^([0-9]+\.){2}[0-9]+$",
            );
        } else if seen.contains(&given) {
            problems.duplicate(format!("{path}.version"), given);
        }
        seen.push(given);
        let class = text(version, "classification");
        let known = ["deprecated", "expired", "preview", "supported"];
        if !class.is_empty() && !known.contains(&class) {
            problems.unsupported(format!("{path}.classification"), class, &known);
        }
        if let Ok(parsed) = given.parse::<Version>()
            && newest.as_ref().is_none_or(|(best, _)| parsed > *best)
        {
            newest = Some((parsed, index));
        }
    }
    if let Some((_, index)) = newest
        && has(&versions[index], "expirationDate")
    {
        let path = format!("spec.kubernetes.versions[{index}].expirationDate");
        problems.invalid(
            path,
            at(&versions[index], "expirationDate").clone(),
            "expiration date of latest kubernetes version must not be set",
        );
    }
    for (field, detail) in [
        ("machineImages", "must provide at least one machine image"),
        ("machineTypes", "must provide at least one machine type"),
        ("regions", "must provide at least one region"),
    ] {
        if list(profile, &format!("spec.{field}")).is_empty() {
            problems.required(format!("spec.{field}"), detail);
        }
    }
    for field in ["machineImages", "machineTypes", "volumeTypes", "regions"] {
        let mut seen = Vec::new();
        for (index, one) in list(profile, &format!("spec.{field}")).iter().enumerate() {
            let (path, called) = (format!("spec.{field}[{index}].name"), text(one, "name"));
            if called.is_empty() {
                problems.required(path, "must provide a name");
            } else if seen.contains(&called) {
                problems.duplicate(path, called);
            }
            seen.push(called);
        }
    }
}

/// Versions that a Shoot still uses stay.
fn still_used(new: &Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
    let versions = |profile: &Value| -> Vec<String> {
        list(profile, "spec.kubernetes.versions").iter().map(|one| text(one, "version").to_owned()).collect()
    };
    let kept = versions(new);
    let removed: Vec<String> = versions(old).into_iter().filter(|version| !kept.contains(version)).collect();
    if removed.is_empty() {
        return Ok(());
    }
    for shoot in ctx.view.list(CORE, "shoots", "") {
        let (uses, version) = (crate::garden::shoot::profile_name(&shoot), text(&shoot, "spec.kubernetes.version"));
        if uses == name(new) && removed.iter().any(|one| one == version) {
            let why = format!(
                "unable to delete Kubernetes version {version:?} from CloudProfile {:?} - version is still in use by shoot '{}/{}'",
                name(new),
                text(&shoot, "metadata.namespace"),
                name(&shoot)
            );
            return Err(Status::forbidden(CORE, "cloudprofiles", name(new), &why));
        }
    }
    Ok(())
}

impl Strategy for CloudProfiles {
    fn create(&self, profile: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        fill(profile);
        let mut problems = Problems::default();
        check(profile, &mut problems);
        problems.into_invalid(CORE, "CloudProfile", name(profile))
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        fill(new);
        let mut problems = Problems::default();
        problems.immutable("spec.type", at(new, "spec.type"), at(old, "spec.type"));
        check(new, &mut problems);
        problems.into_invalid(CORE, "CloudProfile", name(new))?;
        still_used(new, old, ctx)
    }
}

fn parent(profile: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
    let (kind, called) = (text(profile, "spec.parent.kind"), text(profile, "spec.parent.name"));
    let mut problems = Problems::default();
    if kind.is_empty() {
        problems.required("spec.parent.kind", "must provide a parent kind");
    } else if kind != "CloudProfile" {
        problems.unsupported("spec.parent.kind", kind, &["CloudProfile"]);
    }
    if called.is_empty() {
        problems.required("spec.parent.name", "must provide a parent name");
    }
    problems.into_invalid(CORE, "NamespacedCloudProfile", name(profile))?;
    if ctx.view.get(CORE, "cloudprofiles", "", called).is_none() {
        let why =
            format!("parent CloudProfile could not be found: cloudprofile.core.gardener.cloud {called:?} not found");
        return Err(Status::forbidden(CORE, "namespacedcloudprofiles", name(profile), &why));
    }
    Ok(())
}

impl Strategy for NamespacedCloudProfiles {
    fn create(&self, profile: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        crate::garden::value::remove(profile, "status");
        parent(profile, ctx)
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if ctx.subresource == "status" {
            return Ok(());
        }
        let mut problems = Problems::default();
        problems.immutable("spec.parent", at(new, "spec.parent"), at(old, "spec.parent"));
        problems.into_invalid(CORE, "NamespacedCloudProfile", name(new))?;
        parent(new, ctx)
    }
}
