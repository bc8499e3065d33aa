//! What an operator written with `kube` needs: leases, events, owners of fields, reviews of rights.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::Secret,
    events::v1::Event,
};
use kube::{
    Api, Resource as _,
    api::{ListParams, PostParams},
    runtime::{
        WatchStreamExt as _,
        events::{Event as News, EventType, Recorder, Reporter},
        watcher,
    },
};
use kube_sandbox::{
    clock,
    contract::{Case, Cx, Json as _, PATIENCE, Patch, cases},
};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    a_watcher_with_a_selector_sees_its_own_only,
    a_lease_is_taken_over_when_its_holder_is_silent,
    a_recorder_tells_and_counts_what_happened,
    one_manager_applies_a_status_again_and_again,
    a_status_of_another_manager_is_taken_by_force,
    rights_are_asked_for_before_anything_is_tried,
];

async fn a_watcher_with_a_selector_sees_its_own_only(cx: Cx) {
    let secrets: Api<Secret> = Api::namespaced(cx.client.clone(), &cx.ns);
    let make = async |name: &str, labels: Value| {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "labels": labels }, "stringData": {},
        });
        cx.post(&cx.core("secrets"), &secret).await.created();
    };
    make("mine", json!({ "operator.example.com/runtime": "a" })).await;
    make("other", json!({})).await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let config = config.labels("operator.example.com/runtime");
        let mut seen = watcher(secrets.clone(), config).default_backoff().applied_objects().boxed();
        let first = clock::within(PATIENCE, seen.try_next()).await.expect("in time").expect("a watch").expect("one");
        assert_eq!(first.meta().name.as_deref(), Some("mine"));
        let label = |value: Value| json!({ "metadata": { "labels": { "operator.example.com/runtime": value } } });
        cx.patch(&cx.core("secrets/other"), Patch::Merge, &label(json!("b"))).await.ok();
        let next = clock::within(PATIENCE, seen.try_next()).await.expect("in time").expect("a watch").expect("one");
        assert_eq!(next.meta().name.as_deref(), Some("other"));
        cx.patch(&cx.core("secrets/other"), Patch::Merge, &label(Value::Null)).await.ok();
    }
}

async fn a_lease_is_taken_over_when_its_holder_is_silent(cx: Cx) {
    const LEASES: &str = "coordination.k8s.io/v1";
    let lease = json!({
        "apiVersion": LEASES, "kind": "Lease", "metadata": { "name": "leader" },
        "spec": {
            "holderIdentity": "one", "leaseDurationSeconds": 15, "leaseTransitions": 0,
            "acquireTime": "2026-01-01T00:00:00.123456Z", "renewTime": "2026-01-01T00:00:00.123456Z",
        },
    });
    let made = cx.post(&cx.group(LEASES, "leases"), &lease).await.created();
    assert_eq!(made["spec"]["renewTime"], "2026-01-01T00:00:00.123456Z", "parts of a second are kept");
    let path = cx.group(LEASES, "leases/leader");
    let mut taken = made.clone();
    taken["spec"]["holderIdentity"] = json!("two");
    taken["spec"]["leaseTransitions"] = json!(1);
    taken["spec"]["renewTime"] = json!("2026-01-01T00:01:00.000001Z");
    assert_eq!(cx.put(&path, &taken).await.ok()["spec"], taken["spec"]);
    let mut renewed = made;
    renewed["spec"]["renewTime"] = json!("2026-01-01T00:01:01.000000Z");
    let late = cx.put(&path, &renewed).await;
    late.refused_with(409, "Conflict", "the object has been modified; please apply your changes to the latest version");
    let give_up = json!({ "spec": { "holderIdentity": "", "leaseDurationSeconds": 1 } });
    let free = cx.patch(&path, Patch::Merge, &give_up).await.ok();
    assert_eq!(free["spec"].get("holderIdentity"), Some(&json!("")));
    let wrong = cx.patch(&path, Patch::Merge, &json!({ "spec": { "leaseDurationSeconds": 0 } })).await;
    wrong.refused_with(422, "Invalid", "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0");
}

