//! Creating, reading and updating objects.

use kube_sandbox::contract::{Case, Cx, Json as _, cases, config_map};
use serde_json::json;

pub(super) static CASES: &[Case] = cases![
    a_created_object_is_filled_in_by_the_server,
    a_second_object_of_the_same_name_is_refused,
    a_generated_name_begins_as_asked_and_is_unique,
    an_object_without_a_name_is_refused,
    a_bad_name_is_refused_with_the_rule_it_breaks,
    a_missing_object_is_not_found_and_says_what_was_sought,
    an_object_in_a_missing_namespace_is_refused,
    a_body_for_another_namespace_is_refused,
    a_body_of_another_kind_is_refused,
    a_new_object_may_not_bring_a_resource_version,
    an_update_keeps_who_the_object_is,
    an_update_without_a_resource_version_overwrites,
    a_stale_update_is_a_conflict,
    an_update_under_another_name_is_refused,
    an_update_with_another_uid_is_a_conflict,
    an_update_of_a_missing_object_is_not_found,
    an_update_that_changes_nothing_keeps_the_resource_version,
    bad_labels_are_refused_with_the_rule_they_break,
    annotations_have_a_total_size,
    a_secret_takes_plain_strings_and_gives_them_back_encoded,
    an_immutable_config_map_stays_as_it_is,
    a_bad_key_of_a_config_map_is_refused,
    a_namespace_is_active_and_labelled_with_its_name,
    a_lease_keeps_its_holder_and_its_microseconds,
    an_event_belongs_to_the_namespace_of_what_it_is_about,
    a_role_binding_cannot_change_its_role,
    names_of_roles_may_hold_colons,
    the_status_of_a_namespace_is_written_apart_from_it,
    a_service_account_is_created_bare,
    a_secret_of_a_type_needs_its_keys,
    the_type_of_a_secret_cannot_change,
];

async fn a_created_object_is_filled_in_by_the_server(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "v" })).await;
    assert_eq!(made["apiVersion"], "v1");
    assert_eq!(made["kind"], "ConfigMap");
    assert_eq!(made["metadata"]["namespace"], cx.ns.as_str());
    assert_eq!(made.text("/metadata/uid").len(), 36);
    assert!(made.text("/metadata/resourceVersion").parse::<u64>().is_ok_and(|version| version > 0), "{made}");
    assert!(made.text("/metadata/creationTimestamp").ends_with('Z'));
    assert_eq!(made["metadata"]["generation"], json!(null), "ConfigMaps have none");
    assert_eq!(made["metadata"]["managedFields"][0]["operation"], "Update");
    assert_eq!(cx.get(&cx.core("configmaps/a")).await.ok(), made);
}

async fn a_second_object_of_the_same_name_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    let again = cx.post(&cx.core("configmaps"), &config_map("a", json!({}))).await;
    let status = again.refused(409, "AlreadyExists", "configmaps \"a\" already exists");
    assert_eq!(status["details"], json!({ "name": "a", "kind": "configmaps" }));
}

async fn a_generated_name_begins_as_asked_and_is_unique(cx: Cx) {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "run-" } });
    let first = cx.post(&cx.core("configmaps"), &object).await.created();
    let second = cx.post(&cx.core("configmaps"), &object).await.created();
    for made in [&first, &second] {
        let name = made.text("/metadata/name");
        assert!(name.starts_with("run-") && name.len() == "run-".len() + 5, "{name}");
        assert_eq!(made["metadata"]["generateName"], "run-");
    }
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
}

async fn an_object_without_a_name_is_refused(cx: Cx) {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} });
    let status = cx.post(&cx.core("configmaps"), &object).await.refused(
        422,
        "Invalid",
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
    let cause = json!({
        "reason": "FieldValueRequired", "field": "metadata.name",
        "message": "Required value: name or generateName is required",
    });
    assert_eq!(status["details"], json!({ "kind": "ConfigMap", "causes": [cause] }));
}

