//! The Reconciler as its clients see it.

use http::{Request, header};
use serde_json::Value;

use super::*;
use crate::{clock, systems::Systems};

fn payload() -> Value {
    let kubeconfig = "apiVersion: v1\nclusters:\n- name: c\n  cluster:\n    server: https://c.example.com\n";
    json!({
        "runtimeID": "r-1", "runtimeInput": { "name": "shop", "description": "" },
        "kymaConfig": { "version": "2.10.1", "profile": "Production", "administrators": [], "components": [
            { "component": "istio", "namespace": "istio-system", "URL": "", "version": "", "configuration": [
                { "key": "global.domainName", "value": "c.example.com", "secret": false } ] } ] },
        "metadata": { "globalAccountID": "a", "subAccountID": "", "serviceID": "", "servicePlanID": "",
            "servicePlanName": "", "shootName": "c-1", "instanceID": "", "region": "eu" },
        "kubeconfig": kubeconfig,
    })
}

async fn send(reconciler: &Reconciler, line: &str, body: Option<&Value>) -> (u16, Value) {
    let (method, path) = line.split_once(' ').expect("method and path");
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    let body = body.map(ToString::to_string).unwrap_or_default();
    let systems = Systems { reconciler: reconciler.clone(), ..Systems::default() };
    let answer = systems.exchange("reconciler", request.body(body.into()).expect("request")).await.expect("an answer");
    (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or(Value::Null))
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_its_time_and_the_same_content_keeps_its_version() {
    let reconciler = Reconciler::default();
    let (_, first) = send(&reconciler, "POST /v1/clusters", Some(&payload())).await;
    assert_eq!((&first["configurationVersion"], &first["status"]), (&json!(1), &json!("reconcile_pending")));
    clock::sleep(Pace::USUAL.pending).await;
    let status = "GET /v1/clusters/r-1/configs/1/status";
    assert_eq!(send(&reconciler, status, None).await.1["status"], "reconciling");
    clock::sleep(Pace::USUAL.reconciling).await;
    assert_eq!(send(&reconciler, status, None).await.1["status"], "ready");
    let (_, again) = send(&reconciler, "POST /v1/clusters", Some(&payload())).await;
    assert_eq!((&again["configurationVersion"], &again["status"]), (&json!(1), &json!("reconcile_pending")));
    let mut other = payload();
    other["kymaConfig"]["version"] = json!("2.11.0");
    assert_eq!(send(&reconciler, "POST /v1/clusters", Some(&other)).await.1["configurationVersion"], 2);
    assert_eq!(send(&reconciler, status, None).await.0, 404, "that version is of the past");
    assert!(reconciler.complaints().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_script_makes_a_run_stumble_and_fail() {
    let reconciler = Reconciler::default();
    reconciler.set_pace(Pace::NONE);
    let fails = Some(("istio".to_owned(), "no room".to_owned()));
    reconciler.script("r-1", Script { stumbles: 1, fails });
    assert_eq!(send(&reconciler, "POST /v1/clusters", Some(&payload())).await.1["status"], "reconcile_error_retryable");
    let (_, failed) = send(&reconciler, "GET /v1/clusters/r-1/status", None).await;
    assert_eq!(failed["failures"], json!([{ "component": "istio", "reason": "no room" }]));
    assert_eq!(failed["status"], "error");
}

#[tokio::test(start_paused = true)]
async fn a_removed_cluster_is_told_about_for_a_while_and_then_unknown() {
    let reconciler = Reconciler::default();
    reconciler.set_pace(Pace::NONE);
    assert_eq!(send(&reconciler, "DELETE /v1/clusters/r-1", None).await.0, 404);
    send(&reconciler, "POST /v1/clusters", Some(&payload())).await;
    assert_eq!(send(&reconciler, "DELETE /v1/clusters/r-1", None).await.1["status"], "deleted");
    clock::sleep(Duration::from_secs(61)).await;
    assert_eq!(send(&reconciler, "GET /v1/clusters/r-1/status", None).await.0, 404);
    assert_eq!(reconciler.clusters(), []);
}

#[tokio::test]
async fn wrong_payloads_are_refused_and_remembered() {
    let reconciler = Reconciler::default();
    type Edit = fn(&mut Value);
    let edits: &[Edit] = &[
        |body| body["extra"] = json!(1),
        |body| drop(body["metadata"].as_object_mut().expect("metadata").remove("region")),
        |body| body["kymaConfig"]["components"][0]["url"] = json!(""),
        |body| {
            let twice = body["kymaConfig"]["components"][0].clone();
            body["kymaConfig"]["components"].as_array_mut().expect("components").push(twice);
        },
        |body| body["kubeconfig"] = json!("nothing: here"),
        |body| body["kymaConfig"]["version"] = json!(""),
        |body| body["kymaConfig"]["components"][0]["configuration"][0]["value"] = json!([]),
    ];
    for edit in edits {
        let mut body = payload();
        edit(&mut body);
        assert_eq!(send(&reconciler, "POST /v1/clusters", Some(&body)).await.0, 400, "{body}");
    }
    assert_eq!(reconciler.complaints().len(), edits.len());
    let mut open = payload();
    open["kymaConfig"]["components"][0]["configuration"][0]["key"] = json!("manager.clientsecret");
    assert_eq!(send(&reconciler, "POST /v1/clusters", Some(&open)).await.0, 200);
    assert_eq!(reconciler.complaints().len(), edits.len() + 1, "a secret that is not marked is remembered");
    let mut long = payload();
    long["runtimeInput"]["description"] = json!("x".repeat(BODY_MAX));
    assert_eq!(send(&reconciler, "POST /v1/clusters", Some(&long)).await.0, 413);
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_on_disk_is_there_after_a_restart() {
    let file = tempfile::tempdir().expect("a folder").keep().join("reconciler.json");
    let reconciler = Reconciler::default();
    reconciler.keep_in(file.clone());
    send(&reconciler, "POST /v1/clusters", Some(&payload())).await;
    let again = Reconciler::default();
    again.keep_in(file);
    again.set_pace(Pace::NONE);
    assert_eq!(send(&again, "GET /v1/clusters/r-1/configs/1/status", None).await.1["status"], "ready");
    let mut other = payload();
    other["kymaConfig"]["version"] = json!("2.11.0");
    assert_eq!(send(&again, "POST /v1/clusters", Some(&other)).await.1["configurationVersion"], 2);
}
