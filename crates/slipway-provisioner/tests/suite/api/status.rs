//! `runtimeStatus`: put together from what is stored and what Kubernetes shows.

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use slipway_engine::SystemClock;
use slipway_kube::Runtime;
use slipway_model::{
    Component, LastError, OperationState, Reason,
    ports::{Clock as _, Next, Runtimes as _},
    runtime_record::{AgentConnection, AgentState, RuntimeId},
    time::hours,
};
use slipway_provisioner::{
    auth::Scope,
    input::{ClusterSecrets, ClusterSpec},
    mapping::{self, Owner},
};

use super::bench::{Bench, Reply, TENANT, cluster};

/// What the infrastructure manager is to have made of a runtime.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) facts: Value,
    pub(crate) kubeconfig: Option<&'static str>,
    pub(crate) egress_filter: bool,
}

/// Writes a Runtime, its status and its kubeconfig, as the steps and the manager would.
pub(crate) async fn show(bench: &Bench, runtime: &str, seen: Seen) {
    let client = bench.kube_client();
    let id: RuntimeId = runtime.parse().expect("an id");
    let record = bench.store.runtime(id).await.expect("read").expect("stored");
    let spec: ClusterSpec = serde_json::from_value(bench.stored(runtime).await).expect("a document");
    let operation = bench.store.runtime_operations(id, None, 1).await.expect("read")[0].id;
    let owner = Owner {
        id,
        tenant: &record.tenant,
        sub_account: None,
        namespace: "kcp-system",
        operation,
        created_at: record.created_at,
    };
    let mut object = mapping::runtime(&owner, &spec, &ClusterSecrets::default());
    object.spec.security.networking.filter.egress.enabled = seen.egress_filter;
    let runtimes: Api<Runtime> = Api::namespaced(client.clone(), "kcp-system");
    runtimes.create(&PostParams::default(), &object).await.expect("a Runtime");
    if !seen.facts.is_null() {
        let mut status = json!({"state": "Ready"});
        for (key, value) in seen.facts.as_object().expect("facts") {
            status[key] = value.clone();
        }
        let patch = Patch::Merge(json!({ "status": status }));
        runtimes.patch_status(runtime, &PatchParams::default(), &patch).await.expect("a status");
    }
    if let Some(kubeconfig) = seen.kubeconfig {
        let secrets: Api<Secret> = Api::namespaced(client, "kcp-system");
        let mut secret =
            Secret { data: Some([("config".to_owned(), ByteString(kubeconfig.into()))].into()), ..Secret::default() };
        secret.metadata.name = Some(format!("kubeconfig-{runtime}"));
        secrets.create(&PostParams::default(), &secret).await.expect("a Secret");
    }
}

const QUERY: &str = "query($id: String!) { result: runtimeStatus(id: $id) {
    lastOperationStatus { id operation state message errors { message } lastError { errMessage reason component } stage startedAt finishedAt compassRuntimeID }
    runtimeConnectionStatus { status errors { message } }
    runtimeConfiguration { kubeconfig credentialsSecretName
        clusterConfig { name kubernetesVersion seed shootNetworkingFilterDisabled administrators targetSecret
            providerSpecificConfig { ... on GCPProviderConfig { zones zone } } }
        kymaConfig { version configuration { key value secret } } }
    runtimeConnectionConfig { kubeconfig }
    hibernationStatus { hibernated hibernationPossible }
    problems { message }
} }";

async fn status(bench: &Bench, id: &str) -> Reply {
    bench.ask(QUERY).variables(json!({ "id": id })).send().await
}

fn problems(status: &Value) -> String {
    status["problems"].to_string()
}

