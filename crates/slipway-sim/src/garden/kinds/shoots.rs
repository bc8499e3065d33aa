//! What is special about Shoots: rules, defaults, generation, and three subresources.

use std::sync::atomic::{AtomicU64, Ordering};

use kube_sandbox::{
    kind::{Ctx, Strategy},
    status::Status,
};
use serde_json::{Value, json};

use super::Shared;
use crate::garden::{
    admit,
    chance::Chance,
    clock::Clock,
    defaults,
    engine::faults::{self, Faults},
    generation,
    kubeconfig::{Issuer, Role},
    problems::CORE,
    rules::{self, Case, Refs, project},
    scheduler::Usage,
    shoot::{CONFIRM_DELETION, CONFIRMED_BY},
    value::{annotation, at, has, is_deleting, list, name, namespace, parses_as_true, remove, set, text, texts},
    version,
};

/// The strategy of Shoots.
pub(super) struct Shoots {
    clock: Clock,
    issuer: Issuer,
    usage: Usage,
    chance: Chance,
    faults: Faults,
    made: AtomicU64,
}

impl Shoots {
    pub(super) fn new(shared: Shared) -> Self {
        let Shared { clock, issuer, usage, chance, faults } = shared;
        Self { clock, issuer, usage, chance, faults, made: AtomicU64::new(0) }
    }

    /// The same, at the garden's time: expiry of versions is a matter of simulated time.
    fn at_our_time<'a>(&self, ctx: &Ctx<'a>) -> Ctx<'a> {
        Ctx { now: self.clock.now(), ..*ctx }
    }

    /// A uid that the seed decides, so that a history can be repeated; the time keeps those apart that come after a
    /// restart.
    fn uid(&self, shoot: &Value) -> String {
        let whose = format!("{}/{} {}", namespace(shoot), name(shoot), self.clock.now());
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let half = |what| self.chance.bits(&whose, what, made).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half("uid"));
        bytes[8..].copy_from_slice(&half("uid, the rest"));
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    fn admit(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        defaults::fill(new, self.chance);
        let refs = Refs::load(new, old, &self.usage, ctx)?;
        admit::mutate(new, old, &refs, ctx)?;
        sync_profile_name(new);
        match ctx.subresource {
            "binding" => generation::on_binding(new, old),
            _ if old.is_null() => set(new, "metadata.generation", 1),
            _ => generation::on_write(new, old),
        }
        let case = Case { new, old, refs: &refs, ctx };
        rules::statics(&case)?;
        rules::admission(&case)
    }
}

impl Strategy for Shoots {
    fn create(&self, object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        // The real server writes these even when they say nothing.
        let status = json!({
            "gardener": {"id": "", "name": "", "version": ""}, "hibernated": false, "technicalID": "", "uid": "",
        });
        set(object, "status", status);
        set(object, "metadata.uid", self.uid(object));
        self.admit(object, &Value::Null, &self.at_our_time(ctx))
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        match ctx.subresource {
            "status" => {
                set(new, "spec", old["spec"].clone());
                set(new, "metadata.generation", at(old, "metadata.generation").clone());
                rules::status_update(new, old)
            }
            "binding" => {
                if text(new, "spec.seedName") == text(old, "spec.seedName") {
                    let message = "update of binding rejected, shoot is already assigned to the same seed";
                    return Err(Status::new(500, "", message));
                }
                keep_status(new, old);
                if text(new, "status.lastOperation.state") == "Pending" && !has(old, "spec.seedName") {
                    remove(new, "status.lastOperation");
                }
                self.admit(new, old, &self.at_our_time(ctx))
            }
            _ => {
                keep_status(new, old);
                self.admit(new, old, &self.at_our_time(ctx))
            }
        }
    }