async fn a_bad_name_is_refused_with_the_rule_it_breaks(cx: Cx) {
    cx.post(&cx.core("configmaps"), &config_map("Not_Good", json!({}))).await.refused(
        422,
        "Invalid",
        "ConfigMap \"Not_Good\" is invalid: metadata.name: Invalid value: \"Not_Good\": a lowercase RFC 1123 subdomain \
         must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
         character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
}

async fn a_missing_object_is_not_found_and_says_what_was_sought(cx: Cx) {
    let status = cx.get(&cx.core("configmaps/none")).await.refused(404, "NotFound", "configmaps \"none\" not found");
    assert_eq!(status["details"], json!({ "name": "none", "kind": "configmaps" }));
    let role = cx.get(&cx.group("rbac.authorization.k8s.io/v1", "roles/none")).await;
    let status = role.refused(404, "NotFound", "roles.rbac.authorization.k8s.io \"none\" not found");
    assert_eq!(status["details"], json!({ "name": "none", "group": "rbac.authorization.k8s.io", "kind": "roles" }));
}

async fn an_object_in_a_missing_namespace_is_refused(cx: Cx) {
    let path = format!("/api/v1/namespaces/{}-not/configmaps", cx.ns);
    let message = format!("namespaces \"{}-not\" not found", cx.ns);
    cx.post(&path, &config_map("a", json!({}))).await.refused(404, "NotFound", &message);
    // Reading is no reason to look for the namespace.
    assert_eq!(cx.get(&path).await.ok()["items"], json!([]));
}

async fn a_body_for_another_namespace_is_refused(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["namespace"] = json!("default");
    cx.post(&cx.core("configmaps"), &object).await.refused(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    );
}

async fn a_body_of_another_kind_is_refused(cx: Cx) {
    let object = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } });
    cx.post(&cx.core("configmaps"), &object).await.refused(
        400,
        "BadRequest",
        "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): \
         unknown conversion",
    );
}

async fn a_new_object_may_not_bring_a_resource_version(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["resourceVersion"] = json!("7");
    let message = "resourceVersion should not be set on objects to be created";
    cx.post(&cx.core("configmaps"), &object).await.refused(500, "", message);
}