#[tokio::test]
async fn a_runtime_that_is_still_being_made_has_a_status() {
    let bench = Bench::start().await;
    let (id, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let status = status(&bench, &id).await.data("result");
    assert_eq!(status["lastOperationStatus"]["id"], operation.as_str());
    assert_eq!(status["runtimeConfiguration"]["clusterConfig"]["name"], "shop");
    assert!(status["runtimeConfiguration"]["kubeconfig"].is_null() && status["hibernationStatus"].is_null());
    assert_eq!(status["runtimeConnectionStatus"], json!({"status": "Pending", "errors": null}));
    for part in ["no Runtime resource", "no kubeconfig", "sleeps"] {
        assert!(problems(&status).contains(part), "{part}: {status}");
    }
}

#[tokio::test]
async fn what_kubernetes_knows_better_is_laid_over_what_was_asked_for() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let facts =
        json!({"kubernetesVersion": "1.33.9", "seedName": "seed-7", "hibernated": false, "hibernationPossible": true});
    show(&bench, &id, Seen { facts, kubeconfig: Some("apiVersion: v1\nkind: Config"), egress_filter: true }).await;
    let status = status(&bench, &id).await.data("result");
    let config = &status["runtimeConfiguration"]["clusterConfig"];
    assert_eq!(
        (&config["kubernetesVersion"], &config["seed"], &config["shootNetworkingFilterDisabled"]),
        (&json!("1.33.9"), &json!("seed-7"), &json!(false))
    );
    assert_eq!(status["runtimeConfiguration"]["kubeconfig"], "apiVersion: v1\nkind: Config");
    assert_eq!(status["runtimeConnectionConfig"]["kubeconfig"], "apiVersion: v1\nkind: Config");
    assert_eq!(status["hibernationStatus"], json!({"hibernated": false, "hibernationPossible": true}));
    assert_eq!(status["problems"], json!([]));
    assert_eq!(status["lastOperationStatus"]["message"], "Operation succeeded");
    assert_eq!(status["lastOperationStatus"]["stage"], "Finished");

    // A version below the actual one is kept out, and the filter stays as it is in the cluster.
    let query = "mutation($id: String!) { result: upgradeShoot(id: $id, config: {gardenerConfig: {kubernetesVersion: \"1.33.5\", seed: \"seed-7\"}}) { message } }";
    let reply = bench.ask(query).variables(json!({ "id": id })).send().await;
    assert!(reply.data("result")["message"].as_str().expect("text").contains("keeps Kubernetes 1.33.9"), "{reply:?}");
    let stored = bench.stored(&id).await;
    assert_eq!((&stored["kubernetesVersion"], &stored["networkingFilterDisabled"]), (&json!("1.33.9"), &json!(false)));
}

#[tokio::test]
async fn a_runtime_that_is_gone_has_a_status_without_secrets() {
    let bench = Bench::start().await;
    let mut config = cluster("gcp", "shop", &[]);
    config["clusterConfig"]["administrators"] = json!(["ann"]);
    config["kymaConfig"] =
        json!({"version": "2.20.5", "configuration": [{"key": "k", "value": "hush", "secret": true}]});
    let id = bench.living(&config).await;
    bench.store.tombstone(id.parse().expect("an id"), SystemClock::default().wall()).await.expect("gone");
    let status = status(&bench, &id).await.data("result");
    assert_eq!(status["runtimeConfiguration"]["clusterConfig"]["name"], "shop");
    assert_eq!(status["runtimeConfiguration"]["clusterConfig"]["administrators"], json!([]));
    assert!(problems(&status).contains("deprovisioned") && !status.to_string().contains("hush"));
    assert_eq!(status["runtimeConnectionStatus"]["status"], "Disconnected", "its agent went with it");
}

#[tokio::test]
async fn secrets_are_masked_for_those_who_may_not_see_them() {
    let bench = Bench::start().await;
    let mut config = cluster("gcp", "shop", &[]);
    config["clusterConfig"]["administrators"] = json!(["ann"]);
    config["kymaConfig"] = json!({"version": "2.20.5", "configuration": [{"key": "k", "value": "hush", "secret": true}, {"key": "o", "value": "open"}]});
    let id = bench.living(&config).await;
    show(&bench, &id, Seen { kubeconfig: Some("apiVersion: v1\nkind: Config"), ..Seen::default() }).await;
    let seen = status(&bench, &id).await.data("result");
    let entries = &seen["runtimeConfiguration"]["kymaConfig"]["configuration"];
    assert_eq!(
        entries,
        &json!([{"key": "k", "value": "hush", "secret": true}, {"key": "o", "value": "open", "secret": false}])
    );
    let reply = bench.ask(QUERY).variables(json!({ "id": id })).by("eve", &[Scope::Read]).send().await;
    let masked = reply.data("result");
    assert_eq!(masked["runtimeConfiguration"]["kymaConfig"]["configuration"][0]["value"], "***");
    assert!(masked["runtimeConfiguration"]["kubeconfig"].is_null() && masked["runtimeConnectionConfig"].is_null());
    assert!(masked["runtimeConfiguration"]["clusterConfig"]["administrators"].is_null());
    assert!(problems(&masked).contains("runtime:secrets:read"));
    assert!(!reply.body.to_string().contains("hush") && !reply.body.to_string().contains("apiVersion"));
}

