//! Who may do what: RBAC, its denials, and the ways to ask beforehand.

use kube_sandbox::contract::{Case, Cx, Json as _, cases, config_map};
use serde_json::{Value, json};

pub(super) static CASES: &[Case] = cases![
    a_user_without_rights_is_forbidden_with_what_was_tried,
    a_denied_list_over_all_namespaces_says_so,
    a_denied_creation_names_no_object,
    a_denied_subresource_is_named,
    a_denied_path_is_named,
    a_role_gives_rights_in_its_namespace,
    a_role_may_name_its_objects,
    a_cluster_role_binding_gives_rights_everywhere,
    a_cluster_role_bound_in_a_namespace_stays_there,
    a_group_gives_rights_to_its_members,
    rights_end_with_their_binding,
    nobody_gives_away_what_they_do_not_have,
    one_may_ask_about_oneself,
    an_administrator_may_ask_about_others,
    one_may_ask_for_all_rules,
    one_may_ask_who_one_is,
    an_administrator_may_act_as_another,
    acting_as_another_needs_a_right,
];

const RBAC: &str = "rbac.authorization.k8s.io";

/// A user that no other case has.
fn user(cx: &Cx, name: &str) -> String {
    format!("{name}-{}", cx.ns)
}

async fn as_user(cx: &Cx, name: &str) -> Cx {
    cx.with(&cx.target.logins.user(&user(cx, name), &["suite"])).await
}

fn rule(resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [""], "resources": resources, "verbs": verbs })
}

async fn role(cx: &Cx, name: &str, rules: Value) {
    let role =
        json!({ "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": { "name": name }, "rules": rules });
    cx.post(&cx.group(&format!("{RBAC}/v1"), "roles"), &role).await.created();
}

async fn bind(cx: &Cx, name: &str, role_kind: &str, role: &str, subject: Value) {
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": role_kind, "name": role }, "subjects": [subject],
    });
    cx.post(&cx.group(&format!("{RBAC}/v1"), "rolebindings"), &binding).await.created();
}

fn subject(kind: &str, name: &str) -> Value {
    json!({ "kind": kind, "name": name, "apiGroup": RBAC })
}

async fn a_user_without_rights_is_forbidden_with_what_was_tried(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let message = format!(
        "configmaps \"a\" is forbidden: User \"{}\" cannot get resource \"configmaps\" in API group \"\" in the namespace \
         \"{}\"",
        user(&cx, "ann"),
        cx.ns
    );
    let status = ann.get(&cx.core("configmaps/a")).await.refused(403, "Forbidden", &message);
    assert_eq!(status["details"], json!({ "name": "a", "kind": "configmaps" }));
}

async fn a_denied_list_over_all_namespaces_says_so(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let message = format!(
        "secrets is forbidden: User \"{}\" cannot list resource \"secrets\" in API group \"\" at the cluster scope",
        user(&cx, "ann")
    );
    ann.get("/api/v1/secrets").await.refused(403, "Forbidden", &message);
}

async fn a_denied_creation_names_no_object(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let message = format!(
        "configmaps is forbidden: User \"{}\" cannot create resource \"configmaps\" in API group \"\" in the namespace \
         \"{}\"",
        user(&cx, "ann"),
        cx.ns
    );
    ann.post(&cx.core("configmaps"), &config_map("a", json!({}))).await.refused(403, "Forbidden", &message);
}

async fn a_denied_subresource_is_named(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let message = format!(
        "serviceaccounts \"robot\" is forbidden: User \"{}\" cannot create resource \"serviceaccounts/token\" in API group \
         \"\" in the namespace \"{}\"",
        user(&cx, "ann"),
        cx.ns
    );
    let answer = ann.post(&cx.core("serviceaccounts/robot/token"), &json!({})).await;
    answer.refused(403, "Forbidden", &message);
}

async fn a_denied_path_is_named(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let message = format!("forbidden: User \"{}\" cannot get path \"/metrics\"", user(&cx, "ann"));
    ann.get("/metrics").await.refused(403, "Forbidden", &message);
    ann.get("/version").await.ok();
}