async fn an_update_keeps_who_the_object_is(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "v" })).await;
    let mut changed = made.clone();
    changed["data"]["k"] = json!("w");
    changed["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    let updated = cx.put(&cx.core("configmaps/a"), &changed).await.ok();
    assert_eq!(updated["data"]["k"], "w");
    assert_eq!(updated["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(updated["metadata"]["creationTimestamp"], made["metadata"]["creationTimestamp"]);
    assert_ne!(updated["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

async fn an_update_without_a_resource_version_overwrites(cx: Cx) {
    cx.config_map("a", json!({ "k": "v", "gone": "soon" })).await;
    let updated = cx.put(&cx.core("configmaps/a"), &config_map("a", json!({ "k": "w" }))).await.ok();
    assert_eq!(updated["data"], json!({ "k": "w" }));
}

async fn a_stale_update_is_a_conflict(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "v" })).await;
    let mut first = made.clone();
    first["data"]["k"] = json!("first");
    cx.put(&cx.core("configmaps/a"), &first).await.ok();
    let mut second = made;
    second["data"]["k"] = json!("second");
    let status = cx.put(&cx.core("configmaps/a"), &second).await.refused(
        409,
        "Conflict",
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to \
         the latest version and try again",
    );
    assert_eq!(status["details"], json!({ "name": "a", "kind": "configmaps" }));
}

async fn an_update_under_another_name_is_refused(cx: Cx) {
    cx.config_map("a", json!({})).await;
    cx.put(&cx.core("configmaps/a"), &config_map("b", json!({}))).await.refused(
        400,
        "BadRequest",
        "the name of the object (b) does not match the name on the URL (a)",
    );
}

async fn an_update_with_another_uid_is_a_conflict(cx: Cx) {
    let mut made = cx.config_map("a", json!({})).await;
    let uid = made.text("/metadata/uid").to_owned();
    made["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
    let message = format!(
        "Precondition failed: UID in precondition: \
         11111111-2222-3333-4444-555555555555, UID in object meta: {uid}"
    );
    // Before that it tells the key in its storage, which is nobody's business.
    cx.put(&cx.core("configmaps/a"), &made).await.refused_with(409, "Conflict", &message);
}

async fn an_update_of_a_missing_object_is_not_found(cx: Cx) {
    let answer = cx.put(&cx.core("configmaps/a"), &config_map("a", json!({}))).await;
    answer.refused(404, "NotFound", "configmaps \"a\" not found");
}

async fn an_update_that_changes_nothing_keeps_the_resource_version(cx: Cx) {
    let made = cx.config_map("a", json!({ "k": "v" })).await;
    let updated = cx.put(&cx.core("configmaps/a"), &made).await.ok();
    assert_eq!(updated, made);
}

async fn bad_labels_are_refused_with_the_rule_they_break(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["labels"] = json!({ "k": "not good!" });
    cx.post(&cx.core("configmaps"), &object).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: metadata.labels: Invalid value: \"not good!\": a valid label must be an empty \
         string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
}

async fn annotations_have_a_total_size(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["annotations"] = json!({ "k": "x".repeat(256 * 1024) });
    cx.post(&cx.core("configmaps"), &object).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes",
    );
}

async fn a_secret_takes_plain_strings_and_gives_them_back_encoded(cx: Cx) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" },
        "data": { "k": "b2xk" }, "stringData": { "k": "new", "l": "more" },
    });
    let made = cx.post(&cx.core("secrets"), &secret).await.created();
    assert_eq!(made["data"], json!({ "k": "bmV3", "l": "bW9yZQ==" }));
    assert_eq!(made["stringData"], json!(null));
    assert_eq!(made["type"], "Opaque");
    let bad = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "b" }, "data": { "k": "*" } });
    cx.post(&cx.core("secrets"), &bad).await.refused_with(400, "BadRequest", "illegal base64 data at input byte 0");
}

async fn an_immutable_config_map_stays_as_it_is(cx: Cx) {
    let mut made = cx.config_map("a", json!({ "k": "v" })).await;
    made["immutable"] = json!(true);
    let mut made = cx.put(&cx.core("configmaps/a"), &made).await.ok();
    made["data"]["k"] = json!("w");
    cx.put(&cx.core("configmaps/a"), &made).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set",
    );
}

async fn a_bad_key_of_a_config_map_is_refused(cx: Cx) {
    cx.post(&cx.core("configmaps"), &config_map("a", json!({ "not good": "" }))).await.refused(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: data[not good]: Invalid value: \"not good\": a valid config key must consist of \
         alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for \
         validation is '[-._a-zA-Z0-9]+')",
    );
}

async fn a_namespace_is_active_and_labelled_with_its_name(cx: Cx) {
    let namespace = cx.get(&format!("/api/v1/namespaces/{}", cx.ns)).await.ok();
    assert_eq!(namespace["status"], json!({ "phase": "Active" }));
    assert_eq!(namespace["spec"], json!({ "finalizers": ["kubernetes"] }));
    assert_eq!(namespace["metadata"]["labels"], json!({ "kubernetes.io/metadata.name": cx.ns }));
}

async fn a_lease_keeps_its_holder_and_its_microseconds(cx: Cx) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "leader" },
        "spec": { "holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.678901Z" },
    });
    let path = cx.group("coordination.k8s.io/v1", "leases");
    let made = cx.post(&path, &lease).await.created();
    assert_eq!(made["spec"], lease["spec"]);
    let mut bad = lease;
    bad["metadata"]["name"] = json!("other");
    bad["spec"]["leaseDurationSeconds"] = json!(0);
    cx.post(&path, &bad).await.refused(
        422,
        "Invalid",
        "Lease.coordination.k8s.io \"other\" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater \
         than 0",
    );
}

