//! Tables: what `kubectl get` prints.

use kube_sandbox::contract::{Case, Cx, Json as _, cases};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    config_maps_show_how_much_they_hold,
    secrets_show_their_type,
    namespaces_show_whether_they_are_active,
    leases_show_their_holder,
    events_show_what_happened,
    bindings_show_their_role,
    definitions_show_when_they_were_made,
    service_accounts_show_their_age,
    a_custom_resource_shows_its_own_columns,
    a_custom_resource_without_columns_shows_its_age,
    a_single_object_is_a_table_of_one_row,
    a_table_may_carry_whole_objects_or_none,
    an_old_form_of_table_is_refused,
];

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// The names of the columns that are always shown, and those only `-o wide` shows.
fn columns(table: &Value) -> (Vec<String>, Vec<String>) {
    assert_eq!(table["kind"], "Table", "{table}");
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1");
    let definitions = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let of = |wide: bool| {
        let chosen = definitions.iter().filter(|column| (column["priority"] != 0) == wide);
        chosen.map(|column| column.text("/name").to_owned()).collect()
    };
    (of(false), of(true))
}

async fn table(cx: &Cx, path: &str) -> Value {
    cx.get_as(path, TABLE).await.ok()
}

async fn config_maps_show_how_much_they_hold(cx: Cx) {
    cx.config_map("a", json!({ "k": "v", "l": "w" })).await;
    let table = table(&cx, &cx.core("configmaps")).await;
    assert_eq!(columns(&table), (vec!["Name".to_owned(), "Data".into(), "Age".into()], vec![]));
    let cells = &table["rows"][0]["cells"];
    assert_eq!((&cells[0], &cells[1]), (&json!("a"), &json!(2)));
    assert_eq!(table["columnDefinitions"][0]["format"], "name");
    assert!(!table.text("/metadata/resourceVersion").is_empty());
    let object = &table["rows"][0]["object"];
    assert_eq!(object["kind"], "PartialObjectMetadata");
    assert_eq!(object["metadata"]["name"], "a");
}

async fn secrets_show_their_type(cx: Cx) {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "k": "" } });
    cx.post(&cx.core("secrets"), &secret).await.created();
    let table = table(&cx, &cx.core("secrets")).await;
    assert_eq!(columns(&table).0, ["Name", "Type", "Data", "Age"]);
    let cells = &table["rows"][0]["cells"];
    assert_eq!((&cells[0], &cells[1], &cells[2]), (&json!("a"), &json!("Opaque"), &json!(1)));
}

async fn namespaces_show_whether_they_are_active(cx: Cx) {
    let table = table(&cx, &format!("/api/v1/namespaces/{}", cx.ns)).await;
    assert_eq!(columns(&table).0, ["Name", "Status", "Age"]);
    assert_eq!(table["rows"][0]["cells"][1], "Active");
}

async fn leases_show_their_holder(cx: Cx) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" },
        "spec": { "holderIdentity": "me" },
    });
    let path = cx.group("coordination.k8s.io/v1", "leases");
    cx.post(&path, &lease).await.created();
    let table = table(&cx, &path).await;
    assert_eq!(columns(&table).0, ["Name", "Holder", "Age"]);
    assert_eq!(table["rows"][0]["cells"][1], "me");
}

async fn events_show_what_happened(cx: Cx) {
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a" }, "reason": "Tried", "message": "It was tried.\n",
        "involvedObject": { "kind": "ConfigMap", "name": "x", "namespace": cx.ns }, "type": "Normal", "count": 3,
    });
    cx.post(&cx.core("events"), &event).await.created();
    let table = table(&cx, &cx.core("events")).await;
    let (shown, wide) = columns(&table);
    assert_eq!(shown, ["Last Seen", "Type", "Reason", "Object", "Message"]);
    assert_eq!(wide, ["Subobject", "Source", "First Seen", "Count", "Name"]);
    let cells = table["rows"][0]["cells"].as_array().expect("cells").clone();
    assert_eq!(cells[1..4], [json!("Normal"), json!("Tried"), json!("configmap/x")]);
    assert!(cells.contains(&json!("It was tried.")), "{cells:?}");
}

