//! Whole gardens: a Shoot's life as a client sees it, in either way to run.

mod histories;
mod states;

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::*;
use crate::garden::{
    engine::invariants::judge,
    landscape::shoot,
    shoot::{OPERATION, STATUS},
    value::{annotation, has, is_true, label, name, number, set},
};

/// Waits in real time, for what happens in simulated time a hundred times faster. A minute, though everything
/// takes a second: only a failure waits for it, and a busy machine must not look like one.
async fn until<P: Port>(port: &P, called: &str, done: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..6000 {
        let found = port.get(SHOOTS, "garden-dev", called).await.expect("read").unwrap_or_default();
        if done(&found) {
            return found;
        }
        crate::clock::sleep(Duration::from_millis(10)).await;
    }
    let found = port.get(SHOOTS, "garden-dev", called).await.expect("read").unwrap_or_default();
    panic!("never: {found:#}");
}

fn succeeded(shoot: &Value) -> bool {
    text(shoot, "status.lastOperation.state") == "Succeeded"
        && number(shoot, "status.observedGeneration") == number(shoot, "metadata.generation")
}

async fn request(client: &kube::Client, called: &str, seconds: i64) -> Result<Value, kube::Error> {
    let body = json!({"spec": {"expirationSeconds": seconds}});
    let path = format!("/apis/{CORE}/v1beta1/namespaces/garden-dev/shoots/{called}/adminkubeconfig");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .expect("request");
    client.request::<Value>(request).await
}

