//! Bindings to credentials: what they point to never changes, and only who may read it may point to
//! it. One in use carries the finalizer `gardener` and stays terminating; deleting is not refused.

use kube_sandbox::{
    kind::{Access, Ctx, Strategy},
    status::Status,
};
use serde_json::Value;

use super::SECURITY;
use crate::garden::{
    names,
    problems::{CORE, Problems},
    shoot::FINALIZER,
    value::{at, list, name, namespace, text, texts},
};

/// The strategy of both kinds of bindings.
pub(super) struct Bindings {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    reference: &'static str,
}

pub(super) const CREDENTIALS: Bindings = Bindings {
    group: SECURITY,
    kind: "CredentialsBinding",
    plural: "credentialsbindings",
    reference: "credentialsRef",
};
pub(super) const SECRET: Bindings =
    Bindings { group: CORE, kind: "SecretBinding", plural: "secretbindings", reference: "secretRef" };

/// The resource behind a reference.
fn resource(reference: &Value) -> Option<(&'static str, &'static str)> {
    match (text(reference, "apiVersion"), text(reference, "kind")) {
        ("v1", "Secret") | ("", "") => Some(("", "secrets")),
        ("core.gardener.cloud/v1beta1", "InternalSecret") => Some((CORE, "internalsecrets")),
        ("security.gardener.cloud/v1alpha1", "WorkloadIdentity") => Some((SECURITY, "workloadidentities")),
        _ => None,
    }
}

impl Bindings {
    fn check(&self, binding: &Value, problems: &mut Problems) {
        let provider = text(binding, "provider.type");
        if at(binding, "provider").is_null() {
            problems.required("provider", "must specify a provider");
        } else if provider.is_empty() {
            problems.required("provider.type", "must specify a provider type");
        } else if provider.contains(',') && self.kind == "CredentialsBinding" {
            names::check_dns_label("provider.type", provider, problems);
        }
        let reference = at(binding, self.reference);
        if text(reference, "name").is_empty() {
            problems.required(format!("{}.name", self.reference), "must provide a name");
        }
        if text(reference, "namespace").is_empty() {
            problems.required(format!("{}.namespace", self.reference), "must provide a namespace");
        }
        if resource(reference).is_none() {
            let (group, version) =
                text(reference, "apiVersion").split_once('/').unwrap_or(("", text(reference, "apiVersion")));
            let shown = format!("{group}/{version}, Kind={}", text(reference, "kind"));
            let known = [
                "/v1, Kind=Secret",
                "security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity",
                "core.gardener.cloud/v1beta1, Kind=InternalSecret",
            ];
            problems.unsupported(self.reference, &shown, &known);
        }
    }

    /// Nobody takes the finalizer off while a Shoot uses it.
    fn stays_while_used(&self, new: &Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let held = |binding: &Value| texts(binding, "metadata.finalizers").contains(&FINALIZER);
        if self.kind != "CredentialsBinding" || !held(old) || held(new) {
            return Ok(());
        }
        let (place, called) = (namespace(old), name(old));
        let uses = |shoot: &Value| text(shoot, "spec.credentialsBindingName") == called;
        if !ctx.view.list(CORE, "shoots", place).iter().any(uses) {
            return Ok(());
        }
        let why = format!(
            "finalizer must not be removed - credentials binding {place}/{called} is still in use by at least one shoot"
        );
        Err(Status::forbidden(self.group, self.plural, called, &why))
    }

    fn may_read(&self, binding: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let refuse = |why: String| Err(Status::forbidden(self.group, self.plural, name(binding), &why));
        let reference = at(binding, self.reference);
        let Some((group, plural)) = resource(reference) else { return Ok(()) };
        let (place, called) = (text(reference, "namespace"), text(reference, "name"));
        let access =
            Access { verb: "get", group, resource: plural, namespace: place, name: called, ..Access::default() };
        if !ctx.may(&access) {
            let what = plural.trim_end_matches('s');
            return refuse(format!("{} cannot reference a {what} you are not allowed to read", self.kind));
        }
        if ctx.view.get(group, plural, place, called).is_none() {
            return refuse(Status::not_found(group, plural, called).message);
        }
        for quota in list(binding, "quotas") {
            let (place, called) = (text(quota, "namespace"), text(quota, "name"));
            let access = Access {
                verb: "get",
                group: CORE,
                resource: "quotas",
                namespace: place,
                name: called,
                ..Access::default()
            };
            if !ctx.may(&access) {
                return refuse(format!("{} cannot reference a quota you are not allowed to read", self.kind));
            }
            if ctx.view.get(CORE, "quotas", place, called).is_none() {
                return refuse(Status::not_found(CORE, "quota", called).message);
            }
        }
        Ok(())
    }
}

impl Strategy for Bindings {
    fn create(&self, binding: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let mut problems = Problems::default();
        self.check(binding, &mut problems);
        problems.into_invalid(self.group, self.kind, name(binding))?;
        self.may_read(binding, ctx)
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        self.stays_while_used(new, old, ctx)?;
        let mut problems = Problems::default();
        for path in [self.reference, "quotas"] {
            problems.immutable(path, at(new, path), at(old, path));
        }
        if !at(old, "provider").is_null() {
            problems.immutable("provider", at(new, "provider"), at(old, "provider"));
        }
        self.check(new, &mut problems);
        problems.into_invalid(self.group, self.kind, name(new))
    }
}