async fn a_role_gives_rights_in_its_namespace(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    role(&cx, "reader", json!([rule(&["configmaps"], &["get", "list", "watch"])])).await;
    bind(&cx, "ann", "Role", "reader", subject("User", &user(&cx, "ann"))).await;
    cx.config_map("a", json!({})).await;
    ann.until(&cx.core("configmaps/a"), |answer| answer.code == 200).await;
    assert_eq!(ann.get(&cx.core("configmaps")).await.ok()["items"].as_array().map(Vec::len), Some(1));
    ann.delete(&cx.core("configmaps/a")).await.refused_with(403, "Forbidden", "cannot delete resource \"configmaps\"");
    ann.get("/api/v1/namespaces/default/configmaps").await.refused_with(
        403,
        "Forbidden",
        "in the namespace \"default\"",
    );
}

async fn a_role_may_name_its_objects(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let mut one = rule(&["configmaps"], &["get"]);
    one["resourceNames"] = json!(["mine"]);
    role(&cx, "mine", json!([one])).await;
    bind(&cx, "ann", "Role", "mine", subject("User", &user(&cx, "ann"))).await;
    cx.config_map("mine", json!({})).await;
    cx.config_map("other", json!({})).await;
    ann.until(&cx.core("configmaps/mine"), |answer| answer.code == 200).await;
    ann.get(&cx.core("configmaps/other")).await.refused_with(403, "Forbidden", "configmaps \"other\" is forbidden");
    ann.get(&cx.core("configmaps")).await.refused_with(403, "Forbidden", "cannot list resource");
}

async fn a_cluster_role_binding_gives_rights_everywhere(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let name = user(&cx, "reader");
    let role = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": { "name": name },
        "rules": [rule(&["configmaps"], &["*"]), { "nonResourceURLs": ["/metrics"], "verbs": ["get"] }],
    });
    cx.post(&format!("/apis/{RBAC}/v1/clusterroles"), &role).await.created();
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": name },
        "subjects": [subject("User", &user(&cx, "ann"))],
    });
    cx.post(&format!("/apis/{RBAC}/v1/clusterrolebindings"), &binding).await.created();
    ann.until("/api/v1/configmaps", |answer| answer.code == 200).await;
    ann.post(&cx.core("configmaps"), &config_map("a", json!({}))).await.created();
    ann.get("/api/v1/secrets").await.refused_with(403, "Forbidden", "at the cluster scope");
}

async fn a_cluster_role_bound_in_a_namespace_stays_there(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let name = user(&cx, "reader");
    let role = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": { "name": name },
        "rules": [rule(&["secrets"], &["list"])],
    });
    cx.post(&format!("/apis/{RBAC}/v1/clusterroles"), &role).await.created();
    bind(&cx, "ann", "ClusterRole", &name, subject("User", &user(&cx, "ann"))).await;
    ann.until(&cx.core("secrets"), |answer| answer.code == 200).await;
    ann.get("/api/v1/secrets").await.refused_with(403, "Forbidden", "at the cluster scope");
}

async fn a_group_gives_rights_to_its_members(cx: Cx) {
    let group = user(&cx, "team");
    let ann = cx.with(&cx.target.logins.user("ann", &["others", &group])).await;
    role(&cx, "reader", json!([rule(&["configmaps"], &["list"])])).await;
    bind(&cx, "team", "Role", "reader", subject("Group", &group)).await;
    ann.until(&cx.core("configmaps"), |answer| answer.code == 200).await;
}

async fn rights_end_with_their_binding(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    role(&cx, "reader", json!([rule(&["configmaps"], &["list"])])).await;
    bind(&cx, "ann", "Role", "reader", subject("User", &user(&cx, "ann"))).await;
    ann.until(&cx.core("configmaps"), |answer| answer.code == 200).await;
    cx.delete(&cx.group(&format!("{RBAC}/v1"), "rolebindings/ann")).await.ok();
    ann.until(&cx.core("configmaps"), |answer| answer.code == 403).await;
}

