//! Extensions of the Shoot. The list is written whole.
//!
//! A row per extension: when it is there and what it holds. For a Shoot that lives, each changes its
//! own entry where that stands; entries of types that are not ours are never touched.

mod acl;
mod audit_log;
mod dns_service;
mod networking_filter;
pub(super) mod registry_cache;

use serde_json::{Value, json};

use super::{
    Context, RenderError,
    draft::{Draft, list, upsert},
};

/// One type of extension.
struct Extension {
    extension_type: &'static str,
    /// The entry as it should be; none where it should not be there.
    wanted: fn(&Context<'_>) -> Option<Value>,
    /// Whether a new cluster gets it.
    on_create: bool,
    on_patch: OnPatch,
}

/// What happens to the entry of a living Shoot.
enum OnPatch {
    /// It stays as it is.
    Leave,
    /// It becomes the wanted one, if this says that it is ours to change; without a wanted one it stays.
    Replace(fn(&Value) -> bool),
    /// The same, and without a wanted one it is switched off.
    SwitchOff,
    /// The same, and without a wanted one it is removed.
    Remove,
}

const ALWAYS: OnPatch = OnPatch::Replace(|_| true);

/// In the order of a new cluster's list.
static EXTENSIONS: &[Extension] = &[
    Extension {
        extension_type: networking_filter::TYPE,
        wanted: networking_filter::wanted,
        on_create: true,
        on_patch: ALWAYS,
    },
    Extension { extension_type: "shoot-cert-service", wanted: cert_service, on_create: true, on_patch: OnPatch::Leave },
    Extension {
        extension_type: dns_service::TYPE,
        wanted: dns_service::wanted,
        on_create: true,
        on_patch: OnPatch::Replace(dns_service::has_providers),
    },
    Extension { extension_type: "shoot-oidc-service", wanted: oidc_service, on_create: true, on_patch: OnPatch::Leave },
    Extension { extension_type: audit_log::TYPE, wanted: audit_log::wanted, on_create: true, on_patch: ALWAYS },
    Extension {
        extension_type: registry_cache::TYPE,
        wanted: registry_cache::wanted,
        on_create: false,
        on_patch: OnPatch::Remove,
    },
    Extension { extension_type: acl::TYPE, wanted: acl::wanted, on_create: true, on_patch: OnPatch::SwitchOff },
    Extension {
        extension_type: "shoot-nvidia-openshell",
        wanted: openshell,
        on_create: true,
        on_patch: OnPatch::SwitchOff,
    },
];

/// In which order a living Shoot gets new ones: that of the reference.
static APPENDED: &[&str] = &[
    audit_log::TYPE,
    networking_filter::TYPE,
    dns_service::TYPE,
    registry_cache::TYPE,
    acl::TYPE,
    "shoot-nvidia-openshell",
];

pub(super) fn create(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let wanted = EXTENSIONS.iter().filter(|row| row.on_create).filter_map(|row| (row.wanted)(context));
    draft.set("spec.extensions", wanted.collect::<Vec<_>>());
    Ok(())
}

pub(super) fn patch(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let mut extensions = list(context.existing("spec.extensions"));
    let rows = APPENDED.iter().filter_map(|name| EXTENSIONS.iter().find(|row| row.extension_type == *name));
    for row in rows {
        change(row, (row.wanted)(context), &mut extensions);
    }
    draft.set("spec.extensions", extensions);
    Ok(())
}

fn change(row: &Extension, wanted: Option<Value>, extensions: &mut Vec<Value>) {
    let at = extensions.iter().position(|entry| entry["type"] == row.extension_type);
    match (at, wanted, &row.on_patch) {
        (_, _, OnPatch::Leave) | (None, None, _) | (Some(_), None, OnPatch::Replace(_)) => {}
        (Some(at), Some(_), OnPatch::Replace(is_ours)) if !is_ours(&extensions[at]) => {}
        (_, Some(wanted), _) => upsert(extensions, "type", wanted),
        (Some(at), None, OnPatch::SwitchOff) => extensions[at]["disabled"] = json!(true),
        (Some(at), None, OnPatch::Remove) => drop(extensions.remove(at)),
    }
}

fn cert_service(_: &Context<'_>) -> Option<Value> {
    Some(json!({
        "type": "shoot-cert-service",
        "providerConfig": {
            "apiVersion": "service.cert.extensions.gardener.cloud/v1alpha1", "kind": "CertConfig",
            "shootIssuers": { "enabled": true },
        },
    }))
}

fn oidc_service(_: &Context<'_>) -> Option<Value> {
    Some(json!({ "type": "shoot-oidc-service", "disabled": false }))
}

fn openshell(context: &Context<'_>) -> Option<Value> {
    let is_wanted = context.shoot.enable_nvidia_openshell == Some(true);
    is_wanted.then(|| json!({ "type": "shoot-nvidia-openshell", "disabled": false }))
}
