//! What a new cluster has in it: the namespaces and roles every cluster has.

use serde_json::{Value, json};

use super::{cluster::Cluster, status::Status};

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Verbs that change nothing.
const READ: [&str; 3] = ["get", "list", "watch"];
const ALL: [&str; 8] = ["get", "list", "watch", "create", "delete", "deletecollection", "patch", "update"];

/// What people in a namespace work with; secrets and rights are apart.
const CORE: [&str; 8] = [
    "configmaps",
    "endpoints",
    "events",
    "persistentvolumeclaims",
    "pods",
    "resourcequotas",
    "serviceaccounts",
    "services",
];
const APPS: [&str; 4] = ["daemonsets", "deployments", "replicasets", "statefulsets"];

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

fn roles() -> Vec<(&'static str, Vec<Value>)> {
    let view = vec![rule(&[""], &CORE, &READ), rule(&[""], &["namespaces"], &READ), rule(&["apps"], &APPS, &READ)];
    let edit = vec![
        rule(&[""], &CORE, &ALL),
        rule(&[""], &["secrets"], &ALL),
        rule(&[""], &["namespaces"], &READ),
        rule(&["apps"], &APPS, &ALL),
        rule(&["coordination.k8s.io"], &["leases"], &ALL),
    ];
    let mut admin = edit.clone();
    admin.push(rule(&["rbac.authorization.k8s.io"], &["roles", "rolebindings"], &ALL));
    let everything = vec![rule(&["*"], &["*"], &["*"]), json!({ "nonResourceURLs": ["*"], "verbs": ["*"] })];
    vec![("cluster-admin", everything), ("admin", admin), ("edit", edit), ("view", view)]
}

/// Makes what is missing; what somebody changed stays changed.
pub(crate) async fn fill(cluster: &Cluster) -> Result<(), Status> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let label = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
    let mut objects: Vec<Value> = NAMESPACES
        .iter()
        .map(|name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
        .collect();
    for (name, rules) in roles() {
        objects.push(json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
            "metadata": { "name": name, "labels": label }, "rules": rules,
        }));
    }
    objects.push(json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding",
        "metadata": { "name": "cluster-admin", "labels": label },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": RBAC, "kind": "Group", "name": "system:masters" }],
    }));
    // All at once: they share a sync.
    let made = futures::future::join_all(objects.into_iter().map(|object| cluster.create(object))).await;
    for one in made {
        match one {
            Err(status) if status.reason != "AlreadyExists" => return Err(status),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}
