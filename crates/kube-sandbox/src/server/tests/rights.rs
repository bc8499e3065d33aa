//! Who may what, through the same requests anybody makes.

use super::*;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

async fn grant(cluster: &Cluster, verb: &str, user: &str) {
    let role = json!({
        "apiVersion": RBAC, "kind": "Role", "metadata": { "name": "r", "namespace": "default" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": [verb] }],
    });
    cluster.create(role).await.expect("a role");
    let binding = json!({
        "apiVersion": RBAC, "kind": "RoleBinding", "metadata": { "name": "b", "namespace": "default" },
        "roleRef": { "kind": "Role", "name": "r" }, "subjects": [{ "kind": "User", "name": user }],
    });
    cluster.create(binding).await.expect("a binding");
}

#[tokio::test]
async fn rights_come_and_go_with_their_binding() {
    let (server, cluster) = server().await;
    let ann = server.client_as("c", User::named("ann", &[])).expect("a client");
    let maps = Api::<ConfigMap>::namespaced(ann, "default");
    let kube::Error::Api(refused) = maps.list(&Default::default()).await.expect_err("no right") else { panic!() };
    assert_eq!(
        refused.message,
        r#"configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "default""#
    );
    grant(&cluster, "list", "ann").await;
    maps.list(&Default::default()).await.expect("the right");
    let kube::Error::Api(refused) = maps.get("a").await.expect_err("another verb") else { panic!() };
    assert_eq!(refused.code, 403);
    let binding = Place { group: "rbac.authorization.k8s.io", plural: "rolebindings", ..place("b") };
    cluster.delete(&binding, &Default::default()).await.expect("gone");
    maps.list(&Default::default()).await.expect_err("no right any more");
}

#[tokio::test]
async fn nobody_gives_away_more_than_they_have() {
    let (server, cluster) = server().await;
    let roles = json!({
        "apiVersion": RBAC, "kind": "ClusterRole", "metadata": { "name": "roles" },
        "rules": [{ "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create", "get"] }],
    });
    cluster.create(roles).await.expect("a role");
    let binding = json!({
        "apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": { "name": "roles" },
        "roleRef": { "kind": "ClusterRole", "name": "roles" }, "subjects": [{ "kind": "User", "name": "ann" }],
    });
    cluster.create(binding).await.expect("a binding");
    let ann = server.client_as("c", User::named("ann", &[])).expect("a client");
    let roles = Api::<k8s_openapi::api::rbac::v1::Role>::namespaced(ann, "default");
    let role = |name: &str, resource: &str| {
        serde_json::from_value(json!({
            "metadata": { "name": name },
            "rules": [{ "apiGroups": ["rbac.authorization.k8s.io"], "resources": [resource], "verbs": ["get"] }],
        }))
        .expect("a role")
    };
    roles.create(&PostParams::default(), &role("less", "roles")).await.expect("they have that themselves");
    let refused = roles.create(&PostParams::default(), &role("more", "rolebindings")).await.expect_err("but not that");
    let kube::Error::Api(refused) = refused else { panic!("no answer") };
    assert_eq!(refused.code, 403);
    assert!(
        refused.message.contains("is attempting to grant RBAC permissions not currently held:"),
        "{}",
        refused.message
    );
}
