//! `upgradeShoot`, row by row of its table.

use serde_json::{Value, json};
use slipway_model::{OperationState, ports::Runtimes as _};

use super::bench::{Bench, Reply, cluster};

const QUERY: &str = "mutation($id: String!, $config: UpgradeShootInput!) {
    result: upgradeShoot(id: $id, config: $config) { id operation state message runtimeID warnings }
}";

async fn upgrade(bench: &Bench, id: &str, config: Value) -> Reply {
    bench.ask(QUERY).variables(json!({"id": id, "config": config})).send().await
}

/// Changes one field; the operation ends well, so that the next can follow.
async fn change(bench: &Bench, id: &str, field: &str, value: Value) -> Reply {
    let reply = upgrade(bench, id, json!({"gardenerConfig": {field: value}})).await;
    if let Some(operation) = reply.body["data"]["result"]["id"].as_str() {
        bench.end(operation, OperationState::Succeeded).await;
    }
    reply
}

fn immutable(reply: &Reply, field: &str) {
    assert_eq!(reply.error(), (400, "err_immutable_field".to_owned()), "{reply:?}");
    reply.violates(&format!("config.gardenerConfig.{field}"), "immutable");
    assert!(reply.message().contains(field), "{}", reply.message());
}

#[tokio::test]
async fn what_cannot_change_is_accepted_as_it_is_and_refused_otherwise() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[("seed", json!("seed-1"))])).await;
    for (field, same, other) in [
        ("name", "shop", "shop2"),
        ("provider", "GCP", "azure"),
        ("region", "europe-west3", "us-east1"),
        ("seed", "seed-1", "seed-2"),
        ("targetSecret", "cloud-account", "another"),
    ] {
        assert_eq!(change(&bench, &id, field, json!(same)).await.data("result")["state"], "InProgress", "{field}");
        immutable(&change(&bench, &id, field, json!(other)).await, field);
    }
    let stored = bench.stored(&id).await;
    assert_eq!((&stored["region"], &stored["targetSecret"]), (&json!("europe-west3"), &json!("cloud-account")));
}

#[tokio::test]
async fn what_can_change_is_stored() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let oidc = json!({"clientID": "c", "groupsClaim": "g", "issuerURL": "https://a.b", "signingAlgs": ["RS256"], "usernameClaim": "u", "usernamePrefix": "-"});
    for (field, value, place) in [
        ("kubernetesVersion", json!("1.34.1"), "kubernetesVersion"),
        ("machineType", json!("n2-standard-8"), "machineType"),
        ("volumeSizeGB", json!(80), "volumeSizeGb"),
        ("diskType", json!("pd-ssd"), "diskType"),
        ("autoScalerMax", json!(9), "autoScalerMax"),
        ("autoScalerMin", json!(3), "autoScalerMin"),
        ("maxSurge", json!(7), "maxSurge"),
        ("maxUnavailable", json!(2), "maxUnavailable"),
        ("machineImage", json!("ubuntu"), "machineImage"),
        ("machineImageVersion", json!("24.4.0"), "machineImageVersion"),
        ("purpose", json!("production"), "purpose"),
        ("enableKubernetesVersionAutoUpdate", json!(true), "kubernetesVersionAutoUpdate"),
        ("enableMachineImageVersionAutoUpdate", json!(true), "machineImageVersionAutoUpdate"),
        ("exposureClassName", json!("internet"), "exposureClassName"),
        ("shootNetworkingFilterDisabled", json!(false), "networkingFilterDisabled"),
    ] {
        let reply = change(&bench, &id, field, value.clone()).await;
        assert_eq!(reply.data("result")["operation"], "UpgradeShoot", "{field}: {reply:?}");
        assert_eq!(bench.stored(&id).await[place], value, "{field}");
    }
    change(&bench, &id, "oidcConfig", oidc).await.data("result");
    assert_eq!(bench.stored(&id).await["oidc"]["issuerUrl"], "https://a.b");
    // An empty text changes nothing where the contract says so.
    change(&bench, &id, "exposureClassName", json!("")).await.data("result");
    assert_eq!(bench.stored(&id).await["exposureClassName"], "internet");
}

