//! How clients learn what a server can do: discovery, OpenAPI, version, health.

use kube_sandbox::contract::{Case, Cx, Json as _, cases};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    the_core_group_lists_its_resources,
    the_groups_are_listed_with_their_versions,
    a_group_lists_its_resources,
    all_groups_come_in_one_answer_when_asked,
    the_core_group_comes_in_one_answer_when_asked,
    a_new_kind_appears_in_discovery,
    an_unknown_group_is_not_found,
    openapi_v3_is_indexed_by_group,
    openapi_v3_describes_a_built_in_kind,
    openapi_v3_describes_a_custom_kind,
    openapi_v3_lists_the_parameters_of_a_patch,
    openapi_v2_describes_everything,
    the_version_can_be_parsed,
    health_is_told_in_plain_text,
    an_unknown_path_is_not_found,
];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The resource of this name in a list.
fn resource<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list["resources"].as_array().and_then(|all| all.iter().find(|resource| resource["name"] == name));
    found.unwrap_or_else(|| panic!("{name} is not listed"))
}

async fn the_core_group_lists_its_resources(cx: Cx) {
    let versions = cx.get("/api").await.ok();
    assert_eq!(versions["kind"], "APIVersions");
    assert_eq!(versions["versions"], json!(["v1"]));
    let list = cx.get("/api/v1").await.ok();
    assert_eq!(list["kind"], "APIResourceList");
    assert_eq!(list["groupVersion"], "v1");
    let maps = resource(&list, "configmaps");
    assert_eq!((&maps["kind"], &maps["namespaced"]), (&json!("ConfigMap"), &json!(true)));
    assert_eq!(maps["shortNames"], json!(["cm"]));
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    assert_eq!(maps["verbs"], json!(verbs));
    assert_eq!(resource(&list, "namespaces")["namespaced"], false);
    let token = resource(&list, "serviceaccounts/token");
    assert_eq!(token["kind"], "TokenRequest");
    assert_eq!(token["group"], "authentication.k8s.io");
    resource(&list, "namespaces/status");
    resource(&list, "namespaces/finalize");
}

async fn the_groups_are_listed_with_their_versions(cx: Cx) {
    let list = cx.get("/apis").await.ok();
    assert_eq!(list["kind"], "APIGroupList");
    let groups = list["groups"].as_array().expect("groups");
    for (group, version) in [
        ("apiextensions.k8s.io", "v1"),
        ("rbac.authorization.k8s.io", "v1"),
        ("coordination.k8s.io", "v1"),
        ("authorization.k8s.io", "v1"),
        ("authentication.k8s.io", "v1"),
    ] {
        let found = groups.iter().find(|found| found["name"] == group).unwrap_or_else(|| panic!("{group}"));
        let preferred = json!({ "groupVersion": format!("{group}/{version}"), "version": version });
        assert_eq!(found["preferredVersion"], preferred);
        assert!(found["versions"].as_array().is_some_and(|versions| versions.contains(&preferred)), "{found}");
    }
    let group = cx.get("/apis/coordination.k8s.io").await.ok();
    assert_eq!((&group["kind"], &group["name"]), (&json!("APIGroup"), &json!("coordination.k8s.io")));
}

async fn a_group_lists_its_resources(cx: Cx) {
    let list = cx.get("/apis/apiextensions.k8s.io/v1").await.ok();
    let definitions = resource(&list, "customresourcedefinitions");
    assert_eq!(definitions["shortNames"], json!(["crd", "crds"]));
    assert_eq!(definitions["namespaced"], false);
    assert_eq!(definitions["categories"], json!(["api-extensions"]));
    resource(&list, "customresourcedefinitions/status");
}

async fn aggregated(cx: &Cx, path: &str) -> Value {
    let answer = cx.get_as(path, AGGREGATED).await;
    let content = answer.headers["content-type"].to_str().expect("text").to_owned();
    assert_eq!(content, AGGREGATED, "kubectl reads the answer by its type");
    let list = answer.ok();
    assert_eq!(list["kind"], "APIGroupDiscoveryList");
    assert_eq!(list["apiVersion"], "apidiscovery.k8s.io/v2");
    list
}

async fn all_groups_come_in_one_answer_when_asked(cx: Cx) {
    let list = aggregated(&cx, "/apis").await;
    let groups = list["items"].as_array().expect("items");
    let rbac = groups.iter().find(|group| group["metadata"]["name"] == "rbac.authorization.k8s.io").expect("rbac");
    assert_eq!(rbac["versions"][0]["version"], "v1");
    assert_eq!(rbac["versions"][0]["freshness"], "Current");
    let resources = rbac["versions"][0]["resources"].as_array().expect("resources");
    let roles = resources.iter().find(|resource| resource["resource"] == "roles").expect("roles");
    assert_eq!(roles["responseKind"]["kind"], "Role");
    assert_eq!((&roles["scope"], &roles["singularResource"]), (&json!("Namespaced"), &json!("role")));
}

async fn the_core_group_comes_in_one_answer_when_asked(cx: Cx) {
    let list = aggregated(&cx, "/api").await;
    let version = &list["items"][0]["versions"][0];
    assert_eq!(version["version"], "v1");
    let resources = version["resources"].as_array().expect("resources");
    let accounts = resources.iter().find(|resource| resource["resource"] == "serviceaccounts").expect("accounts");
    assert_eq!(accounts["subresources"][0]["subresource"], "token");
    assert_eq!(accounts["shortNames"], json!(["sa"]));
}

