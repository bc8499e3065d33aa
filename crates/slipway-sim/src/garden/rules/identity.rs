//! N1, N2, N3, N10: what a Shoot is called and where it lives.

use kube_sandbox::status::{Cause, Status};

use super::Case;
use crate::garden::{
    names,
    problems::{CORE, Problems},
    value::{is_deleting, list, name, text},
};

pub(super) fn n1(case: &Case<'_>, problems: &mut Problems) {
    let called = name(case.new);
    if case.is_create() && !called.is_empty() {
        names::check_dns_label("metadata.name", called, problems);
    }
    if called.contains("--") {
        problems.invalid("metadata.name", called, "name may not contain two consecutive hyphens");
    }
}

/// Infrastructure resources are named after both, and some clouds take 30 characters at most.
pub(super) fn n2(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    if !case.is_create() {
        return Ok(());
    }
    let (called, project) = (name(case.new), name(&case.refs.project));
    let generated = text(case.new, "metadata.generateName");
    let detail = if called.is_empty() && project.len() + generated.len() > 16 {
        format!(
            "the length of the shoot generateName and the project name must not exceed 16 characters (project: {project}; shoot with generateName: {generated})"
        )
    } else if project.len() + called.len() > 21 {
        format!(
            "the length of the shoot name and the project name must not exceed 21 characters (project: {project}; shoot: {called})"
        )
    } else {
        return Ok(());
    };
    Err(Status::invalid(CORE, "Shoot", called, vec![Cause::invalid("name", &called.into(), &detail)]))
}

/// A namespace without a project is refused earlier, when the references are looked up.
pub(super) fn n3(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    if case.is_create() && is_deleting(&case.refs.project) {
        let (called, project) = (name(case.new), name(&case.refs.project));
        return Err(case.refuse(format!(
            "cannot create shoot '{called}' in project '{project}' that is already marked for deletion"
        )));
    }
    Ok(())
}

pub(super) fn n10(case: &Case<'_>, problems: &mut Problems) {
    if !case.is_create() {
        return;
    }
    for (index, finalizer) in list(case.new, "metadata.finalizers").iter().enumerate() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        if matches!(finalizer, "gardener" | "gardener.cloud/reference-protection") {
            let detail = format!("finalizer {finalizer:?} cannot be added on creation");
            problems.forbidden(format!("metadata.finalizers[{index}]"), &detail);
        }
    }
}