async fn nobody_gives_away_what_they_do_not_have(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let roles = json!({ "apiGroups": [RBAC], "resources": ["roles"], "verbs": ["create", "list"] });
    role(&cx, "roles", json!([roles])).await;
    bind(&cx, "ann", "Role", "roles", subject("User", &user(&cx, "ann"))).await;
    let path = cx.group(&format!("{RBAC}/v1"), "roles");
    ann.until(&path, |answer| answer.code == 200).await;
    let greedy = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": { "name": "greedy" },
        "rules": [rule(&["secrets"], &["get"])],
    });
    let message = format!(
        "roles.rbac.authorization.k8s.io \"greedy\" is forbidden: user \"{}\" (groups=[\"suite\" \
         \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}}",
        user(&cx, "ann")
    );
    ann.post(&path, &greedy).await.refused(403, "Forbidden", &message);
}

fn review(cx: &Cx, verb: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": { "namespace": cx.ns, "verb": verb, "resource": resource } },
    })
}

async fn one_may_ask_about_oneself(cx: Cx) {
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = review(&cx, "delete", "configmaps");
    assert_eq!(cx.post(path, &review).await.created()["status"]["allowed"], true);
    let ann = as_user(&cx, "ann").await;
    assert_eq!(ann.post(path, &review).await.created()["status"]["allowed"], false);
}

async fn an_administrator_may_ask_about_others(cx: Cx) {
    role(&cx, "reader", json!([rule(&["configmaps"], &["get"])])).await;
    bind(&cx, "ann", "Role", "reader", subject("User", &user(&cx, "ann"))).await;
    let ann = as_user(&cx, "ann").await;
    ann.until(&cx.core("configmaps/none"), |answer| answer.code == 404).await;
    let mut review = review(&cx, "get", "configmaps");
    review["kind"] = json!("SubjectAccessReview");
    review["spec"]["user"] = json!(user(&cx, "ann"));
    let answer = cx.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await.created();
    assert_eq!(answer["status"]["allowed"], true);
    let reason =
        format!("RBAC: allowed by RoleBinding \"ann/{}\" of Role \"reader\" to User \"{}\"", cx.ns, user(&cx, "ann"));
    assert_eq!(answer["status"]["reason"], reason);
}

async fn one_may_ask_for_all_rules(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    role(&cx, "reader", json!([rule(&["configmaps"], &["get"])])).await;
    bind(&cx, "ann", "Role", "reader", subject("User", &user(&cx, "ann"))).await;
    ann.until(&cx.core("configmaps/none"), |answer| answer.code == 404).await;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": { "namespace": cx.ns },
    });
    let answer = ann.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &review).await.created();
    let rules = answer["status"]["resourceRules"].as_array().expect("rules").clone();
    let expected = json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"] });
    assert!(rules.contains(&expected), "{rules:?}");
}

async fn one_may_ask_who_one_is(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let answer = ann.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await.created();
    assert_eq!(answer["status"]["userInfo"]["username"], user(&cx, "ann"));
    assert_eq!(answer["status"]["userInfo"]["groups"], json!(["suite", "system:authenticated"]));
}

async fn an_administrator_may_act_as_another(cx: Cx) {
    let headers = [("impersonate-user", "bob"), ("impersonate-group", "team")];
    let answer = cx.ask(http::Method::GET, &cx.core("configmaps"), &headers, Vec::new()).await;
    let status = answer.refused_with(403, "Forbidden", "");
    assert!(status.text("/message").starts_with("configmaps is forbidden: User \"bob\" cannot list"), "{status}");
}

async fn acting_as_another_needs_a_right(cx: Cx) {
    let ann = as_user(&cx, "ann").await;
    let headers = [("impersonate-user", "bob")];
    let answer = ann.ask(http::Method::GET, &cx.core("configmaps"), &headers, Vec::new()).await;
    // The rest of the sentence changed with 1.36, which looks for finer rights first.
    let message = format!("User \"{}\" cannot impersonate", user(&cx, "ann"));
    answer.refused_with(403, "Forbidden", &message);
}
