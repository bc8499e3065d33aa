//! Definitions of custom resources: how they are accepted, refused and served.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases};
use serde_json::{Value, json};

use crate::kubernetes::crd::{Crd, DEFINITIONS};

pub(super) static CASES: &[Case] = cases![
    a_definition_is_accepted_and_established,
    a_definition_needs_a_structural_schema,
    a_definition_must_be_named_after_what_it_defines,
    a_definition_needs_exactly_one_stored_version,
    a_bad_rule_is_refused_with_the_definition,
    a_default_must_fit_its_own_schema,
    a_deleted_definition_takes_its_objects_with_it,
    the_generation_counts_changes_of_the_spec,
    the_status_subresource_changes_the_status_alone,
    without_the_subresource_the_status_is_a_field_like_others,
    a_scale_is_read_and_written,
    a_cluster_scoped_kind_has_no_namespace,
    a_kind_in_two_versions_is_one_kind,
    a_version_that_is_not_served_is_not_found,
    a_new_version_of_the_schema_is_obeyed,
    short_names_and_categories_are_told_by_discovery,
    a_kind_of_a_group_that_belongs_to_kubernetes_needs_approval,
    custom_resources_know_no_strategic_patch,
    selectable_fields_can_be_selected_by,
    a_widget_of_the_wrong_kind_is_refused,
];

async fn a_definition_is_accepted_and_established(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let conditions = crd.texts("/status/conditions", "/type");
    assert!(conditions.contains(&"NamesAccepted".to_owned()), "{conditions:?}");
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(crd["status"]["acceptedNames"]["kind"], "Widget");
    assert_eq!(crd["spec"]["conversion"], json!({ "strategy": "None" }));
    let condition = |name: &str| {
        let conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == name).expect("the condition")
    };
    assert_eq!(condition("Established")["reason"], "InitialNamesAccepted");
    assert_eq!(condition("NamesAccepted")["reason"], "NoConflicts");
}

async fn a_definition_needs_a_structural_schema(cx: Cx) {
    let draft = Crd::of(&cx, json!({ "spec": { "properties": { "size": { "type": "integer" } } } }));
    let answer = cx.post(DEFINITIONS, &draft.definition()).await;
    // Told as the field that a definition with one version had in its first years.
    let field = "spec.validation.openAPIV3Schema.properties[spec].type";
    let message = format!("{field}: Required value: must not be empty for specified object fields");
    let status = answer.refused_with(422, "Invalid", &message);
    assert_eq!(status["details"]["causes"][0]["field"], field);
    let mut definition = Crd::simple(&cx).definition();
    definition["spec"]["versions"][0].as_object_mut().expect("a version").remove("schema");
    let answer = cx.post(DEFINITIONS, &definition).await;
    answer.refused_with(422, "Invalid", "spec.versions[0].schema.openAPIV3Schema: Required value");
}

async fn a_definition_must_be_named_after_what_it_defines(cx: Cx) {
    let mut definition = Crd::simple(&cx).definition();
    definition["metadata"]["name"] = json!("gadgets.example.com");
    let answer = cx.post(DEFINITIONS, &definition).await;
    let message = "metadata.name: Invalid value: \"gadgets.example.com\": must be spec.names.plural+\".\"+spec.group";
    answer.refused_with(422, "Invalid", message);
}

async fn a_definition_needs_exactly_one_stored_version(cx: Cx) {
    let mut definition = Crd::simple(&cx).definition();
    definition["spec"]["versions"][0]["storage"] = json!(false);
    let answer = cx.post(DEFINITIONS, &definition).await;
    answer.refused_with(422, "Invalid", "must have exactly one version marked as storage version");
}

async fn a_bad_rule_is_refused_with_the_definition(cx: Cx) {
    let rule = json!([{ "rule": "self.size >", "message": "m" }]);
    let spec = json!({
        "type": "object", "properties": { "size": { "type": "integer" } }, "x-kubernetes-validations": rule,
    });
    let answer = cx.post(DEFINITIONS, &Crd::of(&cx, json!({ "spec": spec })).definition()).await;
    let message = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ";
    answer.refused_with(422, "Invalid", message);
}

async fn a_default_must_fit_its_own_schema(cx: Cx) {
    let spec = json!({ "type": "object", "properties": { "size": { "type": "integer", "default": "big" } } });
    let answer = cx.post(DEFINITIONS, &Crd::of(&cx, json!({ "spec": spec })).definition()).await;
    let message =
        "spec.validation.openAPIV3Schema.properties[spec].properties[size].default: Invalid value: \"string\":";
    answer.refused_with(422, "Invalid", message);
}