async fn an_event_belongs_to_the_namespace_of_what_it_is_about(cx: Cx) {
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a" },
        "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": cx.ns },
        "reason": "Tried", "message": "It was tried.", "type": "Normal", "source": { "component": "suite" },
    });
    let made = cx.post(&cx.core("events"), &event).await.created();
    assert_eq!(made["message"], "It was tried.");
    event["metadata"]["name"] = json!("b");
    event["involvedObject"]["namespace"] = json!("elsewhere");
    cx.post(&cx.core("events"), &event).await.refused(
        422,
        "Invalid",
        "Event \"b\" is invalid: involvedObject.namespace: Invalid value: \"elsewhere\": does not match event.namespace",
    );
}

async fn a_role_binding_cannot_change_its_role(cx: Cx) {
    let rbac = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": { "name": "a" },
        "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "kind": "User", "name": "ann", "apiGroup": rbac }],
    });
    let mut made = cx.post(&cx.group(&format!("{rbac}/v1"), "rolebindings"), &binding).await.created();
    made["roleRef"]["name"] = json!("edit");
    cx.put(&cx.group(&format!("{rbac}/v1"), "rolebindings/a"), &made).await.refused(
        422,
        "Invalid",
        "RoleBinding.rbac.authorization.k8s.io \"a\" is invalid: roleRef: Invalid value: \
         {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"edit\"}: cannot change roleRef",
    );
}

async fn names_of_roles_may_hold_colons(cx: Cx) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "team:a" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }],
    });
    cx.post(&cx.group("rbac.authorization.k8s.io/v1", "roles"), &role).await.created();
    let role = cx.get(&cx.group("rbac.authorization.k8s.io/v1", "roles/team:a")).await.ok();
    assert_eq!(role["rules"][0]["verbs"], json!(["get"]));
}

async fn the_status_of_a_namespace_is_written_apart_from_it(cx: Cx) {
    let path = format!("/api/v1/namespaces/{}", cx.ns);
    let mut namespace = cx.get(&path).await.ok();
    namespace["status"]["conditions"] = json!([{ "type": "Tried", "status": "True", "reason": "R", "message": "" }]);
    namespace["metadata"]["labels"]["team"] = json!("a");
    let updated = cx.put(&path, &namespace).await.ok();
    assert_eq!(updated["status"], json!({ "phase": "Active" }), "the main resource leaves the status alone");
    assert_eq!(updated["metadata"]["labels"]["team"], "a");
    namespace["metadata"] = updated["metadata"].clone();
    let updated = cx.put(&format!("{path}/status"), &namespace).await.ok();
    assert_eq!(updated["status"]["conditions"][0]["type"], "Tried");
}

async fn a_service_account_is_created_bare(cx: Cx) {
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "robot" } });
    let made = cx.post(&cx.core("serviceaccounts"), &account).await.created();
    assert_eq!(made["secrets"], json!(null), "tokens are asked for, not left lying about");
    cx.get(&cx.core("serviceaccounts/robot")).await.ok();
}

async fn a_secret_of_a_type_needs_its_keys(cx: Cx) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "type": "kubernetes.io/tls",
        "data": { "tls.crt": "" },
    });
    cx.post(&cx.core("secrets"), &secret).await.refused(
        422,
        "Invalid",
        "Secret \"a\" is invalid: data[tls.key]: Required value",
    );
}

async fn the_type_of_a_secret_cannot_change(cx: Cx) {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "type": "team/one" });
    let mut made = cx.post(&cx.core("secrets"), &secret).await.created();
    made["type"] = json!("team/two");
    cx.put(&cx.core("secrets/a"), &made).await.refused(
        422,
        "Invalid",
        "Secret \"a\" is invalid: type: Invalid value: \"team/two\": field is immutable",
    );
}
