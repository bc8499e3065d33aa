//! How Shoots live. The engine is the simulator's on both sides; what is tried is that a real Gardener
//! API server takes every write of it, and that a client sees the same.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use kube_sandbox::{
    clock,
    contract::{Case, Cx, Json as _, PATIENCE, Patch, Shell, cases, table},
};
use serde_json::{Value, json};

use super::shoots::{create, name, path, remove, shoot};

pub(super) static CASES: &[Case] = cases![
    a_shoot_comes_to_life_step_by_step,
    its_kubeconfig_opens_its_cluster,
    a_change_of_the_spec_is_rolled_out,
    a_shoot_sleeps_and_wakes,
    a_shoot_is_deleted_with_all_it_had,
    its_authorities_are_rotated,
];

/// A Shoot that nobody leaves alone.
async fn born(cx: &Cx, case: &str) -> String {
    let mut shoot = shoot(&name(case));
    remove(&mut shoot, "metadata.annotations");
    create(cx, &shoot).await;
    name(case)
}

/// Reads the Shoot until it is as it should be; a life takes a second at the simulator's pace.
async fn until(cx: &Cx, name: &str, satisfied: impl Fn(&Value) -> bool) -> Value {
    let path = path(cx, &format!("/{name}"));
    let reading = async {
        loop {
            let shoot = cx.get(&path).await.body;
            if satisfied(&shoot) {
                return shoot;
            }
            clock::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = clock::within(PATIENCE * 2, reading).await;
    match found {
        Some(shoot) => shoot,
        None => panic!("{name} is {}", cx.get(&path).await.body["status"]),
    }
}

/// Rests, with everything that was asked for done.
fn is_done(shoot: &Value) -> bool {
    shoot["status"]["lastOperation"]["state"] == "Succeeded"
        && shoot["status"]["observedGeneration"] == shoot["metadata"]["generation"]
}

async fn lives(cx: &Cx, case: &str) -> String {
    let name = born(cx, case).await;
    until(cx, &name, is_done).await;
    name
}

async fn change(cx: &Cx, name: &str, patch: Value) -> Value {
    cx.patch(&path(cx, &format!("/{name}")), Patch::Merge, &patch).await.ok()
}

async fn a_shoot_comes_to_life_step_by_step(cx: Cx) {
    let version = cx.get(&path(&cx, "?limit=1")).await.ok().text("/metadata/resourceVersion").to_owned();
    let name = born(&cx, "a_shoot_comes_to_life").await;
    let query = format!("?fieldSelector=metadata.name%3D{name}&resourceVersion={version}");
    let mut watch = cx.watch(&path(&cx, &query)).await;
    let mut progress = Vec::new();
    let shoot = loop {
        let (_, shoot) = watch.next().await.expect("an event");
        let operation = &shoot["status"]["lastOperation"];
        if let Some(now) = operation["progress"].as_i64().filter(|_| operation["type"] == "Create") {
            progress.push(now);
        }
        if is_done(&shoot) {
            break shoot;
        }
    };
    progress.dedup();
    assert!(progress.len() >= 4 && progress.is_sorted(), "it moves: {progress:?}");
    assert_eq!(progress.last(), Some(&100));
    let status = &shoot["status"];
    assert_eq!(status["technicalID"], format!("shoot--dev--{name}"));
    assert_eq!(status["uid"], shoot["metadata"]["uid"]);
    assert_eq!(status["seedName"], shoot["spec"]["seedName"]);
    assert!(shoot["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&json!("gardener"))));
}

async fn its_kubeconfig_opens_its_cluster(cx: Cx) {
    let name = lives(&cx, "its_kubeconfig_opens").await;
    let request = json!({
        "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": "AdminKubeconfigRequest",
        // A day of simulated time is two minutes, which are many for the few commands below.
        "spec": { "expirationSeconds": 86_400 },
    });
    let answer = cx.post(&path(&cx, &format!("/{name}/adminkubeconfig")), &request).await.created();
    let kubeconfig = BASE64.decode(answer.text("/status/kubeconfig")).expect("base64");
    let shell = Shell::of(&cx, &String::from_utf8(kubeconfig).expect("text"));
    let namespaces = table(&shell.ok("get ns").await);
    assert!(namespaces.iter().any(|line| line.starts_with("kube-system Active ")), "{namespaces:?}");
    let nodes = table(&shell.ok("get nodes -L worker.gardener.cloud/pool").await);
    let shoot = cx.get(&path(&cx, &format!("/{name}"))).await.ok();
    let (pool, version) = (shoot.text("/spec/provider/workers/0/name"), shoot.text("/spec/kubernetes/version"));
    assert_eq!(Some(nodes.len() as i64 - 1), shoot["spec"]["provider"]["workers"][0]["minimum"].as_i64(), "{nodes:?}");
    assert!(nodes[1].starts_with(&format!("shoot--dev--{name}-{pool}-")) && nodes[1].contains(" Ready "), "{nodes:?}");
    assert!(nodes[1].ends_with(&format!(" v{version} {pool}")), "{nodes:?}");
    shell.ok("create ns made-here").await;
    let web = json!({ "app": "web" });
    let template =
        json!({ "metadata": { "labels": web }, "spec": { "containers": [{ "name": "web", "image": "web:1" }] } });
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "replicas": 1, "selector": { "matchLabels": web }, "template": template } });
    shell.file("web.json", &deployment.to_string());
    shell.ok("create -f web.json -n made-here").await;
    let deployments = table(&shell.ok("get deployments -n made-here").await);
    assert!(deployments[1].starts_with("web 0/1 "), "kept on paper, as nothing runs here: {deployments:?}");
    cx.get("/api/v1/namespaces/made-here").await.refused_with(404, "NotFound", "not found");
}

async fn a_change_of_the_spec_is_rolled_out(cx: Cx) {
    let name = lives(&cx, "a_change_of_the_spec").await;
    let changed = change(&cx, &name, json!({ "spec": { "kubernetes": { "version": "1.35.2" } } })).await;
    assert_ne!(changed["status"]["observedGeneration"], changed["metadata"]["generation"]);
    let done = until(&cx, &name, is_done).await;
    assert_eq!(done["status"]["lastOperation"]["type"], "Reconcile");
}

async fn a_shoot_sleeps_and_wakes(cx: Cx) {
    let name = lives(&cx, "a_shoot_sleeps").await;
    for asleep in [true, false] {
        change(&cx, &name, json!({ "spec": { "hibernation": { "enabled": asleep } } })).await;
        let done = until(&cx, &name, |shoot| is_done(shoot) && shoot["status"]["hibernated"] == asleep).await;
        assert_eq!(done["spec"]["hibernation"]["enabled"], asleep);
    }
}

async fn a_shoot_is_deleted_with_all_it_had(cx: Cx) {
    let name = lives(&cx, "a_shoot_is_deleted").await;
    let confirm = json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
    change(&cx, &name, confirm).await;
    cx.delete(&path(&cx, &format!("/{name}"))).await.ok();
    cx.until(&path(&cx, &format!("/{name}")), |answer| answer.code == 404).await;
    let authority = cx.group("core.gardener.cloud/v1beta1", &format!("internalsecrets/{name}.ca-client"));
    assert_eq!(cx.get(&authority).await.code, 404);
}

async fn its_authorities_are_rotated(cx: Cx) {
    let name = lives(&cx, "its_authorities").await;
    let phase = |shoot: &Value| shoot.text("/status/credentials/rotation/certificateAuthorities/phase").to_owned();
    let wish = |word: &str| json!({ "metadata": { "annotations": { "gardener.cloud/operation": word } } });
    for (word, wanted) in [("rotate-ca-start", "Prepared"), ("rotate-ca-complete", "Completed")] {
        change(&cx, &name, wish(word)).await;
        let done = until(&cx, &name, |shoot| is_done(shoot) && phase(shoot) == wanted).await;
        assert_eq!(done.text("/metadata/annotations/gardener.cloud~1operation"), "", "the word was picked up");
    }
}
