//! U14, U15, U20, U21: the Seed, migrations, and the finalizer.

use kube_sandbox::{kind::Access, status::Status};

use super::Case;
use crate::garden::{
    problems::{CORE, Problems},
    scheduler,
    shoot::{FINALIZER, is_deleted},
    value::{at, has, is_deleting, list, name, same, text, texts},
};

const SEED: &str = "spec.seedName";

pub(super) fn u14(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let (new, old) = (text(case.new, SEED), text(case.old, SEED));
    if case.is_create() && !new.is_empty() {
        let access = Access {
            verb: "update",
            group: CORE,
            resource: "shoots",
            subresource: "binding",
            namespace: case.ctx.namespace,
            name: name(case.new),
            path: "",
        };
        if !case.ctx.may(&access) {
            let user = &case.ctx.user.name;
            return Err(case.refuse(format!("user {user:?} is not allowed to set .spec.seedName for \"shoots\"")));
        }
    }
    if !case.is_create() && case.ctx.subresource == "binding" {
        if !old.is_empty() && new.is_empty() {
            return Err(case.refuse("spec.seedName cannot be set to nil"));
        }
    } else if !case.is_create() && new != old {
        let shown = |seed: &str| if seed.is_empty() { "nil".to_owned() } else { seed.to_owned() };
        return Err(case.refuse(format!(
            "spec.seedName '{}' cannot be changed to '{}' by patching the shoot, please use the shoots/binding subresource",
            shown(old),
            shown(new)
        )));
    }
    if new == old || case.refs.seed.is_null() {
        return Ok(());
    }
    may_be_scheduled(case)
}

fn may_be_scheduled(case: &Case<'_>) -> Result<(), Status> {
    let (seed, called, on) = (&case.refs.seed, name(case.new), name(&case.refs.seed));
    if is_deleting(seed) {
        return Err(
            case.refuse(format!("cannot schedule shoot '{called}' on seed '{on}' that is already marked for deletion"))
        );
    }
    if !scheduler::tolerates(case.new, seed) {
        return Err(case.refuse("forbidden to use a seed whose taints are not tolerated by the shoot"));
    }
    if let Some(most) = scheduler::capacity(seed)
        && case.refs.seed_usage >= most
    {
        return Err(case.refuse(format!(
            "cannot schedule shoot '{called}' on seed '{on}' that already has the maximum number of shoots scheduled on it ({most})"
        )));
    }
    let zones = list(seed, "spec.provider.zones").len();
    if text(case.new, "spec.controlPlane.highAvailability.failureTolerance.type") == "zone" && zones < 3 {
        return Err(case.refuse(format!(
            "cannot schedule shoot '{called}' with failure tolerance of zone on seed '{on}' with only {zones} zones, at least 3 zones are required"
        )));
    }
    Ok(())
}

pub(super) fn u15(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let path = "spec.seedSelector";
    let scheduled = !case.is_create() && has(case.old, SEED);
    if !scheduled || same(at(case.new, path), at(case.old, path)) {
        return Ok(());
    }
    if has(case.old, path) && !has(case.new, path) {
        return Err(case.refuse("spec.seedSelector: Forbidden: field cannot be unset once the shoot is scheduled"));
    }
    if !scheduler::selects(at(case.new, path), &case.refs.seed) {
        let mut shown = at(case.new, path).clone();
        let types = shown.as_object_mut().and_then(|shown| shown.remove("providerTypes")).unwrap_or_default();
        shown["ProviderTypes"] = types;
        let on = name(&case.refs.seed);
        let detail = format!("cannot change seedSelector to not match the labels of the already selected seed {on:?}");
        problems.invalid(path, shown, &detail);
    }
    Ok(())
}

pub(super) fn u21(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let last = at(case.new, "status.lastOperation");
    let (kind, state) = (text(last, "type"), text(last, "state"));
    let migrates = kind == "Migrate" || (kind == "Restore" && state != "Succeeded");
    if !case.is_create() && migrates && case.spec_changed() {
        return Err(case.refuse(format!("cannot change shoot spec during {kind} operation that is in state {state}")));
    }
    Ok(())
}

pub(super) fn finalizer(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let held = |shoot| texts(shoot, "metadata.finalizers").contains(&FINALIZER);
    let processed = !text(case.new, "status.technicalID").is_empty() && has(case.new, "status.lastOperation");
    if processed && held(case.old) && !held(case.new) && !is_deleted(case.new) {
        return Err(case.refuse(format!(
            "finalizer {FINALIZER:?} cannot be removed because shoot deletion has not completed successfully yet"
        )));
    }
    Ok(())
}