#[tokio::test]
async fn numbers_and_texts_keep_their_limits() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    for (field, value, rule) in [
        ("autoScalerMin", json!(0), "V10"),
        ("autoScalerMax", json!(1), "V10"),
        ("maxSurge", json!(-1), "V10"),
        ("maxUnavailable", json!(-1), "V10"),
        ("maxSurge", json!(0), "V10"),
        ("volumeSizeGB", json!(0), "V10"),
        ("machineType", json!(""), "V6"),
        ("diskType", json!(""), "V6"),
        ("purpose", json!(""), "V6"),
        ("kubernetesVersion", json!(""), "V6"),
        ("kubernetesVersion", json!("newest"), "V11"),
        ("purpose", json!("infrastructure"), "purpose"),
        ("machineType", json!("a b"), "text"),
    ] {
        let reply = change(&bench, &id, field, value.clone()).await;
        assert_eq!(reply.error().0, 400, "{field} {value}");
        reply.violates(&format!("config.gardenerConfig.{field}"), rule);
    }
    let openstack = bench.living(&cluster("openstack", "stack", &[])).await;
    change(&bench, &openstack, "diskType", json!("ssd")).await.violates("config.gardenerConfig.diskType", "V3");
    change(&bench, &openstack, "volumeSizeGB", json!(50)).await.violates("config.gardenerConfig.volumeSizeGB", "V3");
}

#[tokio::test]
async fn a_version_is_only_ever_raised_and_a_lower_one_is_said_not_refused() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[("kubernetesVersion", json!("1.33.4"))])).await;
    let reply = change(&bench, &id, "kubernetesVersion", json!("1.32.9")).await;
    let message = reply.data("result")["message"].as_str().expect("a message").to_owned();
    assert!(message.contains("keeps Kubernetes 1.33.4") && message.contains("1.32.9"), "{message}");
    assert_eq!(bench.stored(&id).await["kubernetesVersion"], "1.33.4");
    change(&bench, &id, "kubernetesVersion", json!("1.33.5")).await.data("result");
    assert_eq!(bench.stored(&id).await["kubernetesVersion"], "1.33.5");
}

#[tokio::test]
async fn the_range_of_nodes_is_refused_while_there_are_nodes_unless_forced() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    change(&bench, &id, "workerCidr", json!("10.250.0.0/16")).await.data("result");
    let reply = change(&bench, &id, "workerCidr", json!("10.9.0.0/16")).await;
    reply.violates("config.gardenerConfig.workerCidr", "nodes");
    let forced = Bench::set(|settings| settings.compat.force_worker_cidr = true).await;
    let id = forced.living(&cluster("gcp", "shop", &[])).await;
    change(&forced, &id, "workerCidr", json!("10.9.0.0/16")).await.data("result");
    assert_eq!(forced.stored(&id).await["workerCidr"], "10.9.0.0/16");
    change(&forced, &id, "workerCidr", json!("10.96.0.0/16")).await.violates("config.gardenerConfig.podsCidr", "V8");
}

#[tokio::test]
async fn the_secret_may_change_where_the_operator_allows_it() {
    let bench = Bench::set(|settings| settings.compat.allow_target_secret_change = true).await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    change(&bench, &id, "targetSecret", json!("another")).await.data("result");
    assert_eq!(bench.stored(&id).await["targetSecret"], "another");
    change(&bench, &id, "targetSecret", json!("a/b")).await.violates("config.gardenerConfig.targetSecret", "text");
}

#[tokio::test]
async fn on_google_cloud_zones_are_added_never_removed() {
    let bench = Bench::start().await;
    let blocks = |zones: Value| json!({"gcpConfig": {"zones": zones}});
    let id = bench.living(&cluster("gcp", "shop", &[("providerSpecificConfig", blocks(json!(["a", "b"])))])).await;
    change(&bench, &id, "providerSpecificConfig", blocks(json!(["b", "a", "c"]))).await.data("result");
    assert_eq!(bench.stored(&id).await["providerConfig"]["zones"], json!(["a", "b", "c"]));
    let at = "config.gardenerConfig.providerSpecificConfig.gcpConfig.zones";
    change(&bench, &id, "providerSpecificConfig", blocks(json!(["a"]))).await.violates(at, "zones");
    change(&bench, &id, "providerSpecificConfig", blocks(json!(["a", "b", "c", "c"]))).await.violates(at, "V9");
    let other = json!({"azureConfig": {"vnetCidr": "10.250.0.0/16"}});
    change(&bench, &id, "providerSpecificConfig", other)
        .await
        .violates("config.gardenerConfig.providerSpecificConfig.azureConfig", "V7");
}