async fn a_deleted_definition_takes_its_objects_with_it(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({}))).await.created();
    cx.delete(&crd.definition_path()).await.ok();
    cx.until(&crd.definition_path(), |answer| answer.code == 404).await;
    let gone = cx.until(&crd.path("/a"), |answer| answer.code == 404).await;
    assert_eq!(gone.code, 404);
    // The same kind again begins empty.
    let again = Crd::simple(&cx).create().await;
    assert_eq!(cx.get(&again.path("")).await.ok()["items"], json!([]));
}

async fn the_generation_counts_changes_of_the_spec(cx: Cx) {
    let crd = Crd::simple(&cx).with_status().create().await;
    let mut widget = crd.widget("a", json!({ "size": 1 }));
    widget["metadata"]["generation"] = json!(7);
    let made = cx.post(&crd.path(""), &widget).await.created();
    assert_eq!(made["metadata"]["generation"], 1);
    let generation = async |path: &str, patch: Value| {
        cx.patch(&crd.path(path), Patch::Merge, &patch).await.ok()["metadata"]["generation"].clone()
    };
    assert_eq!(generation("/a", json!({ "spec": { "size": 2 } })).await, 2);
    assert_eq!(generation("/a", json!({ "metadata": { "labels": { "a": "b" } } })).await, 2);
    assert_eq!(generation("/a/status", json!({ "status": { "phase": "Ready" } })).await, 2);
    assert_eq!(generation("/a", json!({ "metadata": { "generation": 9 } })).await, 2);
}

async fn the_status_subresource_changes_the_status_alone(cx: Cx) {
    let crd = Crd::simple(&cx).with_status().create().await;
    let mut widget = crd.widget("a", json!({ "size": 1 }));
    widget["status"] = json!({ "phase": "Early" });
    let made = cx.post(&crd.path(""), &widget).await.created();
    assert_eq!(made["status"], json!(null), "a creation cannot set it");
    let patch =
        json!({ "spec": { "size": 2 }, "status": { "phase": "Ready" }, "metadata": { "labels": { "a": "b" } } });
    let object = cx.patch(&crd.path("/a/status"), Patch::Merge, &patch).await.ok();
    assert_eq!(object["status"], json!({ "phase": "Ready" }));
    assert_eq!(object["spec"], json!({ "size": 1 }));
    assert_eq!(object["metadata"]["labels"], json!(null));
    let patch = json!({ "spec": { "size": 3 }, "status": { "phase": "Wrong" } });
    let object = cx.patch(&crd.path("/a"), Patch::Merge, &patch).await.ok();
    assert_eq!(object["status"], json!({ "phase": "Ready" }));
    assert_eq!(object["spec"], json!({ "size": 3 }));
}

async fn without_the_subresource_the_status_is_a_field_like_others(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let mut widget = crd.widget("a", json!({}));
    widget["status"] = json!({ "phase": "Ready" });
    assert_eq!(cx.post(&crd.path(""), &widget).await.created()["status"]["phase"], "Ready");
    let answer = cx.patch(&crd.path("/a/status"), Patch::Merge, &json!({ "status": {} })).await;
    answer.refused(404, "NotFound", &format!("widgets.{} \"a\" not found", crd.group));
}

async fn a_scale_is_read_and_written(cx: Cx) {
    let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
    let crd = Crd::simple(&cx).set("subresources", json!({ "status": {}, "scale": scale })).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 2 }))).await.created();
    let mut scale = cx.get(&crd.path("/a/scale")).await.ok();
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["apiVersion"], "autoscaling/v1");
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["replicas"]), (&json!(2), &json!(0)));
    scale["spec"]["replicas"] = json!(5);
    assert_eq!(cx.put(&crd.path("/a/scale"), &scale).await.ok()["spec"]["replicas"], 5);
    assert_eq!(cx.get(&crd.path("/a")).await.ok()["spec"]["size"], 5);
}

async fn a_cluster_scoped_kind_has_no_namespace(cx: Cx) {
    let draft = Crd::simple(&cx);
    let mut definition = draft.definition();
    definition["spec"]["scope"] = json!("Cluster");
    cx.post(DEFINITIONS, &definition).await.created();
    let group = definition.text("/spec/group").to_owned();
    let path = format!("/apis/{group}/v1/widgets");
    cx.until(&path, |answer| answer.code == 200).await;
    let widget = json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "a" } });
    let made = cx.post(&path, &widget).await.created();
    assert_eq!(made["metadata"]["namespace"], json!(null));
    let answer = cx.get(&cx.group(&format!("{group}/v1"), "widgets/a")).await;
    assert_eq!(answer.code, 404, "{}", answer.text);
}