async fn bindings_show_their_role(cx: Cx) {
    let rbac = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": { "name": "a" },
        "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "kind": "User", "name": "ann" }, { "kind": "ServiceAccount", "name": "bob", "namespace": "n" }],
    });
    let path = cx.group(&format!("{rbac}/v1"), "rolebindings");
    cx.post(&path, &binding).await.created();
    let table = table(&cx, &path).await;
    let (shown, wide) = columns(&table);
    assert_eq!(shown, ["Name", "Role", "Age"]);
    assert_eq!(wide, ["Users", "Groups", "ServiceAccounts"]);
    let cells = &table["rows"][0]["cells"];
    assert_eq!(cells[1], "ClusterRole/view");
    assert_eq!((&cells[3], &cells[4], &cells[5]), (&json!("ann"), &json!(""), &json!("n/bob")));
}

async fn definitions_show_when_they_were_made(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let table = table(&cx, &crd.definition_path()).await;
    assert_eq!(columns(&table).0, ["Name", "Created At"]);
    assert_eq!(table["rows"][0]["cells"][1], crd["metadata"]["creationTimestamp"]);
}

async fn service_accounts_show_their_age(cx: Cx) {
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "a" } });
    cx.post(&cx.core("serviceaccounts"), &account).await.created();
    let table = table(&cx, &cx.core("serviceaccounts")).await;
    assert_eq!(columns(&table).0, ["Name", "Age"]);
}

async fn a_custom_resource_shows_its_own_columns(cx: Cx) {
    let columns_of_widgets = json!([
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How big." },
        { "name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1 },
        { "name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
        { "name": "Missing", "type": "string", "jsonPath": ".spec.none" },
    ]);
    let crd = Crd::simple(&cx).set("additionalPrinterColumns", columns_of_widgets).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 3, "color": "red" }))).await.created();
    let table = table(&cx, &crd.path("")).await;
    let (shown, wide) = columns(&table);
    assert_eq!(shown, ["Name", "Size", "Since", "Missing"]);
    assert_eq!(wide, ["Color"]);
    assert_eq!(table["columnDefinitions"][1]["description"], "How big.");
    let cells = &table["rows"][0]["cells"];
    assert_eq!((&cells[0], &cells[1], &cells[2]), (&json!("a"), &json!(3), &json!("red")));
    assert!(cells[3].as_str().is_some_and(|age| age.ends_with('s')), "an age: {cells}");
    assert_eq!(cells[4], json!(null));
}

async fn a_custom_resource_without_columns_shows_its_age(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({}))).await.created();
    let table = table(&cx, &crd.path("")).await;
    assert_eq!(columns(&table).0, ["Name", "Age"]);
}

async fn a_single_object_is_a_table_of_one_row(cx: Cx) {
    cx.config_map("a", json!({})).await;
    cx.config_map("b", json!({})).await;
    let table = table(&cx, &cx.core("configmaps/a")).await;
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(table["rows"][0]["cells"][0], "a");
}

async fn a_table_may_carry_whole_objects_or_none(cx: Cx) {
    cx.config_map("a", json!({ "k": "v" })).await;
    let whole = table(&cx, &cx.core("configmaps?includeObject=Object")).await;
    assert_eq!(whole["rows"][0]["object"]["data"]["k"], "v");
    let none = table(&cx, &cx.core("configmaps?includeObject=None")).await;
    assert_eq!(none["rows"][0]["object"], json!(null));
}

async fn an_old_form_of_table_is_refused(cx: Cx) {
    let answer = cx.get_as(&cx.core("configmaps"), "application/json;as=Table;v=v1alpha1;g=meta.k8s.io").await;
    answer.refused_with(406, "NotAcceptable", "only the following media types are accepted: application/json");
}