    fn may_delete(&self, shoot: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let refuse = |why: String| Err(Status::forbidden(CORE, "shoots", name(shoot), &why));
        if !parses_as_true(annotation(shoot, CONFIRM_DELETION)) {
            return refuse(format!("must have a {CONFIRM_DELETION:?} annotation to delete"));
        }
        let last = at(shoot, "status.lastOperation");
        let (kind, state) = (text(last, "type"), text(last, "state"));
        if kind == "Migrate" || (kind == "Restore" && state != "Succeeded") {
            return refuse(format!("cannot mark shoot for deletion during {kind} operation that is in state {state}"));
        }
        if namespace(shoot) == "garden" {
            let managed = ctx.view.list("seedmanagement.gardener.cloud", "managedseeds", "garden");
            if let Some(seed) = managed.iter().find(|seed| text(seed, "spec.shoot.name") == name(shoot)) {
                let (called, seed) = (name(shoot), name(seed));
                return refuse(format!(
                    "cannot delete shoot garden/{called} since it is still referenced by a ManagedSeed {seed}"
                ));
            }
        }
        if !is_deleting(shoot) && needs_second_person(shoot, ctx) {
            return refuse(format!(
                "you are not allowed to both confirm the deletion and send the actual DELETE request (user who set the confirmation annotation: {:?})",
                annotation(shoot, CONFIRMED_BY)
            ));
        }
        Ok(())
    }

    /// The real server looks at all Shoots of the namespace, whatever the selector says, and tells the first
    /// refusal as an error of its own.
    fn may_delete_all(&self, ctx: &Ctx<'_>) -> Result<(), Status> {
        let shoots = ctx.view.list(CORE, "shoots", ctx.namespace);
        let refused = shoots.iter().find_map(|shoot| self.may_delete(shoot, ctx).err());
        refused.map_or(Ok(()), |refusal| Err(Status::internal(refusal.message)))
    }

    fn call(&self, subresource: &str, shoot: &Value, body: Value, ctx: &Ctx<'_>) -> Result<Value, Status> {
        let role = match subresource {
            "adminkubeconfig" => Role::Admin,
            "viewerkubeconfig" => Role::Viewer,
            _ => return Err(Status::method_not_allowed()),
        };
        let wrong = faults::kubeconfig(&self.faults.on(shoot, None));
        self.issuer.answer(role, shoot, body, wrong, &self.at_our_time(ctx))
    }
}

fn keep_status(new: &mut Value, old: &Value) {
    match old.get("status") {
        Some(status) => set(new, "status", status.clone()),
        None => {
            remove(new, "status");
        }
    }
}

/// Below 1.34 both spellings of the profile are kept in step; from there on the old one is gone.
fn sync_profile_name(shoot: &mut Value) {
    if version::at_least(text(shoot, "spec.kubernetes.version"), 1, 34) {
        let (old, new) = (text(shoot, "spec.cloudProfileName"), text(shoot, "spec.cloudProfile.name"));
        if old == new {
            remove(shoot, "spec.cloudProfileName");
        }
        return;
    }
    let (old, kind) = (text(shoot, "spec.cloudProfileName").to_owned(), text(shoot, "spec.cloudProfile.kind"));
    if !has(shoot, "spec.cloudProfile") && !old.is_empty() {
        set(shoot, "spec.cloudProfile.kind", "CloudProfile");
        set(shoot, "spec.cloudProfile.name", old);
    } else if kind == "CloudProfile" {
        let called = at(shoot, "spec.cloudProfile.name").clone();
        set(shoot, "spec.cloudProfileName", called);
    }
}

/// Whether the project wants two people for a deletion, and this is the first of them again.
fn needs_second_person(shoot: &Value, ctx: &Ctx<'_>) -> bool {
    let Some(project) = project(namespace(shoot), ctx.view) else { return false };
    let user = ctx.user.name.as_str();
    let wanted = list(&project, "spec.dualApprovalForDeletion").iter().any(|rule| {
        let excepted =
            user.starts_with("system:serviceaccount:") && at(rule, "includeServiceAccounts") == &Value::Bool(false);
        text(rule, "resource") == "shoots" && !excepted && selected(at(rule, "selector"), shoot)
    });
    wanted && annotation(shoot, CONFIRMED_BY) == user
}

fn selected(selector: &Value, shoot: &Value) -> bool {
    let labels = at(shoot, "metadata.labels");
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = crate::garden::value::entries(selector, "matchLabels").all(|(key, value)| label(key) == value.as_str());
    equal
        && list(selector, "matchExpressions").iter().all(|one| {
            let (found, values) = (label(text(one, "key")), texts(one, "values"));
            match text(one, "operator") {
                "In" => found.is_some_and(|found| values.contains(&found)),
                "NotIn" => found.is_none_or(|found| !values.contains(&found)),
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}
