//! `deprovisionRuntime` and `cleanupRuntimeData`.

use serde_json::json;
use slipway_engine::SystemClock;
use slipway_model::{
    OperationState,
    ports::{Clock as _, Runtimes as _},
};
use slipway_provisioner::auth::Scope;

use super::bench::{Bench, Reply, cluster};

async fn deprovision(bench: &Bench, id: &str) -> Reply {
    bench
        .ask("mutation($id: String!) { result: deprovisionRuntime(id: $id) }")
        .variables(json!({ "id": id }))
        .send()
        .await
}

async fn kind_of(bench: &Bench, operation: &str) -> String {
    let query = "query($id: String!) { result: runtimeOperationStatus(id: $id) { operation } }";
    let reply = bench.ask(query).variables(json!({ "id": operation })).send().await;
    reply.data("result")["operation"].as_str().expect("a type").to_owned()
}

#[tokio::test]
async fn a_removal_is_named_by_whether_kyma_was_installed() {
    let bench = Bench::start().await;
    let bare = bench.living(&cluster("gcp", "bare", &[])).await;
    let operation = deprovision(&bench, &bare).await.data("result");
    assert_eq!(kind_of(&bench, operation.as_str().expect("an id")).await, "DeprovisionNoInstall");
    let mut config = cluster("gcp", "full", &[]);
    config["kymaConfig"] = json!({"version": "2.20.5"});
    let full = bench.living(&config).await;
    let operation = deprovision(&bench, &full).await.data("result");
    assert_eq!(kind_of(&bench, operation.as_str().expect("an id")).await, "Deprovision");
}

#[tokio::test]
async fn a_client_that_lost_the_answer_gets_the_same_operation() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let first = deprovision(&bench, &id).await.data("result");
    assert_eq!(deprovision(&bench, &id).await.data("result"), first);
    bench.end(first.as_str().expect("an id"), OperationState::Succeeded).await;
    bench.store.tombstone(id.parse().expect("an id"), SystemClock::default().wall()).await.expect("gone");
    assert_eq!(deprovision(&bench, &id).await.data("result"), first, "also when it is long gone");
    let status = bench.ask("mutation($id: String!) { upgradeShoot(id: $id, config: {gardenerConfig: {}}) { id } }");
    assert_eq!(status.variables(json!({ "id": id })).send().await.error(), (404, "err_db_not_found".to_owned()));
}

#[tokio::test]
async fn it_waits_for_other_operations_and_does_not_know_strangers() {
    let bench = Bench::start().await;
    let (id, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let reply = deprovision(&bench, &id).await;
    assert_eq!(reply.error(), (400, "err_operation_in_progress".to_owned()));
    assert!(reply.message().contains(&operation));
    let stranger = deprovision(&bench, "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a").await;
    assert_eq!(stranger.error(), (404, "err_db_not_found".to_owned()));
}

#[tokio::test]
async fn stored_data_are_removed_by_administrators_only_and_not_while_something_runs() {
    let bench = Bench::start().await;
    let query = "mutation($id: String!) { result: cleanupRuntimeData(id: $id) { id message } }";
    let (id, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let ask = || bench.ask(query).variables(json!({ "id": id }));
    let weak = ask().by("ann", &[Scope::Read, Scope::Write]).send().await;
    assert_eq!(weak.error(), (403, "err_forbidden".to_owned()));
    assert_eq!(ask().send().await.error(), (400, "err_operation_in_progress".to_owned()));
    bench.end(&operation, OperationState::Failed).await;
    assert!(ask().send().await.data("result")["message"].as_str().expect("text").contains("were removed"));
    assert!(ask().send().await.data("result")["message"].as_str().expect("text").contains("removed already"));
    let stranger = json!({ "id": "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a" });
    let reply = bench.ask(query).variables(stranger).send().await;
    assert!(reply.data("result")["message"].as_str().expect("text").contains("there is no runtime"));
}