async fn two_versions(cx: &Cx, second_served: bool) -> Crd {
    let draft = Crd::simple(cx);
    let mut definition = draft.definition();
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    second["served"] = json!(second_served);
    definition["spec"]["versions"].as_array_mut().expect("versions").push(second);
    draft.create_as(definition).await
}

async fn a_kind_in_two_versions_is_one_kind(cx: Cx) {
    let crd = two_versions(&cx, true).await;
    let made = cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 1 }))).await.created();
    let path = crd.path("/a").replace("/v1/", "/v2/");
    let same = cx.until(&path, |answer| answer.code == 200).await.ok();
    assert_eq!(same["apiVersion"], format!("{}/v2", crd.group));
    assert_eq!(same["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(same["spec"], made["spec"]);
}

async fn a_version_that_is_not_served_is_not_found(cx: Cx) {
    let crd = two_versions(&cx, false).await;
    let answer = cx.get(&crd.path("").replace("/v1/", "/v2/")).await;
    assert_eq!(answer.code, 404, "{}", answer.text);
}

async fn a_new_version_of_the_schema_is_obeyed(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 1 }))).await.created();
    let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum";
    let patch = json!([{ "op": "add", "path": field, "value": 10 }]);
    cx.patch(&crd.definition_path(), Patch::Json, &patch).await.ok();
    // It takes a moment until the new schema is the one that is asked.
    for attempt in 0.. {
        let name = format!("b{attempt}");
        let answer = cx.post(&crd.path("?dryRun=All"), &crd.widget(&name, json!({ "size": 11 }))).await;
        if answer.code == 422 {
            answer.refused_with(422, "Invalid", "spec.size in body should be less than or equal to 10");
            break;
        }
        assert!(attempt < 500, "the old schema is still obeyed");
        kube_sandbox::clock::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn short_names_and_categories_are_told_by_discovery(cx: Cx) {
    let draft = Crd::simple(&cx);
    let mut definition = draft.definition();
    definition["spec"]["names"]["shortNames"] = json!(["wd"]);
    definition["spec"]["names"]["categories"] = json!(["all"]);
    let crd = draft.create_as(definition).await;
    let list = cx.until(&format!("/apis/{}/v1", crd.group), |answer| answer.code == 200).await.ok();
    let resource = &list["resources"][0];
    assert_eq!(resource["name"], "widgets");
    assert_eq!(resource["singularName"], "widget");
    assert_eq!(resource["shortNames"], json!(["wd"]));
    assert_eq!(resource["categories"], json!(["all"]));
    let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    assert_eq!(resource["verbs"], json!(verbs));
}

async fn a_kind_of_a_group_that_belongs_to_kubernetes_needs_approval(cx: Cx) {
    let mut definition = Crd::simple(&cx).definition();
    definition["spec"]["group"] = json!("suite.k8s.io");
    definition["metadata"]["name"] = json!("widgets.suite.k8s.io");
    let answer = cx.post(DEFINITIONS, &definition).await;
    let message = "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval \
                   annotation \"api-approved.kubernetes.io\"";
    answer.refused_with(422, "Invalid", message);
}

async fn custom_resources_know_no_strategic_patch(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({}))).await.created();
    let answer = cx.patch(&crd.path("/a"), Patch::Strategic, &json!({ "spec": { "size": 1 } })).await;
    answer.refused_with(415, "UnsupportedMediaType", "");
}

async fn selectable_fields_can_be_selected_by(cx: Cx) {
    let crd = Crd::simple(&cx).set("selectableFields", json!([{ "jsonPath": ".spec.color" }])).create().await;
    for (name, color) in [("a", "red"), ("b", "blue")] {
        cx.post(&crd.path(""), &crd.widget(name, json!({ "color": color }))).await.created();
    }
    let list = cx.get(&crd.path("?fieldSelector=spec.color%3Dblue")).await.ok();
    assert_eq!(list.texts("/items", "/metadata/name"), ["b"]);
    let answer = cx.get(&crd.path("?fieldSelector=spec.size%3D1")).await;
    answer.refused(400, "BadRequest", "field label not supported: spec.size");
}

async fn a_widget_of_the_wrong_kind_is_refused(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let mut widget = crd.widget("a", json!({}));
    widget["kind"] = json!("Gadget");
    let answer = cx.post(&crd.path(""), &widget).await;
    let message = format!("Gadget.{} \"a\" is invalid: kind: Invalid value: \"Gadget\": must be Widget", crd.group);
    answer.refused(422, "Invalid", &message);
}
