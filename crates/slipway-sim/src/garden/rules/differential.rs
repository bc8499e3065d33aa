//! The table of tried rules once more, sent to our own API and to a real Gardener API server: status
//! code, reason, fields and sentence must be the same, and so must be what is stored.
//!
//! Skipped, loudly, where the real servers are not built, unless they are required.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::tests::{CREATES, Edit, UPDATES, base, extra_objects};
use crate::{
    garden::{
        Garden, Options,
        engine::port::{self, Port as _, Remote, SHOOTS},
        landscape,
        problems::CORE,
        value::{annotate, list, remove, same, text},
    },
    real,
};

/// Differences that are known, with the reason: rule, and a part of the real sentence.
static EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "U15",
    "\"ProviderTypes\":null",
    "the real sentence shows an internal form whose keys have an order of their own",
)];

/// What is compared of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    code: u64,
    reason: String,
    fields: BTreeSet<String>,
    message: String,
}

async fn send(client: &kube::Client, method: &str, path: &str, body: &Value) -> (Answer, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(kube::client::Body::from(body.to_string().into_bytes()))
        .expect("request");
    let response = client.send(request).await.expect("answer");
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.expect("body");
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let refused = text(&body, "kind") == "Status";
    let fields = list(&body, "details.causes").iter().map(|cause| text(cause, "field").to_owned()).collect();
    let message = if refused { text(&body, "message").to_owned() } else { String::new() };
    let reason = if refused { text(&body, "reason").to_owned() } else { String::new() };
    (Answer { code: code.into(), reason, fields, message }, body)
}

fn path(rest: &str) -> String {
    format!("/apis/{CORE}/v1beta1/namespaces/{rest}")
}

/// Creates and binds a Shoot that no engine touches.
async fn store(client: &kube::Client) -> Value {
    let remote = Remote(client.clone());
    let mut shoot = base();
    annotate(&mut shoot, "shoot.gardener.cloud/ignore", "true");
    remote.create(SHOOTS, shoot).await.expect("created");
    remote.bind("garden-dev", "shop", "aws-eu1").await.expect("bound");
    let status = json!({"technicalID": "shoot--dev--shop", "lastOperation": {
        "type": "Create", "state": "Succeeded", "progress": 100, "description": "done", "lastUpdateTime": "2026-06-01T00:00:00Z"}});
    remote.patch(SHOOTS, "garden-dev", "shop", "status", json!({ "status": status })).await.expect("status");
    let finalizers = json!({"metadata": {"finalizers": ["gardener"]}});
    remote.patch(SHOOTS, "garden-dev", "shop", "", finalizers).await.expect("finalizer")
}

/// What every server fills in by itself.
fn normal(mut shoot: Value) -> Value {
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        remove(&mut shoot, &format!("metadata.{field}"));
    }
    remove(&mut shoot, "spec.maintenance.timeWindow");
    annotate(&mut shoot, "gardener.cloud/created-by", "");
    shoot
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_gardener_api_server_answers_every_rule_alike() {
    let mut objects = landscape::objects();
    objects.extend(extra_objects());
    let real = match real::Garden::start(&objects).await {
        Ok(real) => real,
        Err(error @ (real::Error::Off | real::Error::NotBuilt)) if real::Mode::from_env() != real::Mode::Required => {
            eprintln!("SKIPPED: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let ours = Garden::start(Options::default()).await.expect("garden");
    port::seed(ours.cluster(), extra_objects()).await.expect("objects");
    let clients = [ours.client().expect("client"), real.client()];
    let mut differences = Vec::new();
    let compare = |differences: &mut Vec<String>, rule: &str, edit: &str, ours: &Answer, real: &Answer| {
        let known = EXCEPTIONS.iter().any(|(id, part, _)| *id == rule && real.message.contains(part));
        if ours != real && !known {
            differences.push(format!("{rule} ({edit}):\n  ours {ours:?}\n  real {real:?}"));
        }
    };
    for (index, (rule, edit, ..)) in CREATES.iter().enumerate() {
        let mut shoot = base();
        edit(&mut shoot);
        let namespace = text(&shoot, "metadata.namespace").to_owned();
        let path = path(&format!("{namespace}/shoots?dryRun=All"));
        let (one, _) = send(&clients[0], "POST", &path, &shoot).await;
        let (two, _) = send(&clients[1], "POST", &path, &shoot).await;
        compare(&mut differences, rule, &format!("create {index}"), &one, &two);
    }
    let stored = [store(&clients[0]).await, store(&clients[1]).await];
    let (one, two) = (normal(stored[0].clone()), normal(stored[1].clone()));
    if !same(&one, &two) {
        differences.push(format!("stored:\n  ours {one}\n  real {two}"));
    }
    for (index, (rule, edit, ..)) in UPDATES.iter().enumerate() {
        let put = async |client: &kube::Client, stored: &Value, edit: &Edit| {
            let mut shoot = stored.clone();
            edit(&mut shoot);
            // Nobody sets this by writing.
            remove(&mut shoot, "metadata.deletionTimestamp");
            send(client, "PUT", &path("garden-dev/shoots/shop?dryRun=All"), &shoot).await.0
        };
        let one = put(&clients[0], &stored[0], edit).await;
        let two = put(&clients[1], &stored[1], edit).await;
        compare(&mut differences, rule, &format!("update {index}"), &one, &two);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
