//! Shoots for the cases, and short ways to change them.

use kube_sandbox::contract::{Answer, Cx, Json as _, Patch};
use serde_json::{Value, json};

pub(super) const CORE: &str = "core.gardener.cloud/v1beta1";

/// A valid Shoot on aws.
pub(super) fn shoot(name: &str) -> Value {
    json!({
        "apiVersion": CORE, "kind": "Shoot",
        "metadata": {
            "name": name, "namespace": "garden-dev", "annotations": { "shoot.gardener.cloud/ignore": "true" },
        },
        "spec": {
            "cloudProfile": { "kind": "CloudProfile", "name": "aws" }, "credentialsBindingName": "aws",
            "region": "eu-central-1", "kubernetes": { "version": "1.34.5" },
            "provider": { "type": "aws", "workers": [{
                "name": "pool", "minimum": 1, "maximum": 3, "zones": ["eu-central-1a"],
                "machine": { "type": "m6i.large", "image": { "name": "gardenlinux", "version": "1877.9.0" } },
                "volume": { "type": "gp3", "size": "50Gi" },
            }] },
            "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
        },
    })
}

/// A name no other case has: short, because project and Shoot share 21 characters.
pub(super) fn name(case: &str) -> String {
    let hash = case.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
    format!("s{hash:x}")
}

/// Sets a field by its path, making what is missing on the way.
pub(super) fn set(object: &mut Value, path: &str, value: impl Into<Value>) {
    let mut place = object;
    for step in path.split('.') {
        place = match step.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[step],
        };
    }
    *place = value.into();
}

/// Removes a field by its path.
pub(super) fn remove(object: &mut Value, path: &str) {
    let (parent, field) = path.rsplit_once('.').expect("a field of something");
    let parent = object.pointer_mut(&format!("/{}", parent.replace('.', "/"))).expect("something");
    parent.as_object_mut().expect("an object").remove(field);
}

/// Sets an annotation, whose key may hold dots.
pub(super) fn annotate(object: &mut Value, key: &str, value: &str) {
    object["metadata"]["annotations"][key] = json!(value);
}

/// Sets a field of the first pool.
pub(super) fn pool(shoot: &mut Value, field: &str, value: impl Into<Value>) {
    set(shoot, &format!("spec.provider.workers.0.{field}"), value);
}

/// Adds a pool like the first one and answers it.
pub(super) fn another_pool(shoot: &mut Value) -> &mut Value {
    let mut pool = shoot["spec"]["provider"]["workers"][0].clone();
    pool["name"] = json!("more");
    let workers = shoot["spec"]["provider"]["workers"].as_array_mut().expect("workers");
    workers.push(pool);
    workers.last_mut().expect("a pool")
}

/// The path of the Shoots, with something appended: `/name`, `?dryRun=All`.
pub(super) fn path(cx: &Cx, rest: &str) -> String {
    cx.group(CORE, &format!("shoots{rest}"))
}

/// Asks until no cache of the server is behind. What it answers from them is told by its words.
pub(super) async fn settled<F: Future<Output = Answer>>(mut ask: impl FnMut() -> F) -> Answer {
    for _ in 0..50 {
        let answer = ask().await;
        let behind = answer.text.contains("not yet ready to handle request")
            || answer.text.contains("could not find referenced project")
            || answer.text.contains("could not find referenced seed");
        if !behind {
            return answer;
        }
        kube_sandbox::clock::sleep(std::time::Duration::from_millis(100)).await;
    }
    ask().await
}

/// Who the server says we are.
pub(super) async fn me(cx: &Cx) -> String {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let answer = cx.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await.created();
    answer.text("/status/userInfo/username").to_owned()
}

/// A created Shoot.
pub(super) async fn create(cx: &Cx, shoot: &Value) -> Value {
    let path = path(cx, "");
    settled(|| cx.post(&path, shoot)).await.created()
}

/// Binds a created Shoot to a Seed, as the scheduler does.
pub(super) async fn bind(cx: &Cx, shoot: &Value, seed: &str) -> Value {
    let mut bound = shoot.clone();
    bound["spec"]["seedName"] = json!(seed);
    let path = path(cx, &format!("/{}/binding", shoot.text("/metadata/name")));
    settled(|| cx.put(&path, &bound)).await.ok();
    cx.get(path.trim_end_matches("/binding")).await.ok()
}

/// Writes a status, as the gardenlet does.
pub(super) async fn write_status(cx: &Cx, name: &str, status: Value) -> Value {
    let patch = json!({ "status": status });
    cx.patch(&path(cx, &format!("/{name}/status")), Patch::Merge, &patch).await.ok()
}

/// A Shoot that was created, bound and brought up, with the gardenlet's finalizer.
pub(super) async fn running(cx: &Cx, case: &str) -> Value {
    running_as(cx, &shoot(&name(case))).await
}

/// The same from another Shoot.
pub(super) async fn running_as(cx: &Cx, shoot: &Value) -> Value {
    let made = create(cx, shoot).await;
    bind(cx, &made, "aws-eu1").await;
    let name = made.text("/metadata/name").to_owned();
    let finalizers = json!({ "metadata": { "finalizers": ["gardener"] } });
    cx.patch(&path(cx, &format!("/{name}")), Patch::Merge, &finalizers).await.ok();
    let operation = json!({
        "type": "Create", "state": "Succeeded", "progress": 100, "description": "Shoot cluster has been successfully created.",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
    });
    let status = json!({
        "technicalID": format!("shoot--dev--{name}"), "lastOperation": operation,
        "gardener": { "id": "x", "name": "gardenlet", "version": "v1" }, "observedGeneration": 2, "seedName": "aws-eu1",
        "uid": made["metadata"]["uid"], "hibernated": false,
    });
    write_status(cx, &name, status).await
}

/// A refusal: code, and a part of the sentence. A 422 names its fields.
#[track_caller]
pub(super) fn refused(answer: Answer, code: u16, part: &str) {
    let reason = match code {
        403 => "Forbidden",
        409 => "Conflict",
        422 => "Invalid",
        500 => "InternalError",
        _ => "BadRequest",
    };
    // Plain errors of admission come without a reason.
    let reason = if code == 500 && answer.body["reason"].is_null() { "" } else { reason };
    let status = answer.refused_with(code, reason, part);
    assert!(code != 422 || !status["details"]["causes"].is_null(), "a 422 names its fields: {status}");
}

/// Cases of one shape: a Shoot, one edit, and the refusal it meets.
macro_rules! refusals {
    ($try:ident: $($name:ident: $edit:expr, $code:literal, $part:expr;)*) => {
        $(async fn $name(cx: kube_sandbox::contract::Cx) {
            $try(&cx, stringify!($name), $edit, $code, $part).await;
        })*
        pub(super) static CASES: &[kube_sandbox::contract::Case] = kube_sandbox::contract::cases![$($name),*];
    };
}
pub(super) use refusals;
