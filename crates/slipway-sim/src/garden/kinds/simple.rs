//! Kinds whose rules fit a table: required fields, fields that stay, and defaults.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube_sandbox::{
    kind::{Ctx, Strategy},
    status::Status,
};
use serde_json::{Value, json};

use crate::garden::{
    problems::{CORE, Problems},
    shoot::CONFIRM_DELETION,
    value::{annotation, at, default, list, name, parses_as_true, text},
};

/// Path and value of a default.
type Default = (&'static str, fn() -> Value);

/// A strategy that is data.
pub(super) struct Simple {
    group: &'static str,
    kind: &'static str,
    /// Path and the sentence when it is missing.
    required: &'static [(&'static str, &'static str)],
    immutable: &'static [&'static str],
    defaults: &'static [Default],
    /// Whether a refused change is told with the value that stays.
    shows_old: bool,
}

pub(super) const SEED: Simple = Simple {
    group: CORE,
    kind: "Seed",
    required: &[
        ("spec.provider.type", "must provide a provider type"),
        ("spec.provider.region", "must provide a provider region"),
        ("spec.networks.pods", "must provide a pods network"),
        ("spec.networks.services", "must provide a services network"),
    ],
    immutable: &["spec.networks.pods", "spec.networks.services", "spec.networks.nodes", "spec.provider.type"],
    defaults: &[("spec.settings.scheduling.visible", || json!(true)), ("spec.networks.ipFamilies", || json!(["IPv4"]))],
    shows_old: false,
};

pub(super) const QUOTA: Simple = Simple {
    group: CORE,
    kind: "Quota",
    required: &[("spec.scope", "must provide a scope"), ("spec.metrics", "must provide metrics")],
    immutable: &["spec.scope"],
    defaults: &[],
    shows_old: false,
};

pub(super) const EXPOSURE_CLASS: Simple = Simple {
    group: CORE,
    kind: "ExposureClass",
    required: &[("handler", "must provide a handler")],
    immutable: &["handler"],
    defaults: &[],
    shows_old: true,
};

pub(super) const BASTION: Simple = Simple {
    group: "operations.gardener.cloud",
    kind: "Bastion",
    required: &[
        ("spec.shootRef.name", "shoot reference must not be empty"),
        ("spec.sshPublicKey", "sshPublicKey must not be empty"),
        ("spec.ingress", "ingress must not be empty"),
    ],
    immutable: &["spec.shootRef", "spec.sshPublicKey", "spec.providerType", "spec.seedName"],
    defaults: &[],
    shows_old: false,
};

impl Simple {
    fn check(&self, object: &mut Value, old: &Value) -> Result<(), Status> {
        for (path, value) in self.defaults {
            default(object, path, value());
        }
        let mut problems = Problems::default();
        for (path, detail) in self.required {
            let found = at(object, path);
            if found.is_null() || found.as_str() == Some("") {
                problems.required(*path, detail);
            }
        }
        for path in self.immutable {
            if !old.is_null() && !at(old, path).is_null() {
                let (new, old) = (at(object, path), at(old, path));
                let (shown, other) = if self.shows_old { (old, new) } else { (new, old) };
                problems.immutable(*path, shown, other);
            }
        }
        problems.into_invalid(self.group, self.kind, name(object))
    }
}

impl Strategy for Simple {
    fn create(&self, object: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        self.check(object, &Value::Null)
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if ctx.subresource == "status" { Ok(()) } else { self.check(new, old) }
    }

    fn may_delete(&self, object: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let used = |path: &str| ctx.view.list(CORE, "shoots", "").iter().any(|shoot| text(shoot, path) == name(object));
        let (plural, path) = match self.kind {
            "Seed" => ("seeds", "spec.seedName"),
            "ExposureClass" => ("exposureclasses", "spec.exposureClassName"),
            _ => return Ok(()),
        };
        if used(path) {
            let why = format!(
                "cannot delete {} {:?} since it is still used by shoot(s)",
                self.kind.to_lowercase(),
                name(object)
            );
            return Err(Status::forbidden(self.group, plural, name(object), &why));
        }
        Ok(())
    }
}

/// Registrations: no two of them may answer for the same kind and type.
pub(super) struct Registrations;

fn doubles(registration: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
    let others = ctx.view.list(CORE, "controllerregistrations", "");
    for (index, resource) in list(registration, "spec.resources").iter().enumerate() {
        let (kind, of_type) = (text(resource, "kind"), text(resource, "type"));
        let same = |one: &Value| text(one, "kind") == kind && text(one, "type") == of_type;
        let others = others.iter().filter(|other| name(other) != name(registration));
        let secondary = at(resource, "primary") == &Value::Bool(false);
        if !secondary && others.clone().any(|other| list(other, "spec.resources").iter().any(same)) {
            let mut problems = Problems::default();
            let detail = format!(
                "another ControllerRegistration resource already exists that controls resource {kind}/{of_type}"
            );
            problems.forbidden(format!("spec.resources[{index}]"), &detail);
            return problems.into_forbidden(CORE, "controllerregistrations", name(registration));
        }
    }
    Ok(())
}

impl Strategy for Registrations {
    fn create(&self, object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        doubles(object, ctx)
    }

    fn update(&self, new: &mut Value, _: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        doubles(new, ctx)
    }
}

/// ShootStates: what is in them cannot be made again, so their deletion must be confirmed.
pub(super) struct States;

impl Strategy for States {
    fn may_delete(&self, object: &Value, _: &Ctx<'_>) -> Result<(), Status> {
        if parses_as_true(annotation(object, CONFIRM_DELETION)) {
            return Ok(());
        }
        let why = format!("must have a {CONFIRM_DELETION:?} annotation to delete");
        Err(Status::forbidden(CORE, "shootstates", name(object), &why))
    }
}

/// InternalSecrets: as Secrets, texts become data.
pub(super) struct InternalSecrets;

impl InternalSecrets {
    fn settle(object: &mut Value) {
        if let Some(Value::Object(texts)) = object.as_object_mut().and_then(|fields| fields.remove("stringData")) {
            for (key, text) in texts {
                object["data"][key] = json!(STANDARD.encode(text.as_str().unwrap_or_default()));
            }
        }
    }
}

impl Strategy for InternalSecrets {
    fn create(&self, object: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        Self::settle(object);
        Ok(())
    }

    fn update(&self, new: &mut Value, _: &Value, _: &Ctx<'_>) -> Result<(), Status> {
        Self::settle(new);
        Ok(())
    }
}
