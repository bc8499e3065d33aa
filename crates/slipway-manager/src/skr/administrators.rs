//! Administrators: one binding of `cluster-admin` for each, ours by label.
//!
//! Bindings without our label are never touched, even if they bind the same user: they are somebody else's
//! word. Of ours, only those of `cluster-admin` are candidates for removal.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};
use slipway_kube::{
    access::{Access, Ask, Error, Exactly, resource::CLUSTER_ROLE_BINDINGS},
    labels,
};

use crate::observe::hash;

/// A binding, as far as we look at it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Binding {
    metadata: ObjectMeta,
    subjects: Vec<Subject>,
    role_ref: RoleRef,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RoleRef {
    kind: String,
    name: String,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
struct Changes {
    remove: Vec<ObjectMeta>,
    add: Vec<String>,
}

fn plan_changes(bindings: &[Binding], wanted: &[String]) -> Changes {
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).filter(|user| !user.is_empty()).collect();
    let users = |binding: &Binding| -> Vec<String> {
        let users = binding.subjects.iter().filter(|subject| subject.kind == "User");
        users.map(|subject| subject.name.clone()).collect()
    };
    let is_admin =
        |binding: &&Binding| binding.role_ref.kind == "ClusterRole" && binding.role_ref.name == "cluster-admin";
    let remove = bindings.iter().filter(is_admin).filter(|binding| {
        let users = users(binding);
        !users.is_empty() && !users.iter().any(|user| wanted.contains(user.as_str()))
    });
    let bound: BTreeSet<String> = bindings.iter().flat_map(users).collect();
    Changes {
        remove: remove.map(|binding| binding.metadata.clone()).collect(),
        add: wanted.iter().filter(|user| !bound.contains(**user)).map(|user| (*user).to_owned()).collect(),
    }
}

fn build_binding(user: &str) -> Value {
    let name = format!("admin-{}", &hash(user.as_bytes())[..10]);
    json!({
        "apiVersion": CLUSTER_ROLE_BINDINGS.api_version(), "kind": CLUSTER_ROLE_BINDINGS.kind,
        "metadata": {"name": name, "labels": {labels::RECONCILER_MANAGED_BY: labels::MANAGED_BY_US}},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    })
}

/// Removes bindings of former administrators, then adds those of new ones.
pub(super) async fn align(skr: &Access, wanted: &[String]) -> Result<(), Error> {
    let ours = format!("{}={}", labels::RECONCILER_MANAGED_BY, labels::MANAGED_BY_US);
    let there: Vec<Binding> = skr.list(Ask::list(&CLUSTER_ROLE_BINDINGS, "").with("labelSelector", ours)).await?;
    let Changes { remove, add } = plan_changes(&there, wanted);
    for binding in remove {
        let name = binding.name.as_deref().unwrap_or_default();
        skr.tell(Ask::delete(&CLUSTER_ROLE_BINDINGS, "", name, &Exactly::this(&binding))).await?;
    }
    for user in add {
        match skr.tell(Ask::create(&CLUSTER_ROLE_BINDINGS, "", build_binding(&user))).await {
            Err(error) if error.is_already_there() => {}
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> ObjectMeta {
        ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
    }

    fn bound(name: &str, users: &[&str], role: &str) -> Binding {
        Binding {
            metadata: named(name),
            subjects: users.iter().map(|user| Subject { kind: "User".to_owned(), name: (*user).to_owned() }).collect(),
            role_ref: RoleRef { kind: "ClusterRole".to_owned(), name: role.to_owned() },
        }
    }

    #[test]
    fn missing_ones_are_added_former_ones_removed_and_the_rest_is_left() {
        let there = [
            bound("admin-a", &["anna"], "cluster-admin"),
            bound("admin-b", &["ben"], "cluster-admin"),
            bound("view-c", &["carl"], "view"),
            bound("both", &["ben", "anna"], "cluster-admin"),
            bound("nobody", &[], "cluster-admin"),
        ];
        let wanted = ["anna", "dora", "dora", ""].map(str::to_owned);
        let expected = Changes { remove: vec![named("admin-b")], add: vec!["dora".to_owned()] };
        assert_eq!(plan_changes(&there, &wanted), expected);
        let none = plan_changes(&there, &[]);
        assert_eq!(none.remove, ["admin-a", "admin-b", "both"].map(named), "an empty list removes all that are ours");
    }

    #[test]
    fn a_binding_has_the_same_name_every_time() {
        assert_eq!(build_binding("anna")["metadata"]["name"], build_binding("anna")["metadata"]["name"]);
        assert_ne!(build_binding("anna")["metadata"]["name"], build_binding("ben")["metadata"]["name"]);
    }
}
