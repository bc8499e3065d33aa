//! A provisioning that is asked for twice.

use serde_json::json;
use slipway_model::{
    OperationState,
    ports::{Runtimes as _, Storage as _},
};

use super::bench::{Bench, TENANT, cluster};

const QUERY: &str =
    "mutation($config: ProvisionRuntimeInput!) { result: provisionRuntime(config: $config) { id runtimeID } }";

#[tokio::test]
async fn the_same_wish_again_is_answered_with_the_first_operation() {
    let bench = Bench::start().await;
    let first = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    // On a retry the broker may draw another display name and other zones.
    let mut again =
        cluster("gcp", "shop", &[("providerSpecificConfig", json!({"gcpConfig": {"zones": ["europe-west3-c"]}}))]);
    again["runtimeInput"]["name"] = "shop-x7".into();
    assert_eq!(bench.provisioned(&again).await, first);
    bench.end(&first.1, OperationState::Succeeded).await;
    assert_eq!(bench.provisioned(&again).await, first);
}

#[tokio::test]
async fn twenty_at_once_make_one_cluster() {
    let bench = Bench::start().await;
    let config = cluster("gcp", "shop", &[]);
    let answers = futures::future::join_all((0..20).map(|_| bench.provisioned(&config))).await;
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    assert_eq!(bench.store.live_runtimes(None, 100).await.expect("listed").len(), 1);
}

#[tokio::test]
async fn another_wish_under_the_same_name_is_a_conflict() {
    let bench = Bench::start().await;
    bench.provisioned(&cluster("gcp", "shop", &[])).await;
    for (provider, field, value) in
        [("aws", "region", "europe-west3"), ("gcp", "region", "us-east1"), ("gcp", "targetSecret", "another")]
    {
        let reply = bench.provision(&cluster(provider, "shop", &[(field, json!(value))])).await;
        assert_eq!(reply.error(), (400, "err_runtime_name_conflict".to_owned()), "{provider} {field}");
    }
}

#[tokio::test]
async fn a_name_of_another_tenant_is_a_conflict_that_tells_nothing() {
    let bench = Bench::start().await;
    let (runtime, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let reply =
        bench.ask(QUERY).variables(json!({"config": cluster("gcp", "shop", &[])})).tenant(Some("rival")).send().await;
    assert_eq!(reply.error(), (400, "err_runtime_name_conflict".to_owned()));
    let text = reply.body.to_string();
    assert!(!text.contains(&runtime) && !text.contains(&operation) && !text.contains(TENANT), "{text}");
}

#[tokio::test]
async fn after_a_failure_the_runtime_must_be_deprovisioned_first() {
    let bench = Bench::start().await;
    let (_, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    bench.end(&operation, OperationState::Failed).await;
    let reply = bench.provision(&cluster("gcp", "shop", &[])).await;
    assert_eq!(reply.error(), (400, "err_runtime_needs_deprovisioning".to_owned()));
    assert_eq!(reply.body["errors"][0]["extensions"]["operation_id"], operation.as_str());
}

#[tokio::test]
async fn after_the_window_the_name_is_simply_taken() {
    let bench = Bench::set(|settings| settings.idempotency_window_seconds = 0).await;
    let (_, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    bench.end(&operation, OperationState::Succeeded).await;
    let finished = bench.store.operation(operation.parse().expect("an id")).await.expect("stored").finished_at;
    assert!(finished.is_some());
    let reply = bench.provision(&cluster("gcp", "shop", &[])).await;
    assert_eq!(reply.error(), (400, "err_runtime_name_conflict".to_owned()));
}

#[tokio::test]
async fn a_drawn_name_is_never_a_repeat() {
    let bench = Bench::start().await;
    let config = super::bench::minimal("gcp");
    assert_ne!(bench.provisioned(&config).await, bench.provisioned(&config).await);
}

#[tokio::test]
async fn the_name_is_free_again_after_a_removal() {
    let bench = Bench::start().await;
    let (runtime, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    bench.end(&operation, OperationState::Failed).await;
    let now = slipway_model::ports::Clock::wall(&slipway_engine::SystemClock::default());
    bench.store.tombstone(runtime.parse().expect("an id"), now).await.expect("gone");
    let (second, _) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    assert_ne!(second, runtime);
}