async fn client_of(answer: &Value) -> kube::Client {
    let yaml = String::from_utf8(STANDARD.decode(text(answer, "status.kubeconfig")).expect("base64")).expect("text");
    let config = kube::config::Kubeconfig::from_yaml(&yaml).expect("kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default())
        .await
        .expect("config");
    kube::Client::try_from(config).expect("client")
}

async fn namespaces(client: &kube::Client) -> Result<usize, u16> {
    match Api::<Namespace>::all(client.clone()).list(&ListParams::default()).await {
        Ok(list) => Ok(list.items.len()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(_) => Err(0),
    }
}

#[tokio::test]
async fn a_shoot_is_created_used_put_to_sleep_and_deleted() {
    let garden = Garden::start(Options::default()).await.expect("garden");
    let (cluster, client) = (garden.cluster().clone(), garden.client().expect("client"));
    let remote = Remote(client.clone());
    remote.create(SHOOTS, shoot("shop")).await.expect("created");
    let created = until(&cluster, "shop", succeeded).await;
    assert_eq!(text(&created, "status.lastOperation.type"), "Create");
    assert_eq!(text(&created, "spec.dns.domain"), "shop.dev.shoots.example");

    garden.clock().set_pace(Pace::Manual);
    let answer = request(&client, "shop", 600).await.expect("kubeconfig");
    let other = client_of(&answer).await;
    assert!(namespaces(&other).await.is_ok_and(|count| count >= 4), "the Shoot's own API answers");
    garden.clock().advance(SignedDuration::from_mins(9));
    assert!(namespaces(&other).await.is_ok());
    garden.clock().advance(SignedDuration::from_mins(2));
    assert_eq!(namespaces(&other).await, Err(401), "after its expiry it is refused, on a live connection too");
    assert!(matches!(request(&client, "shop", 300).await, Err(kube::Error::Api(status)) if status.code == 422));
    assert!(matches!(request(&client, "none", 600).await, Err(kube::Error::Api(status)) if status.code == 404));

    let fresh = client_of(&request(&client, "shop", 3600).await.expect("kubeconfig")).await;
    garden.clock().set_pace(Pace::Scale(600.0));
    remote
        .patch(SHOOTS, "garden-dev", "shop", "", json!({"spec": {"hibernation": {"enabled": true}}}))
        .await
        .expect("asleep");
    until(&cluster, "shop", |shoot| succeeded(shoot) && is_true(shoot, "status.hibernated")).await;
    assert_eq!(namespaces(&fresh).await, Err(0), "nobody answers at a sleeping cluster's address");

    let api = remote_shoots(&client);
    let refused = api.delete("shop", &DeleteParams::default()).await.expect_err("refused");
    assert!(
        refused.to_string().contains("must have a \"confirmation.gardener.cloud/deletion\" annotation to delete"),
        "{refused}"
    );
    let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
    api.patch("shop", &PatchParams::default(), &Patch::Merge(confirm)).await.expect("confirmed");
    api.delete("shop", &DeleteParams::default()).await.expect("deleted");
    until(&cluster, "shop", Value::is_null).await;
    assert!(cluster.get(CORE, "internalsecrets", "garden-dev", "shop.ca-client").is_none(), "nothing is left behind");
    assert!(cluster.get(CORE, "shootstates", "garden-dev", "shop").is_none());
}

fn remote_shoots(client: &kube::Client) -> Api<kube::api::DynamicObject> {
    let kind = kube::core::GroupVersionKind::gvk(CORE, "v1beta1", "Shoot");
    Api::namespaced_with(client.clone(), "garden-dev", &kube::core::ApiResource::from_gvk_with_plural(&kind, "shoots"))
}

/// Its deletion begins before it has a CA, so before it could have an API server.
#[tokio::test]
async fn a_shoot_that_is_deleted_in_its_first_moments_goes() {
    let garden = Garden::start(Options { pace: Pace::Manual, ..Options::default() }).await.expect("garden");
    let (cluster, client) = (garden.cluster().clone(), garden.client().expect("client"));
    Cluster::create(&cluster, shoot("shop")).await.expect("created");
    until(&cluster, "shop", |shoot| text(shoot, "status.lastOperation.state") == "Processing").await;
    let api = remote_shoots(&client);
    let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
    api.patch("shop", &PatchParams::default(), &Patch::Merge(confirm)).await.expect("confirmed");
    api.delete("shop", &DeleteParams::default()).await.expect("deleted");
    garden.clock().set_pace(Pace::Scale(3_000.0));
    until(&cluster, "shop", Value::is_null).await;
}

#[tokio::test]
async fn certificates_of_another_shoot_are_refused() {
    let garden = Garden::start(Options::default()).await.expect("garden");
    let (cluster, client) = (garden.cluster().clone(), garden.client().expect("client"));
    for called in ["one", "two"] {
        Cluster::create(&cluster, shoot(called)).await.expect("created");
    }
    let mut answers = Vec::new();
    for called in ["one", "two"] {
        until(&cluster, called, succeeded).await;
        answers.push(request(&client, called, 86_400).await.expect("kubeconfig"));
    }
    let yaml = |answer: &Value| {
        String::from_utf8(STANDARD.decode(text(answer, "status.kubeconfig")).expect("base64")).expect("text")
    };
    let mut mixed: Value = serde_saphyr::from_str(&yaml(&answers[0])).expect("yaml");
    let other: Value = serde_saphyr::from_str(&yaml(&answers[1])).expect("yaml");
    mixed["users"][0]["user"] = other["users"][0]["user"].clone();
    let mixed = json!({"status": {"kubeconfig": STANDARD.encode(mixed.to_string())}});
    assert_eq!(namespaces(&client_of(&mixed).await).await, Err(401));
    assert!(namespaces(&client_of(&answers[1]).await).await.is_ok());
}

#[tokio::test]
async fn the_driver_plays_the_same_life_over_an_api() {
    // The other garden's own engine stands still: its clock does.
    let garden = Garden::start(Options { pace: Pace::Manual, ..Options::default() }).await.expect("garden");
    garden.inject(serde_json::from_value(json!({"fault": "unschedulable"})).expect("fault"));
    let client = garden.client().expect("client");
    garden.playing.task.abort();
    let driver = Driver::with(client.clone(), Options::default()).await.expect("driver");
    let remote = Remote(client.clone());
    remote.create(SHOOTS, shoot("shop")).await.expect("created");
    let created = until(&remote, "shop", succeeded).await;
    assert!(has(&created, "status.clusterIdentity"));
    assert!(driver.journal().since(0).len() > 10);
    let mut wanted = created.clone();
    set(&mut wanted, "spec.purpose", "production");
    remote.patch(SHOOTS, "garden-dev", "shop", "", json!({"spec": {"purpose": "production"}})).await.expect("patched");
    until(&remote, "shop", |shoot| succeeded(shoot) && text(shoot, "status.lastOperation.type") == "Reconcile").await;
}

#[tokio::test]
async fn a_garden_goes_on_from_its_data() {
    let folder = tempfile::tempdir().expect("folder");
    let options = || Options { data: Some(folder.path().to_owned()), ..Options::default() };
    let address;
    {
        let garden = Garden::start(options()).await.expect("garden");
        Cluster::create(garden.cluster(), shoot("shop")).await.expect("created");
        Cluster::create(garden.cluster(), shoot("late")).await.expect("created");
        let created = until(garden.cluster(), "shop", succeeded).await;
        address = text(&created, "status.advertisedAddresses.0.url").to_owned();
    }
    let garden = Garden::start(options()).await.expect("garden");
    until(garden.cluster(), "late", succeeded).await;
    let kept = until(garden.cluster(), "shop", succeeded).await;
    assert_eq!(text(&kept, "status.advertisedAddresses.0.url"), address, "kubeconfigs of before still lead there");
    let client = client_of(&request(&garden.client().expect("client"), "shop", 3600).await.expect("kubeconfig")).await;
    assert!(namespaces(&client).await.is_ok());
}

#[tokio::test]
async fn authorities_are_rotated_also_after_somebody_found_the_shoot_healthy() {
    let garden = Garden::start(Options::default()).await.expect("garden");
    let cluster = garden.cluster().clone();
    Cluster::create(&cluster, shoot("shop")).await.expect("created");
    let rests = |shoot: &Value| succeeded(shoot) && label(shoot, STATUS) == "healthy";
    for (word, phase) in [("rotate-ca-start", "Prepared"), ("rotate-ca-complete", "Completed")] {
        // The label changes with the operation. A server that still sees the word refuses every write of the Shoot
        // from the moment its phase has moved on.
        until(&cluster, "shop", rests).await;
        let wish = json!({"metadata": {"annotations": { OPERATION: word }}});
        Port::patch(&cluster, SHOOTS, "garden-dev", "shop", "", wish).await.expect("asked");
        let at = "status.credentials.rotation.certificateAuthorities.phase";
        let done = until(&cluster, "shop", |shoot| succeeded(shoot) && text(shoot, at) == phase).await;
        assert_eq!(annotation(&done, OPERATION), "", "picked up");
    }
    let refused = garden.journal().since(0).into_iter().filter(|line| line["what"] == "refused").collect::<Vec<_>>();
    assert_eq!(refused, Vec::<Value>::new(), "the server took everything the engine wrote");
}

#[tokio::test]
async fn a_shoots_nodes_are_those_of_its_pools() {
    let garden = Garden::start(Options::default()).await.expect("garden");
    let (cluster, client) = (garden.cluster().clone(), garden.client().expect("client"));
    Cluster::create(&cluster, shoot("shop")).await.expect("created");
    until(&cluster, "shop", succeeded).await;
    let names = |nodes: &[Node]| nodes.iter().filter_map(|node| node.metadata.name.clone()).collect::<Vec<_>>();
    let change = async |patch: Value| {
        Port::patch(&cluster, SHOOTS, "garden-dev", "shop", "", patch).await.expect("changed");
        until(&cluster, "shop", succeeded).await;
    };
    let own = client_of(&request(&client, "shop", 86_400).await.expect("kubeconfig")).await;
    let nodes = async || Api::<Node>::all(own.clone()).list(&ListParams::default()).await.expect("nodes").items;
    let first = nodes().await;
    assert_eq!(first.len(), 1);
    let labels = first[0].metadata.labels.clone().unwrap_or_default();
    let told = |key: &str| labels.get(key).map(String::as_str).unwrap_or_default();
    assert_eq!(
        ["worker.gardener.cloud/pool", "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"].map(told),
        ["pool", "m6i.large", "eu-central-1a"]
    );
    let status = first[0].status.clone().expect("status");
    assert_eq!(status.node_info.expect("told").kubelet_version, "v1.34.5");
    assert!(status.conditions.expect("told").iter().any(|one| one.type_ == "Ready" && one.status == "True"));

    let mut workers =
        cluster.get(CORE, "shoots", "garden-dev", "shop").expect("shoot")["spec"]["provider"]["workers"].clone();
    workers[0]["minimum"] = json!(3);
    change(json!({"spec": {"provider": {"workers": workers}}})).await;
    let three = nodes().await;
    assert!(three.len() == 3 && names(&three).contains(&names(&first)[0]), "the first one stays: {:?}", names(&three));
    change(json!({"metadata": {"annotations": { OPERATION: "rollout-workers=pool" }}})).await;
    let rolled = nodes().await;
    assert!(rolled.len() == 3 && !names(&rolled).iter().any(|node| names(&three).contains(node)), "all are new");
    workers[0]["minimum"] = json!(1);
    change(json!({"spec": {"provider": {"workers": workers}}})).await;
    assert_eq!(nodes().await.len(), 1);
    change(json!({"spec": {"hibernation": {"enabled": true}}})).await;
    let id = text(&cluster.get(CORE, "shoots", "garden-dev", "shop").expect("shoot"), "status.technicalID").to_owned();
    let asleep = garden.server().cluster(&id).expect("its store is kept");
    assert_eq!(asleep.list("", "nodes", "").len(), 0, "a sleeping Shoot has none");
    change(json!({"spec": {"hibernation": {"enabled": false}}})).await;
    assert_eq!(asleep.list("", "nodes", "").len(), 1);
}

#[tokio::test]
async fn kubeconfigs_and_endpoints_are_of_no_use_on_demand() {
    let garden = Garden::start(Options::default()).await.expect("garden");
    let (cluster, client) = (garden.cluster().clone(), garden.client().expect("client"));
    Cluster::create(&cluster, shoot("shop")).await.expect("created");
    until(&cluster, "shop", succeeded).await;
    garden.clock().set_pace(Pace::Manual);
    let fault = |fault: &str, wrong: &str| {
        serde_json::from_value(json!({"shoot": "garden-dev/shop", "fault": fault, "wrong": wrong})).expect("fault")
    };
    let good = client_of(&request(&client, "shop", 600).await.expect("kubeconfig")).await;
    // 401: the handshake succeeds and the certificate is refused; 0: there is not even a handshake.
    for (wrong, code) in [("missingAuthority", 0), ("wrongAuthority", 0), ("expired", 401), ("notYetValid", 401)] {
        garden.inject(fault("kubeconfig", wrong));
        let bad = client_of(&request(&client, "shop", 600).await.expect("kubeconfig")).await;
        assert_eq!(namespaces(&bad).await, Err(code), "{wrong}");
        garden.clear_faults("garden-dev/shop");
    }
    assert!(namespaces(&good).await.is_ok(), "those of before are as good as ever");
    garden.inject(fault("endpoint", "refuses"));
    wait_for(async || namespaces(&good).await == Err(0)).await;
    garden.clear_faults("garden-dev/shop");
    wait_for(async || namespaces(&good).await.is_ok()).await;
    garden.inject(fault("endpoint", "slow"));
    let slow = async || crate::clock::within(Duration::from_secs(2), namespaces(&good)).await.is_none();
    wait_for(slow).await;
    assert!(namespaces(&good).await.is_ok(), "slow, and not dead");
}

/// Faults strike when the engine has looked at the Shoot again.
async fn wait_for(mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if done().await {
            return;
        }
        crate::clock::sleep(Duration::from_millis(10)).await;
    }
    panic!("never");
}

#[tokio::test]
async fn credentials_in_use_stay_until_the_last_shoot_is_gone() {
    let garden = Garden::start(Options::default()).await.expect("garden");
    let cluster = garden.cluster().clone();
    for called in ["one", "two"] {
        let mut wanted = shoot(called);
        crate::garden::value::annotate(&mut wanted, crate::garden::shoot::CONFIRM_DELETION, "true");
        Cluster::create(&cluster, wanted).await.expect("created");
    }
    for called in ["one", "two"] {
        until(&cluster, called, succeeded).await;
    }
    let binding = || cluster.get("security.gardener.cloud", "credentialsbindings", "garden-dev", "aws");
    let secret = || cluster.get("", "secrets", "garden-dev", "aws-credentials");
    assert_eq!(binding().expect("binding")["metadata"]["finalizers"], json!(["gardener"]));
    assert_eq!(secret().expect("secret")["metadata"]["finalizers"], json!(["gardener.cloud/gardener"]));
    Port::delete(&cluster, port::BINDINGS, "garden-dev", "aws").await.expect("deleted");
    Port::delete(&cluster, port::SECRETS, "garden-dev", "aws-credentials").await.expect("deleted");
    Port::delete(&cluster, SHOOTS, "garden-dev", "one").await.expect("deleted");
    until(&cluster, "one", Value::is_null).await;
    assert!(binding().is_some_and(|one| has(&one, "metadata.deletionTimestamp")), "it waits for the other Shoot");
    assert!(secret().is_some());
    Port::delete(&cluster, SHOOTS, "garden-dev", "two").await.expect("deleted");
    until(&cluster, "two", Value::is_null).await;
    wait_for(async || binding().is_none() && secret().is_none()).await;
}

#[tokio::test]
async fn credentials_left_protected_by_a_process_that_died_are_let_go_by_the_next() {
    let folder = tempfile::tempdir().expect("folder");
    let options = || Options { data: Some(folder.path().to_owned()), ..Options::default() };
    let garden = Garden::start(options()).await.expect("garden");
    Cluster::create(garden.cluster(), shoot("shop")).await.expect("created");
    until(garden.cluster(), "shop", succeeded).await;
    // As if the Shoot had gone and the process had died before it let go.
    let left = json!({"metadata": {"finalizers": ["gardener"]}});
    Port::patch(garden.cluster(), port::BINDINGS, "garden-dev", "gcp", "", left).await.expect("patched");
    drop(garden);
    let garden = Garden::start(options()).await.expect("garden");
    let held = |called: &str| {
        let binding = garden.cluster().get("security.gardener.cloud", "credentialsbindings", "garden-dev", called);
        has(&binding.expect("binding"), "metadata.finalizers.0")
    };
    wait_for(async || !held("gcp")).await;
    assert!(held("aws"), "a Shoot uses this one");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_driver_plays_the_life_of_a_shoot_on_a_real_gardener_api_server() {
    let real = match crate::real::Garden::start(&[]).await {
        Ok(real) => real,
        Err(error @ (crate::real::Error::Off | crate::real::Error::NotBuilt))
            if crate::real::Mode::from_env() != crate::real::Mode::Required =>
        {
            return eprintln!("SKIPPED: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    let options = Options { pace: Pace::Scale(300.0), ..Options::default() };
    let driver = Driver::start(real.kubeconfig(), options).await.expect("driver");
    let client = real.client();
    let remote = Remote(client.clone());
    remote.create(SHOOTS, shoot("shop")).await.expect("created");
    let created = until(&remote, "shop", succeeded).await;
    assert_eq!(text(&created, "status.lastOperation.type"), "Create");
    // Signed by the real server, with the CA the driver has put where it looks.
    let own = client_of(&request(&client, "shop", 600).await.expect("kubeconfig")).await;
    let answer = Api::<Namespace>::all(own.clone()).list(&ListParams::default()).await;
    assert!(answer.is_ok(), "{answer:?}");
    remote.patch(SHOOTS, "garden-dev", "shop", "", json!({"spec": {"purpose": "production"}})).await.expect("patched");
    until(&remote, "shop", |shoot| succeeded(shoot) && text(shoot, "status.lastOperation.type") == "Reconcile").await;
    let api = remote_shoots(&client);
    let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
    api.patch("shop", &PatchParams::default(), &Patch::Merge(confirm)).await.expect("confirmed");
    api.delete("shop", &DeleteParams::default()).await.expect("deleted");
    until(&remote, "shop", Value::is_null).await;
    let refused = driver.journal().since(0).into_iter().filter(|line| line["what"] == "refused").collect::<Vec<_>>();
    assert_eq!(refused, Vec::<Value>::new(), "the real server took everything the engine wrote");
}

#[tokio::test]
async fn a_garden_is_told_by_its_control_api() {
    let garden = Arc::new(Garden::start(Options { pace: Pace::Manual, ..Options::default() }).await.expect("garden"));
    let control = garden.control().await.expect("port");
    let url = |path: &str| format!("{}{path}", control.url());
    // Whether another test did it before depends on their order.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    let before = garden.clock().now();
    http.post(url("/clock")).json(&json!({"advanceSeconds": 90})).send().await.expect("told");
    assert_eq!(garden.clock().now().duration_since(before).as_secs(), 90);
    let fault = json!({"operation": "create", "fault": "fail", "step": "etcd", "codes": ["ERR_INFRA_QUOTA_EXCEEDED"], "times": null});
    assert_eq!(http.post(url("/faults")).json(&fault).send().await.expect("told").status().as_u16(), 201);
    assert_eq!(garden.faults().len(), 1);
    http.post(url("/clock")).json(&json!({"scale": 600.0})).send().await.expect("told");
    Cluster::create(garden.cluster(), shoot("shop")).await.expect("created");
    until(garden.cluster(), "shop", |shoot| text(shoot, "status.lastOperation.state") == "Failed").await;
    let lines: Value = http.get(url("/journal?since=0")).send().await.expect("told").json().await.expect("json");
    assert!(lines.as_array().is_some_and(|lines| lines.len() > 5));
    let wrong = http.post(url("/scenario")).body("- {at: 1, explode: true}").send().await.expect("told");
    assert_eq!(wrong.status().as_u16(), 400);
    let told = http.post(url("/scenario")).body("- {at: 0, clear: ''}").send().await.expect("told");
    assert_eq!(told.status().as_u16(), 201);
    wait_for(async || garden.faults().is_empty()).await;
    let busy = json!({"method": "GET", "path": "/shoots", "code": 429, "retryAfter": 3, "times": 1});
    http.post(url("/requests")).json(&busy).send().await.expect("told");
    let api = remote_shoots(&garden.client().expect("client"));
    assert!(matches!(api.get("shop").await, Err(kube::Error::Api(status)) if status.code == 429));
    assert!(api.get("shop").await.is_ok(), "once");
    let forced =
        http.post(url("/shoots/garden-dev/shop/status")).json(&json!({"hibernated": true})).send().await.expect("told");
    assert!(forced.status().is_success());
}
