//! The built-in kinds: one row each, with columns as the real server prints them.
//!
//! Kinds that only kubectl or our own services look at (nodes, pods, services) are rows without a
//! strategy: stored and served, with nobody behind them who runs anything.

mod cells;
mod configuration;
mod definitions;
mod event;
mod namespace;
mod rights;
mod service_account;
mod workloads;

use std::sync::{Arc, LazyLock};

use super::{
    auth::review,
    builtin_schema,
    kind::{Column, Generation, Kind, Naming, Subresource},
};
pub use cells::since;
pub(crate) use definitions::cleanup_finalizer;
pub use definitions::{TABLE as DEFINITIONS, conflicts, served};

const RBAC: &str = "rbac.authorization.k8s.io";

/// All built-in kinds. There may be thousands of clusters, and all share them.
pub fn builtin() -> &'static [Arc<Kind>] {
    static KINDS: LazyLock<Vec<Arc<Kind>>> = LazyLock::new(|| rows().into_iter().map(Arc::new).collect());
    &KINDS
}

fn rows() -> Vec<Kind> {
    let core = |kind: &str, plural: &str| Kind::new("", "v1", kind, plural);
    let age = || Column::of("Age", "string", cells::age);
    let created = || Column::path("Created At", ".metadata.creationTimestamp");
    let finalize = Subresource::View { name: "finalize" };
    let mut kinds = vec![
        core("Namespace", "namespaces")
            .short(&["ns"])
            .naming(Naming::Label)
            .below(Subresource::Status)
            .below(finalize)
            .selectable(&["status.phase"])
            .columns(vec![Column::path("Status", ".status.phase"), age()])
            .strategy(namespace::Namespaces),
        core("Secret", "secrets")
            .namespaced()
            .selectable(&["type"])
            .columns(vec![Column::path("Type", ".type"), Column::of("Data", "string", cells::data), age()])
            .strategy(configuration::Secrets),
        core("ConfigMap", "configmaps")
            .namespaced()
            .short(&["cm"])
            .columns(vec![Column::of("Data", "string", cells::data), age()])
            .strategy(configuration::ConfigMaps),
        core("ServiceAccount", "serviceaccounts")
            .namespaced()
            .short(&["sa"])
            .below(service_account::TOKEN)
            .columns(vec![age()])
            .strategy(service_account::ServiceAccounts),
        Kind::new("coordination.k8s.io", "v1", "Lease", "leases")
            .namespaced()
            .creates_on_update()
            .columns(vec![Column::path("Holder", ".spec.holderIdentity"), age()])
            .strategy(configuration::Leases),
        event::core(),
        event::newer(),
        Kind::new(RBAC, "v1", "ClusterRole", "clusterroles")
            .naming(Naming::PathSegment)
            .creates_on_update()
            .columns(vec![created()])
            .strategy(rights::Roles),
        Kind::new(RBAC, "v1", "Role", "roles")
            .namespaced()
            .naming(Naming::PathSegment)
            .creates_on_update()
            .columns(vec![created()])
            .strategy(rights::Roles),
        Kind::new(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings")
            .naming(Naming::PathSegment)
            .creates_on_update()
            .columns(rights::columns())
            .strategy(rights::Bindings),
        Kind::new(RBAC, "v1", "RoleBinding", "rolebindings")
            .namespaced()
            .naming(Naming::PathSegment)
            .creates_on_update()
            .columns(rights::columns())
            .strategy(rights::Bindings),
        Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
            .short(&["crd", "crds"])
            .categories(&["api-extensions"])
            .below(Subresource::Status)
            .generation(Generation::Spec)
            .columns(vec![created()])
            .strategy(definitions::Definitions),
    ];
    kinds.extend(workloads::kinds());
    for kind in &mut kinds {
        if let Some(schema) = builtin_schema::schema(&kind.group, &kind.version, &kind.kind) {
            kind.schema = schema;
        }
    }
    kinds.extend(review::kinds());
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_kind_of_its_own() {
        let mut paths: Vec<_> = builtin().iter().map(|kind| (kind.group.clone(), kind.plural.clone())).collect();
        paths.sort();
        let all = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }
}
