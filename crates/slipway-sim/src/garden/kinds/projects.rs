//! Projects: who owns a namespace, and a deletion that must be confirmed.

use kube_sandbox::{
    kind::{Ctx, Strategy},
    status::Status,
};
use serde_json::{Value, json};

use crate::garden::{
    names,
    problems::{CORE, Problems},
    shoot::CONFIRM_DELETION,
    value::{annotation, at, default, has, list, name, parses_as_true, place, set, text},
};

/// The strategy of Projects.
pub(super) struct Projects;

fn check(project: &Value, problems: &mut Problems) {
    let called = name(project);
    names::check_dns_label("metadata.name", called, problems);
    if called.len() > 10 {
        problems.too_long("metadata.name", 10);
    }
    if called.contains("--") {
        problems.invalid("metadata.name", called, "name may not contain two consecutive hyphens");
    }
    let place = text(project, "spec.namespace");
    if has(project, "spec.namespace") && place != "garden" && !place.starts_with("garden-") {
        problems.invalid("spec.namespace", place, "must start with garden-");
    }
}

impl Strategy for Projects {
    fn create(&self, project: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let creator = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ctx.user.name});
        set(project, "spec.createdBy", creator.clone());
        default(project, "spec.owner", creator);
        let owner = at(project, "spec.owner").clone();
        let is_owner = |member: &Value| {
            text(member, "name") == text(&owner, "name") && text(member, "kind") == text(&owner, "kind")
        };
        if !list(project, "spec.members").iter().any(is_owner) {
            let mut member = owner.clone();
            member["role"] = json!("admin");
            member["roles"] = json!(["owner"]);
            let members = place(project, "spec.members");
            match members.as_array_mut() {
                Some(list) => list.push(member),
                None => *members = json!([member]),
            }
        }
        let mut problems = Problems::default();
        check(project, &mut problems);
        problems.into_invalid(CORE, "Project", name(project))?;
        let place = text(project, "spec.namespace");
        let taken =
            ctx.view.list(CORE, "projects", "").iter().any(|other| {
                !place.is_empty() && text(other, "spec.namespace") == place && name(other) != name(project)
            });
        if taken {
            let why = format!("namespace {place:?} is already used by another project");
            return Err(Status::forbidden(CORE, "projects", name(project), &why));
        }
        Ok(())
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if ctx.subresource == "status" {
            return Ok(());
        }
        let mut problems = Problems::default();
        check(new, &mut problems);
        problems.immutable("spec.createdBy", at(new, "spec.createdBy"), at(old, "spec.createdBy"));
        if has(old, "spec.namespace") {
            problems.immutable("spec.namespace", at(new, "spec.namespace"), at(old, "spec.namespace"));
        }
        if has(old, "spec.owner") && !has(new, "spec.owner") {
            problems.invalid("spec.owner", Value::Null, "owner cannot be reset");
        }
        problems.into_invalid(CORE, "Project", name(new))
    }

    fn may_delete(&self, project: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let refuse = |why: String| Err(Status::forbidden(CORE, "projects", name(project), &why));
        if !parses_as_true(annotation(project, CONFIRM_DELETION)) {
            return refuse(format!("must have a {CONFIRM_DELETION:?} annotation to delete"));
        }
        if !ctx.view.list(CORE, "shoots", text(project, "spec.namespace")).is_empty() {
            let called = name(project);
            return refuse(format!("project {called:?} still contains shoots"));
        }
        Ok(())
    }
}
