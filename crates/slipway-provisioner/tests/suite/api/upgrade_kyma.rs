//! `upgradeRuntime` and `rollBackUpgradeOperation`.

use serde_json::{Value, json};
use slipway_model::OperationState;

use super::bench::{Bench, Reply, cluster};

async fn upgrade(bench: &Bench, id: &str, config: Value) -> Reply {
    let query = "mutation($id: String!, $config: UpgradeRuntimeInput!) {
        result: upgradeRuntime(id: $id, config: $config) { id operation state message }
    }";
    bench.ask(query).variables(json!({"id": id, "config": config})).send().await
}

async fn roll_back(bench: &Bench, id: &str) -> Reply {
    let query = "mutation($id: String!) { result: rollBackUpgradeOperation(id: $id) {
        lastOperationStatus { operation state } runtimeConfiguration { kymaConfig { version } }
    } }";
    bench.ask(query).variables(json!({ "id": id })).send().await
}

async fn with_kyma(bench: &Bench) -> String {
    let mut config = cluster("gcp", "shop", &[]);
    config["kymaConfig"] = json!({"version": "2.19.0"});
    bench.living(&config).await
}

#[tokio::test]
async fn v5_something_must_be_upgraded() {
    let bench = Bench::start().await;
    let id = with_kyma(&bench).await;
    upgrade(&bench, &id, json!({})).await.violates("config", "V5");
    upgrade(&bench, &id, json!({"kymaConfig": {"version": "newest"}}))
        .await
        .violates("config.kymaConfig.version", "V11");
    upgrade(&bench, &id, json!({"kymaConfig": {"version": "2.20.5", "components": []}}))
        .await
        .violates("config.kymaConfig.components", "V4");
    upgrade(&bench, &id, json!({"clusterConfig": {"version": "x"}}))
        .await
        .violates("config.clusterConfig.version", "V11");
}

#[tokio::test]
async fn kyma_is_upgraded_and_rolled_back_in_the_books() {
    let bench = Bench::start().await;
    let id = with_kyma(&bench).await;
    assert_eq!(roll_back(&bench, &id).await.error(), (400, "err_rollback_not_allowed".to_owned()));
    let reply = upgrade(&bench, &id, json!({"kymaConfig": {"version": "2.20.5"}})).await;
    assert_eq!(reply.data("result")["operation"], "Upgrade");
    assert_eq!(roll_back(&bench, &id).await.error(), (400, "err_rollback_not_allowed".to_owned()), "still in progress");
    bench.end(reply.data("result")["id"].as_str().expect("an id"), OperationState::Failed).await;
    let rolled = roll_back(&bench, &id).await.data("result");
    assert_eq!(rolled["runtimeConfiguration"]["kymaConfig"]["version"], "2.19.0");
    assert_eq!(rolled["lastOperationStatus"], json!({"operation": "Upgrade", "state": "Failed"}));
}

#[tokio::test]
async fn kyma_that_we_did_not_install_is_not_ours_to_upgrade() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "bare", &[])).await;
    let reply = upgrade(&bench, &id, json!({"kymaConfig": {"version": "2.20.5"}})).await;
    assert_eq!(reply.error(), (400, "err_kyma_not_managed".to_owned()));
    let reply = upgrade(&bench, &id, json!({"clusterConfig": {"version": "1.34.0"}})).await;
    assert_eq!(reply.data("result")["operation"], "Upgrade");
    assert_eq!(bench.stored(&id).await["kubernetesVersion"], "1.34.0");
}

#[tokio::test]
async fn a_lower_kubernetes_version_is_kept_out_here_too() {
    let bench = Bench::start().await;
    let id = with_kyma(&bench).await;
    let both = json!({"kymaConfig": {"version": "2.20.5"}, "clusterConfig": {"version": "1.30.0"}});
    let reply = upgrade(&bench, &id, both).await;
    assert!(reply.data("result")["message"].as_str().expect("a message").contains("keeps Kubernetes 1.33.4"));
    assert_eq!(bench.stored(&id).await["kubernetesVersion"], "1.33.4");
}