async fn a_new_kind_appears_in_discovery(cx: Cx) {
    let crd = Crd::simple(&cx).with_status().create().await;
    let list = cx.until(&format!("/apis/{}/v1", crd.group), |answer| answer.code == 200).await.ok();
    assert_eq!(list.texts("/resources", "/name"), ["widgets", "widgets/status"]);
    assert_eq!(resource(&list, "widgets/status")["verbs"], json!(["get", "patch", "update"]));
    // The list of all groups follows a little later.
    let listed = |answer: &kube_sandbox::contract::Answer| answer.text.contains(&crd.group);
    cx.until("/apis", listed).await;
    let found = async {
        loop {
            let list = aggregated(&cx, "/apis").await;
            let groups = list["items"].as_array().cloned().unwrap_or_default();
            if let Some(group) = groups.into_iter().find(|group| group["metadata"]["name"] == crd.group.as_str()) {
                return group;
            }
            kube_sandbox::clock::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let group = kube_sandbox::clock::within(kube_sandbox::contract::PATIENCE, found).await.expect("it appears");
    assert_eq!(group["versions"][0]["resources"][0]["subresources"][0]["subresource"], "status");
}

async fn an_unknown_group_is_not_found(cx: Cx) {
    let answer = cx.get("/apis/unheard-of.example.com/v1").await;
    assert_eq!(answer.code, 404);
    let answer = cx.get("/apis/unheard-of.example.com/v1/things").await;
    assert_eq!(answer.code, 404);
    let answer = cx.get(&cx.core("things")).await;
    answer.refused(404, "NotFound", "the server could not find the requested resource");
}

async fn openapi_v3_is_indexed_by_group(cx: Cx) {
    let index = cx.get("/openapi/v3").await.ok();
    for path in ["api/v1", "apis/rbac.authorization.k8s.io/v1", "apis/apiextensions.k8s.io/v1"] {
        let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap_or_else(|| panic!("{path}"));
        assert!(url.starts_with(&format!("/openapi/v3/{path}?hash=")), "{url}");
        let answer = cx.get(url).await;
        assert_eq!(answer.ok()["openapi"], "3.0.0");
    }
}

/// The schema of a kind in a document.
fn schema<'a>(document: &'a Value, group: &str, kind: &str) -> &'a Value {
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let is_it = |schema: &&Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|k| k["kind"] == kind && k["group"] == group))
    };
    schemas.values().find(is_it).unwrap_or_else(|| panic!("{kind} is not described"))
}

async fn openapi_v3_describes_a_built_in_kind(cx: Cx) {
    let document = cx.get("/openapi/v3/api/v1").await.ok();
    let map = schema(&document, "", "ConfigMap");
    assert_eq!(map["properties"]["data"]["type"], "object");
    assert_eq!(map["properties"]["data"]["additionalProperties"]["type"], "string");
    assert!(!map.text("/description").is_empty());
}

async fn openapi_v3_describes_a_custom_kind(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let path = format!("/openapi/v3/apis/{}/v1", crd.group);
    let document = cx.until(&path, |answer| answer.code == 200).await.ok();
    let widget = schema(&document, &crd.group, "Widget");
    assert_eq!(widget["properties"]["spec"]["properties"]["size"]["type"], "integer");
}

async fn openapi_v3_lists_the_parameters_of_a_patch(cx: Cx) {
    let document = cx.get("/openapi/v3/api/v1").await.ok();
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
    let parameters = patch.texts("/parameters", "/name");
    for name in ["dryRun", "fieldManager", "fieldValidation", "force"] {
        assert!(parameters.contains(&name.to_owned()), "kubectl refuses to work without {name}: {parameters:?}");
    }
    let kind = json!({ "group": "", "kind": "ConfigMap", "version": "v1" });
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
}

async fn openapi_v2_describes_everything(cx: Cx) {
    let document = cx.get("/openapi/v2").await.ok();
    assert_eq!(document["swagger"], "2.0");
    let definitions = document["definitions"].as_object().expect("definitions");
    assert!(definitions.contains_key("io.k8s.api.core.v1.ConfigMap"));
}

async fn the_version_can_be_parsed(cx: Cx) {
    let version = cx.get("/version").await.ok();
    assert_eq!(version["major"], "1");
    assert!(version.text("/minor").parse::<u32>().is_ok(), "{version}");
    assert!(version.text("/gitVersion").starts_with("v1."), "{version}");
}

async fn health_is_told_in_plain_text(cx: Cx) {
    for path in ["/healthz", "/readyz", "/livez"] {
        let answer = cx.get(path).await;
        assert_eq!((answer.code, answer.text.as_str()), (200, "ok"), "{path}");
    }
    let verbose = cx.get("/readyz?verbose").await;
    assert!(
        verbose.text.starts_with("[+]ping ok\n") && verbose.text.ends_with("readyz check passed\n"),
        "{}",
        verbose.text
    );
}

async fn an_unknown_path_is_not_found(cx: Cx) {
    let answer = cx.get("/nonsense").await;
    assert_eq!(answer.code, 404);
}