#[tokio::test]
async fn on_azure_zones_are_added_and_the_gateway_switched_and_a_subnet_in_use_stays() {
    let bench = Bench::start().await;
    let zone = |name: i32, cidr: &str| json!({"name": name, "cidr": cidr});
    let azure = |value: Value| json!({"azureConfig": value});
    let first = azure(json!({"vnetCidr": "10.250.0.0/16", "azureZones": [zone(1, "10.250.0.0/22")]}));
    let id = bench.living(&cluster("azure", "shop", &[("providerSpecificConfig", first)])).await;
    let more = azure(
        json!({"azureZones": [zone(1, "10.250.0.0/22"), zone(2, "10.250.4.0/22")], "enableNatGateway": true, "idleConnectionTimeoutMinutes": 10}),
    );
    change(&bench, &id, "providerSpecificConfig", more).await.data("result");
    let stored = bench.stored(&id).await["providerConfig"].clone();
    assert_eq!(stored["azureZones"].as_array().expect("a list").len(), 2);
    assert_eq!(
        (&stored["vnetCidr"], &stored["enableNatGateway"], &stored["idleConnectionTimeoutMinutes"]),
        (&json!("10.250.0.0/16"), &json!(true), &json!(10))
    );
    let at = "config.gardenerConfig.providerSpecificConfig.azureConfig";
    for (block, path, rule) in [
        (json!({"azureZones": [zone(1, "10.250.0.0/22")]}), "azureZones", "zones"),
        (json!({"azureZones": [zone(1, "10.250.8.0/22"), zone(2, "10.250.4.0/22")]}), "azureZones", "zones"),
        (
            json!({"azureZones": [zone(1, "10.250.0.0/22"), zone(2, "10.250.4.0/22"), zone(3, "10.250.4.0/24")]}),
            "azureZones[2].cidr",
            "V8",
        ),
        (
            json!({"azureZones": [zone(1, "10.250.0.0/22"), zone(2, "10.250.4.0/22"), zone(3, "10.9.0.0/24")]}),
            "azureZones[2].cidr",
            "V8",
        ),
        (json!({"vnetCidr": "10.9.0.0/16"}), "vnetCidr", "immutable"),
        (json!({"zones": ["3"]}), "zones", "immutable"),
        (json!({"idleConnectionTimeoutMinutes": 121}), "idleConnectionTimeoutMinutes", "V10"),
    ] {
        let reply = change(&bench, &id, "providerSpecificConfig", azure(block.clone())).await;
        reply.violates(&format!("{at}.{path}"), rule);
    }
    change(&bench, &id, "providerSpecificConfig", azure(json!({"enableNatGateway": false}))).await.data("result");
    assert_eq!(bench.stored(&id).await["providerConfig"]["enableNatGateway"], false);
}

#[tokio::test]
async fn on_aws_and_openstack_zones_stay() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("aws", "shop", &[])).await;
    let zones = bench.stored(&id).await["providerConfig"]["zones"].clone();
    let aws = |value: Value| json!({"awsConfig": value});
    change(&bench, &id, "providerSpecificConfig", aws(json!({"vpcCidr": "10.250.0.0/16", "awsZones": zones})))
        .await
        .data("result");
    let at = "config.gardenerConfig.providerSpecificConfig";
    let mut fewer = zones.clone();
    fewer.as_array_mut().expect("a list").pop();
    for block in [json!({"awsZones": fewer}), json!({"awsZones": []})] {
        change(&bench, &id, "providerSpecificConfig", aws(block))
            .await
            .violates(&format!("{at}.awsConfig.awsZones"), "immutable");
    }
    let mut moved = zones.clone();
    moved[0]["workerCidr"] = "10.250.255.0/24".into();
    change(&bench, &id, "providerSpecificConfig", aws(json!({"awsZones": moved})))
        .await
        .violates(&format!("{at}.awsConfig.awsZones"), "immutable");
    change(&bench, &id, "providerSpecificConfig", aws(json!({"vpcCidr": "10.9.0.0/16"})))
        .await
        .violates(&format!("{at}.awsConfig.vpcCidr"), "immutable");
    change(&bench, &id, "providerSpecificConfig", aws(json!({"enableIMDSv2": true}))).await.data("result");
    assert_eq!(bench.stored(&id).await["providerConfig"]["enableImdsV2"], true);
    change(&bench, &id, "providerSpecificConfig", aws(json!({"enableIMDSv2": false})))
        .await
        .violates(&format!("{at}.awsConfig.enableIMDSv2"), "immutable");

    let stack = bench.living(&cluster("openstack", "stack", &[])).await;
    let openstack = |value: Value| json!({"openStackConfig": value});
    change(&bench, &stack, "providerSpecificConfig", openstack(json!({"loadBalancerProvider": "f5"})))
        .await
        .data("result");
    change(&bench, &stack, "providerSpecificConfig", openstack(json!({"zones": ["z"]})))
        .await
        .violates(&format!("{at}.openStackConfig.zones"), "immutable");
    change(&bench, &stack, "providerSpecificConfig", openstack(json!({"floatingPoolName": "x"})))
        .await
        .violates(&format!("{at}.openStackConfig.floatingPoolName"), "immutable");
}

