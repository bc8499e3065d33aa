//! Who may see and touch whose runtimes.

use serde_json::json;
use slipway_model::{OperationState, ports::Runtimes as _};
use slipway_provisioner::{auth::Scope, settings::TenantPolicy};

use super::bench::{Bench, TENANT, cluster};

const QUERIES: [&str; 2] = [
    "query($id: String!) { result: runtimeStatus(id: $id) { lastOperationStatus { id } } }",
    "query($id: String!) { result: runtimeOperations(id: $id) { data { id } } }",
];

const MUTATIONS: [&str; 8] = [
    "mutation($id: String!) { result: deprovisionRuntime(id: $id) }",
    "mutation($id: String!) { result: reconnectRuntimeAgent(id: $id) }",
    "mutation($id: String!) { result: hibernateRuntime(id: $id) { id } }",
    "mutation($id: String!) { result: wakeUpRuntime(id: $id) { id } }",
    "mutation($id: String!) { result: rollBackUpgradeOperation(id: $id) { hibernationStatus { hibernated } } }",
    "mutation($id: String!) { result: cleanupRuntimeData(id: $id) { id } }",
    "mutation($id: String!) { result: upgradeRuntime(id: $id, config: {clusterConfig: {version: \"1.34.0\"}}) { id } }",
    "mutation($id: String!) { result: upgradeShoot(id: $id, config: {gardenerConfig: {}}) { id } }",
];

#[tokio::test]
async fn one_tenant_cannot_see_or_touch_anothers_runtimes() {
    let bench = Bench::start().await;
    let (id, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    bench.end(&operation, OperationState::Succeeded).await;
    for query in QUERIES.iter().chain(&MUTATIONS) {
        let reply = bench.ask(query).variables(json!({ "id": id })).tenant(Some("rival")).send().await;
        assert_eq!(reply.error(), (403, "err_tenant_mismatch".to_owned()), "{query}");
        assert!(reply.body["data"]["result"].is_null());
        assert!(!reply.body.to_string().contains(&operation) && !reply.body.to_string().contains(TENANT), "{reply:?}");
    }
    let query = "query($id: String!) { result: runtimeOperationStatus(id: $id) { message } }";
    let reply = bench.ask(query).variables(json!({ "id": operation })).tenant(Some("rival")).send().await;
    assert_eq!(reply.error(), (403, "err_tenant_mismatch".to_owned()));
    let record = bench.store.runtime(id.parse().expect("an id")).await.expect("read").expect("stored");
    assert_eq!(record.tenant.as_str(), TENANT);
    assert_eq!(bench.store.runtime_operations(record.id, None, 10).await.expect("read").len(), 1);
}

#[tokio::test]
async fn a_trusted_caller_moves_a_runtime_by_a_mutation_and_never_by_a_query() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let tenant = async || bench.store.runtime(id.parse().expect("an id")).await.expect("read").expect("stored").tenant;
    let ask = |query: &str| {
        bench.ask(query).variables(json!({ "id": id })).tenant(Some("new-account")).by("broker", &Scope::ALL)
    };
    ask(QUERIES[0]).send().await.data("result");
    assert_eq!(tenant().await.as_str(), TENANT, "a query never writes");
    ask(MUTATIONS[7]).send().await.data("result");
    assert_eq!(tenant().await.as_str(), "new-account");
    let entries = bench.store.audit_entries(id.parse().expect("an id"), None, 10).await.expect("read");
    let moved = entries.iter().find(|entry| entry.previous_tenant.is_some()).expect("an entry about the move");
    assert_eq!(
        (moved.who.as_str(), moved.previous_tenant.as_ref().expect("old").as_str(), moved.tenant.as_str()),
        ("broker", TENANT, "new-account")
    );
    let old = bench.ask(QUERIES[0]).variables(json!({ "id": id })).send().await;
    assert_eq!(old.error(), (403, "err_tenant_mismatch".to_owned()), "the old tenant has lost it");
}

