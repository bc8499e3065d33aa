//! Questions about a Shoot that several parts ask, and the words Gardener has for them.

use serde_json::Value;

use super::value::{annotation, at, has, is_true, list, number, parses_as_true, text};

/// Confirms a deletion.
pub const CONFIRM_DELETION: &str = "confirmation.gardener.cloud/deletion";
/// Who confirmed it; written by the server.
pub const CONFIRMED_BY: &str = "deletion.gardener.cloud/confirmed-by";
/// Asks for a deletion that leaves things behind.
pub const CONFIRM_FORCE_DELETION: &str = "confirmation.gardener.cloud/force-deletion";
/// Asks for operations.
pub const OPERATION: &str = "gardener.cloud/operation";
/// Asks for operations in the next maintenance window.
pub const MAINTENANCE_OPERATION: &str = "maintenance.gardener.cloud/operation";
/// What must be deployed anew with the next operation.
pub const TASKS: &str = "shoot.gardener.cloud/tasks";
/// Who created it.
pub const CREATED_BY: &str = "gardener.cloud/created-by";
/// The gardenlet leaves it alone.
pub const IGNORE: &str = "shoot.gardener.cloud/ignore";
/// A failed Shoot is retried in its next window.
pub const NEEDS_RETRY: &str = "maintenance.shoot.gardener.cloud/needs-retry-operation";
/// The label that sums it up.
pub const STATUS: &str = "shoot.gardener.cloud/status";
/// The gardenlet's finalizer.
pub const FINALIZER: &str = "gardener";
/// The finalizer of what is referred to, and of what refers.
pub const REFERENCE_PROTECTION: &str = "gardener.cloud/reference-protection";

/// Error codes, and what Gardener does about them.
#[rustfmt::skip]
pub static CODES: &[Code] = &[
    //    code                                    fails at once  allows force deletion
    code("ERR_INFRA_UNAUTHENTICATED",             true,          true),
    code("ERR_INFRA_UNAUTHORIZED",                true,          true),
    code("ERR_INFRA_QUOTA_EXCEEDED",              true,          false),
    code("ERR_INFRA_RATE_LIMITS_EXCEEDED",        true,          false),
    code("ERR_INFRA_DEPENDENCIES",                true,          true),
    code("ERR_RETRYABLE_INFRA_DEPENDENCIES",      false,         false),
    code("ERR_INFRA_RESOURCES_DEPLETED",          false,         false),
    code("ERR_CLEANUP_CLUSTER_RESOURCES",         false,         true),
    code("ERR_CONFIGURATION_PROBLEM",             true,          true),
    code("ERR_RETRYABLE_CONFIGURATION_PROBLEM",   false,         false),
    code("ERR_PROBLEMATIC_WEBHOOK",               true,          false),
];

/// One error code.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    /// As it stands in `lastErrors[].codes`.
    pub name: &'static str,
    /// The Shoot is `Failed` at once instead of being tried again.
    pub fails: bool,
    /// Force deletion is allowed while it stands there.
    pub allows_force_deletion: bool,
}

const fn code(name: &'static str, fails: bool, allows_force_deletion: bool) -> Code {
    Code { name, fails, allows_force_deletion }
}

/// What Gardener knows about a code; nothing about one it does not know.
pub fn find_code(name: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.name == name)
}

/// Whether it sleeps, falls asleep or wakes up.
pub fn is_in_hibernation(shoot: &Value) -> bool {
    is_true(shoot, "spec.hibernation.enabled") || is_true(shoot, "status.hibernated")
}

/// Whether a rotation may start: it was created, and is in a state that is reconciled.
pub fn is_ready_for_rotation(shoot: &Value) -> bool {
    let last = at(shoot, "status.lastOperation");
    match (text(last, "type"), text(last, "state")) {
        ("Create" | "Migrate" | "Restore", state) => text(last, "type") != "Migrate" && state == "Succeeded",
        ("Reconcile", _) => true,
        _ => false,
    }
}

/// Whether a pool's nodes are changed where they stand.
pub fn is_in_place(worker: &Value) -> bool {
    matches!(text(worker, "updateStrategy"), "AutoInPlaceUpdate" | "ManualInPlaceUpdate")
}

/// Whether system components may run on a pool.
pub fn allows_system_components(worker: &Value) -> bool {
    !has(worker, "systemComponents") || is_true(worker, "systemComponents.allow")
}

/// The words of an operation annotation.
pub fn operations<'a>(shoot: &'a Value, key: &str) -> Vec<&'a str> {
    annotation(shoot, key).split(';').map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// Whether it is to be deleted by force.
pub fn needs_force_deletion(shoot: &Value) -> bool {
    parses_as_true(annotation(shoot, CONFIRM_FORCE_DELETION))
}

/// The name of the cloud profile it uses.
pub fn profile_name(shoot: &Value) -> &str {
    let named = text(shoot, "spec.cloudProfile.name");
    if named.is_empty() { text(shoot, "spec.cloudProfileName") } else { named }
}

/// Whether its last deletion is through.
pub fn is_deleted(shoot: &Value) -> bool {
    let last = at(shoot, "status.lastOperation");
    text(last, "type") == "Delete" && text(last, "state") == "Succeeded" && number(last, "progress") == 100
}

/// The Secrets and ConfigMaps it refers to, as `(plural, name)`, each once.
pub fn references(shoot: &Value) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut add = |plural, name: &str| {
        if !name.is_empty() && !found.contains(&(plural, name.to_owned())) {
            found.push((plural, name.to_owned()));
        }
    };
    let server = at(shoot, "spec.kubernetes.kubeAPIServer");
    add("configmaps", text(server, "auditConfig.auditPolicy.configMapRef.name"));
    add("configmaps", text(server, "structuredAuthentication.configMapName"));
    add("configmaps", text(server, "structuredAuthorization.configMapName"));
    for kubeconfig in list(server, "structuredAuthorization.kubeconfigs") {
        add("secrets", text(kubeconfig, "secretName"));
    }
    for plugin in list(server, "admissionPlugins") {
        add("secrets", text(plugin, "kubeconfigSecretName"));
    }
    for provider in list(shoot, "spec.dns.providers") {
        add("secrets", text(provider, "secretName"));
        if text(provider, "credentialsRef.kind") == "Secret" {
            add("secrets", text(provider, "credentialsRef.name"));
        }
    }
    for resource in list(shoot, "spec.resources") {
        match text(resource, "resourceRef.kind") {
            "Secret" => add("secrets", text(resource, "resourceRef.name")),
            "ConfigMap" => add("configmaps", text(resource, "resourceRef.name")),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_found_wherever_they_stand_and_counted_once() {
        let shoot = json!({"spec": {
            "kubernetes": {"kubeAPIServer": {"auditConfig": {"auditPolicy": {"configMapRef": {"name": "audit"}}}}},
            "dns": {"providers": [{"credentialsRef": {"kind": "Secret", "name": "dns"}, "secretName": "dns"}]},
            "resources": [{"name": "r", "resourceRef": {"kind": "ConfigMap", "name": "audit"}}],
        }});
        assert_eq!(references(&shoot), [("configmaps", "audit".to_owned()), ("secrets", "dns".to_owned())]);
    }

    #[test]
    fn five_codes_allow_force_deletion() {
        assert_eq!(CODES.iter().filter(|code| code.allows_force_deletion).count(), 5);
        assert!(find_code("ERR_INFRA_QUOTA_EXCEEDED").is_some_and(|code| code.fails));
        assert!(find_code("ERR_OF_THE_FUTURE").is_none());
    }
}