#[tokio::test]
async fn administrators_left_out_stay_an_empty_list_removes_them() {
    let bench = Bench::start().await;
    let mut config = cluster("gcp", "shop", &[]);
    config["clusterConfig"]["administrators"] = json!(["ann", "bob"]);
    let id = bench.living(&config).await;
    let kept = async || {
        let stored = bench.store.config(id.parse().expect("an id"), None).await.expect("read").expect("stored");
        let sealed = stored.secrets.expect("secrets");
        slipway_provisioner::input::ClusterSecrets::open(Some(&sealed)).expect("opened").administrators
    };
    for (list, expected) in [(Value::Null, vec!["ann", "bob"]), (json!(["eve"]), vec!["eve"]), (json!([]), vec![])] {
        let reply = upgrade(&bench, &id, json!({"gardenerConfig": {}, "administrators": list})).await;
        bench.end(reply.data("result")["id"].as_str().expect("an id"), OperationState::Succeeded).await;
        assert_eq!(kept().await, expected);
    }
    upgrade(&bench, &id, json!({"gardenerConfig": {}, "administrators": ["a", "a"]}))
        .await
        .violates("config.administrators[1]", "V15");
}

#[tokio::test]
async fn a_change_of_nothing_is_an_operation_too_and_the_audit_log_names_what_changed() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let reply = upgrade(&bench, &id, json!({"gardenerConfig": {}})).await;
    bench.end(reply.data("result")["id"].as_str().expect("an id"), OperationState::Succeeded).await;
    change(&bench, &id, "machineType", json!("n2-standard-8")).await.data("result");
    let entries = bench.store.audit_entries(id.parse().expect("an id"), None, 10).await.expect("read");
    assert_eq!(entries[0].changed_paths, ["machineType"]);
    assert_eq!((entries[0].who.as_str(), entries[0].action.as_str()), ("ann", "upgradeShoot"));
    assert!(entries[1].changed_paths.is_empty());
}

#[tokio::test]
async fn of_two_at_once_one_is_accepted_and_the_other_is_told_which() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    for _ in 0..20 {
        let config = json!({"gardenerConfig": {"autoScalerMax": 5}});
        let answers = futures::future::join_all((0..4).map(|_| upgrade(&bench, &id, config.clone()))).await;
        let accepted: Vec<&Reply> = answers.iter().filter(|reply| reply.body.get("errors").is_none()).collect();
        assert_eq!(accepted.len(), 1, "{answers:?}");
        let operation = accepted[0].data("result")["id"].as_str().expect("an id").to_owned();
        for refused in answers.iter().filter(|reply| reply.body.get("errors").is_some()) {
            assert_eq!(refused.error(), (400, "err_operation_in_progress".to_owned()));
            assert_eq!(refused.body["errors"][0]["extensions"]["operation_id"], operation.as_str());
            assert!(refused.message().contains(&operation));
        }
        bench.end(&operation, OperationState::Succeeded).await;
    }
}

#[tokio::test]
async fn an_unknown_runtime_is_not_found() {
    let bench = Bench::start().await;
    let reply = upgrade(&bench, "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a", json!({"gardenerConfig": {}})).await;
    assert_eq!(reply.error(), (404, "err_db_not_found".to_owned()));
}

#[tokio::test]
async fn after_a_version_that_gardener_refused_the_actual_one_can_be_asked_for_again() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let facts = json!({"kubernetesVersion": "1.33.4"});
    super::status::show(&bench, &id, super::status::Seen { facts, ..Default::default() }).await;
    let refused = upgrade(&bench, &id, json!({"gardenerConfig": {"kubernetesVersion": "1.99.0"}})).await;
    let operation = refused.data("result")["id"].as_str().expect("an id").to_owned();
    bench.end(&operation, OperationState::Failed).await;
    let back = upgrade(&bench, &id, json!({"gardenerConfig": {"kubernetesVersion": "1.33.4"}})).await.data("result");
    assert_eq!(back["warnings"], json!([]), "the cluster never had 1.99.0");
    assert_eq!(bench.stored(&id).await["kubernetesVersion"], "1.33.4");
}