#[tokio::test]
async fn a_join_of_a_running_removal_moves_the_tenant_too() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let ask = |tenant: &str| {
        bench.ask(MUTATIONS[0]).variables(json!({ "id": id })).tenant(Some(tenant)).by("broker", &Scope::ALL)
    };
    let first = ask(TENANT).send().await.data("result");
    assert_eq!(ask("new-account").send().await.data("result"), first);
    let record = bench.store.runtime(id.parse().expect("an id")).await.expect("read").expect("stored");
    assert_eq!(record.tenant.as_str(), "new-account");
}

#[tokio::test]
async fn a_strict_policy_refuses_even_the_trusted() {
    let bench = Bench::set(|settings| settings.tenant_policy = TenantPolicy::Strict).await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let reply = bench
        .ask(MUTATIONS[7])
        .variables(json!({ "id": id }))
        .tenant(Some("other"))
        .by("broker", &Scope::ALL)
        .send()
        .await;
    assert_eq!(reply.error(), (403, "err_tenant_mismatch".to_owned()));
}

#[tokio::test]
async fn a_tenant_must_be_named_on_every_operation() {
    let bench = Bench::start().await;
    for query in QUERIES.iter().chain(&MUTATIONS) {
        for tenant in [None, Some("")] {
            let id = json!({ "id": "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a" });
            let reply = bench.ask(query).variables(id).tenant(tenant).send().await;
            assert_eq!((reply.status, reply.error()), (200, (400, "err_tenant_missing".to_owned())), "{query}");
        }
    }
    for bad in ["a b", "a/b", "-a", "'; drop table", &"x".repeat(64)] {
        let reply = bench.ask(QUERIES[0]).variables(json!({ "id": "x" })).tenant(Some(bad)).send().await;
        reply.violates("header.tenant", "text");
    }
}

#[tokio::test]
async fn the_subaccount_is_stored_once() {
    let bench = Bench::start().await;
    let query = "mutation($config: ProvisionRuntimeInput!) { result: provisionRuntime(config: $config) { runtimeID } }";
    let variables = json!({"config": cluster("gcp", "shop", &[])});
    let reply = bench.ask(query).variables(variables.clone()).sub_account("sub-1").send().await;
    let id = reply.data("result")["runtimeID"].as_str().expect("an id").to_owned();
    bench.ask(query).variables(variables).sub_account("sub-2").send().await.data("result");
    let record = bench.store.runtime(id.parse().expect("an id")).await.expect("read").expect("stored");
    assert_eq!(record.sub_account.expect("one").as_str(), "sub-1");
    let bad =
        bench.ask(query).variables(json!({"config": cluster("gcp", "other", &[])})).sub_account("a b").send().await;
    bad.violates("header.sub-account", "text");
}

#[tokio::test]
async fn scopes_say_what_a_token_is_good_for() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let ask = |query: &str, scopes: &[Scope]| bench.ask(query).variables(json!({ "id": id })).by("ann", scopes);
    for query in QUERIES {
        ask(query, &[Scope::Read]).send().await.data("result");
        assert_eq!(ask(query, &[Scope::Write]).send().await.error(), (403, "err_forbidden".to_owned()));
    }
    for query in MUTATIONS {
        assert_eq!(
            ask(query, &[Scope::Read, Scope::SecretsRead]).send().await.error(),
            (403, "err_forbidden".to_owned()),
            "{query}"
        );
    }
    let operations = bench.store.runtime_operations(id.parse().expect("an id"), None, 10).await.expect("read");
    assert_eq!(operations.len(), 1, "nothing was started");
}

#[tokio::test]
async fn without_a_good_token_nothing_is_answered() {
    let bench = Bench::start().await;
    for token in [None, Some(""), Some("abc"), Some("a.b.c")] {
        let reply = bench.ask("{ __typename }").token(token).send().await;
        assert_eq!((reply.status, reply.error()), (401, (403, "err_unauthenticated".to_owned())));
        assert!(reply.body.get("data").is_none());
    }
    let get = bench.get("/graphql?query=%7B__typename%7D").send().await.expect("an answer");
    assert_eq!(get.status().as_u16(), 401);
    assert!(get.headers().contains_key("www-authenticate"));
}