#[tokio::test]
async fn the_agents_last_known_state_is_shown_and_doubted_when_it_is_old() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let now = SystemClock::default().wall();
    let see = async |state, errors: &[&str], at| {
        let agent = AgentState::observed(state, errors.iter().map(|text| (*text).to_owned()), at);
        bench.store.set_agent(id.parse().expect("an id"), &agent).await.expect("stored");
        status(&bench, &id).await.data("result")["runtimeConnectionStatus"].clone()
    };
    let old = see(AgentConnection::Connected, &[], now - hours(1)).await;
    assert_eq!(old["status"], "Disconnected");
    assert!(old["errors"].to_string().contains("last reached"));
    assert_eq!(
        see(AgentConnection::Connected, &["cannot sync"], now).await,
        json!({"status": "Connected", "errors": [{"message": "cannot sync"}]})
    );
    let later = see(AgentConnection::Disconnected, &["certificate expired"], now + hours(1)).await;
    assert_eq!(later, json!({"status": "Disconnected", "errors": [{"message": "certificate expired"}]}));
}

#[tokio::test]
async fn a_failed_operation_says_what_why_and_who() {
    let bench = Bench::start().await;
    let (id, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    bench
        .write(&operation, Next::Run, |fields| {
            let errors = json!({"errors": [{"message": "quota", "reason": "ERR_INFRA_QUOTA_EXCEEDED", "component": "gardener"}]});
            fields.data = slipway_model::JsonText::of(&errors).expect("an object");
            fields.description = "Waiting for the cluster, 45 %".to_owned();
        })
        .await;
    let running = status(&bench, &id).await.data("result")["lastOperationStatus"].clone();
    assert_eq!(running["message"], "Waiting for the cluster, 45 %");
    assert_eq!(
        running["lastError"],
        json!({"errMessage": "quota", "reason": "ERR_INFRA_QUOTA_EXCEEDED", "component": "gardener"})
    );
    bench
        .write(&operation, Next::End { state: OperationState::Failed }, |fields| {
            fields.last_error = Some(LastError {
                message: "the cluster cannot be made: quota".to_owned(),
                reason: Reason::foreign("ERR_INFRA_QUOTA_EXCEEDED"),
                component: Component::InfrastructureManager,
                step: "Wait".to_owned(),
            });
        })
        .await;
    let failed = status(&bench, &id).await.data("result")["lastOperationStatus"].clone();
    assert_eq!(failed["state"], "Failed");
    assert_eq!(failed["message"], "the cluster cannot be made: quota");
    assert_eq!(
        (&failed["lastError"]["component"], &failed["lastError"]["reason"]),
        (&json!("gardener"), &json!("ERR_INFRA_QUOTA_EXCEEDED"))
    );
    assert_eq!(failed["errors"], json!([{"message": "quota"}, {"message": "the cluster cannot be made: quota"}]));
    assert!(failed["finishedAt"].is_string());
}

#[tokio::test]
async fn without_the_compat_switch_no_error_is_null() {
    let bench = Bench::set(|settings| settings.compat.last_error_always_present = false).await;
    let (id, _) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    assert!(status(&bench, &id).await.data("result")["lastOperationStatus"]["lastError"].is_null());
}

#[tokio::test]
async fn the_history_comes_page_by_page() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    for _ in 0..4 {
        let query = "mutation($id: String!) { result: upgradeShoot(id: $id, config: {gardenerConfig: {}}) { id } }";
        let reply = bench.ask(query).variables(json!({ "id": id })).send().await;
        bench.end(reply.data("result")["id"].as_str().expect("an id"), OperationState::Succeeded).await;
    }
    let query = "query($id: String!, $first: Int, $after: String) { result: runtimeOperations(id: $id, first: $first, after: $after) { data { id operation } endCursor hasNextPage } }";
    let page = async |after: Value| {
        bench.ask(query).variables(json!({"id": id, "first": 2, "after": after})).send().await.data("result")
    };
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = page(after).await;
        seen.extend(page["data"].as_array().expect("a list").clone());
        after = page["endCursor"].clone();
        if page["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(seen.len(), 5);
    assert_eq!((&seen[0]["operation"], &seen[4]["operation"]), (&json!("UpgradeShoot"), &json!("ProvisionNoInstall")));
    let bad = bench.ask(query).variables(json!({"id": id, "first": 0})).send().await;
    bad.violates("first", "page");
    let bad = bench.ask(query).variables(json!({"id": id, "after": "x"})).send().await;
    bad.violates("after", "V14");
    let _ = TENANT;
}

#[tokio::test]
async fn an_unknown_operation_and_one_of_the_broker_are_not_found() {
    let bench = Bench::start().await;
    let query = "query($id: String!) { runtimeOperationStatus(id: $id) { id } }";
    let reply = bench.ask(query).variables(json!({"id": "0198c0de-0000-7000-8000-000000000000"})).send().await;
    assert_eq!(reply.error(), (404, "err_db_not_found".to_owned()));
}