async fn a_recorder_tells_and_counts_what_happened(cx: Cx) {
    let reporter = Reporter { controller: "widget-manager".to_owned(), instance: Some("pod-0".to_owned()) };
    let recorder = Recorder::new(cx.client.clone(), reporter);
    let made = cx.config_map("a", json!({})).await;
    let object: k8s_openapi::api::core::v1::ConfigMap = serde_json::from_value(made).expect("a ConfigMap");
    let news = News {
        type_: EventType::Warning,
        reason: "WidgetFailed".to_owned(),
        note: Some("The widget has failed".to_owned()),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder.publish(&news, &object.object_ref(&())).await.expect("an event");
    }
    let events: Api<Event> = Api::namespaced(cx.client.clone(), &cx.ns);
    let listed = events.list(&ListParams::default()).await.expect("events").items;
    assert_eq!(listed.len(), 1, "one event, counted: {listed:?}");
    let event = &listed[0];
    assert_eq!(event.reason.as_deref(), Some("WidgetFailed"));
    assert_eq!(event.reporting_controller.as_deref(), Some("widget-manager"));
    assert_eq!(event.series.as_ref().map(|series| series.count), Some(3));
    let old = cx.get(&cx.core("events?fieldSelector=involvedObject.name%3Da,type%3DWarning")).await.ok();
    assert_eq!(old.texts("/items", "/message"), ["The widget has failed"], "those who ask the old way see it too");
}

fn condition(status: &str) -> Value {
    json!([{ "type": "Ready", "status": status, "reason": "Tried", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }])
}

async fn widgets(cx: &Cx) -> Crd {
    let text = json!({ "type": "string" });
    let condition = json!({
        "type": "object", "required": ["type"],
        "properties": { "type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text },
    });
    let conditions = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition,
    });
    let properties = json!({
        "spec": { "type": "object", "properties": { "size": { "type": "integer" } } },
        "status": { "type": "object", "properties": { "state": text, "conditions": conditions } },
    });
    Crd::of(cx, properties).with_status().create().await
}

fn status_of(crd: &Crd, status: Value) -> Value {
    json!({ "apiVersion": format!("{}/v1", crd.group), "kind": "Widget", "metadata": { "name": "a" }, "status": status })
}

async fn one_manager_applies_a_status_again_and_again(cx: Cx) {
    let crd = widgets(&cx).await;
    let made = cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 1 }))).await.created();
    let path = crd.path("/a/status");
    let first = status_of(&crd, json!({ "state": "Pending", "conditions": condition("False") }));
    let applied = cx.apply(&path, "manager", "&force=true", &first).await.ok();
    assert_eq!(applied["status"], first["status"]);
    assert_eq!(applied["metadata"]["generation"], made["metadata"]["generation"]);
    let same = cx.apply(&path, "manager", "&force=true", &first).await.ok();
    assert_eq!(same["metadata"]["resourceVersion"], applied["metadata"]["resourceVersion"], "nothing has changed");
    let ready = status_of(&crd, json!({ "conditions": condition("True") }));
    let applied = cx.apply(&path, "manager", "&force=true", &ready).await.ok();
    assert_eq!(applied["status"], ready["status"], "what it does not apply any more goes");
    let mut managers = applied.texts("/metadata/managedFields", "/manager");
    managers.sort();
    assert_eq!(managers.iter().filter(|one| *one == "manager").count(), 1, "{managers:?}");
    let missing = json!({ "apiVersion": format!("{}/v1", crd.group), "kind": "Widget", "metadata": { "name": "b" }, "status": {} });
    cx.apply(&crd.path("/b/status"), "manager", "&force=true", &missing).await.refused_with(
        404,
        "NotFound",
        "\"b\" not found",
    );
}

async fn a_status_of_another_manager_is_taken_by_force(cx: Cx) {
    let crd = widgets(&cx).await;
    cx.post(&crd.path(""), &crd.widget("a", json!({}))).await.created();
    let path = crd.path("/a/status");
    cx.apply(&path, "one", "", &status_of(&crd, json!({ "state": "Pending" }))).await.ok();
    let other = status_of(&crd, json!({ "state": "Ready" }));
    cx.apply(&path, "two", "", &other).await.refused_with(409, "Conflict", "conflict with \"one\"");
    let taken = cx.apply(&path, "two", "&force=true", &other).await.ok();
    assert_eq!(taken["status"]["state"], "Ready");
}

async fn rights_are_asked_for_before_anything_is_tried(cx: Cx) {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(cx.client.clone());
    let attributes = ResourceAttributes {
        group: Some("apps".to_owned()),
        resource: Some("deployments".to_owned()),
        verb: Some("patch".to_owned()),
        namespace: Some(cx.ns.clone()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let answer = reviews.create(&PostParams::default(), &review).await.expect("a review");
    assert!(answer.status.expect("a status").allowed);
    let nobody = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": { "user": "nobody", "resourceAttributes": { "verb": "get", "resource": "secrets", "namespace": cx.ns } },
    });
    let answer = cx.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &nobody).await.created();
    assert_eq!(answer["status"]["allowed"], false);
    let nothing = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {} });
    let answer = cx.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &nothing).await;
    answer.refused_with(422, "Invalid", "exactly one of nonResourceAttributes or resourceAttributes must be specified");
}
