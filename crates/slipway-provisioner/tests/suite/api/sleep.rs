//! `hibernateRuntime`, `wakeUpRuntime` and `reconnectRuntimeAgent`: what they ask of the cluster first.

use serde_json::json;
use slipway_model::OperationState;

use super::{
    bench::{Bench, Reply, cluster},
    status::{Seen, show},
};

async fn ask(bench: &Bench, mutation: &str, id: &str) -> Reply {
    let query = format!("mutation($id: String!) {{ result: {mutation} }}");
    bench.ask(&query).variables(json!({ "id": id })).send().await
}

#[tokio::test]
async fn a_cluster_is_put_to_sleep_and_woken_up() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    for (mutation, kind, hibernated) in [
        ("hibernateRuntime(id: $id) { id operation }", "Hibernate", true),
        ("wakeUpRuntime(id: $id) { id operation }", "WakeUp", false),
    ] {
        let result = ask(&bench, mutation, &id).await.data("result");
        assert_eq!(result["operation"], kind);
        bench.end(result["id"].as_str().expect("an id"), OperationState::Succeeded).await;
        assert_eq!(bench.stored(&id).await["hibernated"], hibernated);
    }
}

#[tokio::test]
async fn a_cluster_that_gardener_keeps_awake_is_refused_with_its_reason() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let facts = json!({"hibernationPossible": false, "hibernationMessage": "a webhook would block it"});
    show(&bench, &id, Seen { facts, ..Seen::default() }).await;
    let reply = ask(&bench, "hibernateRuntime(id: $id) { id }", &id).await;
    assert_eq!(reply.error(), (400, "err_hibernation_not_possible".to_owned()));
    assert!(reply.message().contains("a webhook would block it"));
}

#[tokio::test]
async fn an_agent_is_reconnected_where_there_is_a_way_to_it() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let reconnect = "reconnectRuntimeAgent(id: $id)";
    let reply = ask(&bench, reconnect, &id).await;
    assert_eq!(reply.error(), (400, "err_validation".to_owned()));
    assert!(reply.message().contains("no kubeconfig"), "{}", reply.message());
    show(
        &bench,
        &id,
        Seen {
            kubeconfig: Some("apiVersion: v1\nkind: Config"),
            facts: json!({"hibernated": true}),
            ..Seen::default()
        },
    )
    .await;
    assert_eq!(ask(&bench, reconnect, &id).await.error(), (400, "err_runtime_hibernated".to_owned()));

    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    show(&bench, &id, Seen { kubeconfig: Some("apiVersion: v1\nkind: Config"), ..Seen::default() }).await;
    let operation = ask(&bench, reconnect, &id).await.data("result");
    assert!(operation.as_str().is_some_and(|id| id.len() == 36));
    assert_eq!(ask(&bench, reconnect, &id).await.error(), (400, "err_operation_in_progress".to_owned()));

    let off = Bench::set(|settings| settings.agent.enabled = false).await;
    let id = off.living(&cluster("gcp", "shop", &[])).await;
    assert!(ask(&off, reconnect, &id).await.message().contains("switched off"));
}
