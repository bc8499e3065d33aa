//! `provisionRuntime`: defaults, aliases, and what is accepted without effect.

use serde_json::{Value, json};
use slipway_model::ports::Runtimes as _;

use super::bench::{Bench, cluster, minimal};

#[tokio::test]
async fn the_least_a_client_must_say_makes_a_cluster_with_defaults_on_every_cloud() {
    let bench = Bench::start().await;
    for (provider, machine, zones) in [
        ("gcp", "n2-standard-4", 3),
        ("azure", "Standard_D4s_v5", 0),
        ("aws", "m6i.xlarge", 3),
        ("openstack", "g_c2_m8", 2),
    ] {
        let reply = bench.provision(&minimal(provider)).await;
        let result = reply.data("result");
        assert_eq!(result["operation"], "ProvisionNoInstall", "{provider}");
        assert_eq!(result["state"], "InProgress");
        assert_eq!(result["message"], "Provisioning started");
        assert!(result["id"].is_string() && result["runtimeID"].is_string());
        let stored = bench.stored(result["runtimeID"].as_str().expect("an id")).await;
        assert_eq!(stored["kubernetesVersion"], "1.33.4");
        assert_eq!(stored["machineType"], machine);
        assert_eq!(stored["purpose"], "evaluation");
        assert_eq!(stored["networkingFilterDisabled"], true);
        assert_eq!(
            (stored["podsCidr"].as_str(), stored["servicesCidr"].as_str()),
            (Some("10.96.0.0/13"), Some("10.104.0.0/13"))
        );
        assert_eq!(stored["maxSurge"], zones.max(1), "{provider}");
        assert_eq!(stored["maxUnavailable"], 0);
        let name = stored["name"].as_str().expect("a name");
        assert!(name.starts_with("c-") && name.len() == 9, "{name}");
    }
}

#[tokio::test]
async fn the_settings_of_the_seed_have_their_places() {
    let bench = Bench::start().await;
    let mut config = cluster(
        "GKE",
        "seed",
        &[("size", json!(3)), ("memory", json!("30Gi")), ("kubernetesVersion", json!("1.32.7"))],
    );
    config["kymaConfig"] = json!({"version": "2.20.5", "modules": ["Jaeger", "Kiali"]});
    let reply = bench.provision(&config).await;
    let result = reply.data("result");
    assert_eq!(result["operation"], "Provision");
    let runtime = result["runtimeID"].as_str().expect("an id");
    let stored = bench.stored(runtime).await;
    assert_eq!((&stored["autoScalerMin"], &stored["autoScalerMax"]), (&json!(3), &json!(3)));
    assert_eq!(stored["machineType"], "n2-standard-8");
    assert_eq!(stored["providerConfig"]["provider"], "gcp");
    let kyma = bench.store.kyma(runtime.parse().expect("an id")).await.expect("read").expect("stored");
    let kyma: Value = serde_json::from_str(kyma.spec.as_str()).expect("JSON");
    assert_eq!(kyma["modules"], json!(["Jaeger", "Kiali"]));
    let components: Vec<&str> =
        kyma["components"].as_array().expect("a list").iter().filter_map(|c| c["component"].as_str()).collect();
    assert!(components.contains(&"compass-runtime-agent") && components.len() > 1, "Lite: {components:?}");
}

#[tokio::test]
async fn what_has_no_effect_is_said_and_never_dropped_in_silence() {
    let bench = Bench::start().await;
    let changes = [
        ("projectName", json!("p")),
        ("targetProvider", json!("azure")),
        ("allowPrivilegedContainers", json!(true)),
        (
            "providerSpecificConfig",
            json!({"gcpConfig": {"zones": ["a"]}, "azureConfig": {"vnetCidr": "10.250.0.0/16"}}),
        ),
        ("volumeSizeGB", json!(30)),
    ];
    let reply = bench.provision(&cluster("gcp", "old", &changes)).await;
    let result = reply.data("result");
    let warnings = result["warnings"].as_array().expect("a list");
    for part in ["projectName", "targetProvider", "allowPrivilegedContainers", "azureConfig", "volumeSizeGB"] {
        assert!(
            warnings.iter().any(|text| text.as_str().is_some_and(|text| text.contains(part))),
            "{part}: {warnings:?}"
        );
        assert!(result["message"].as_str().is_some_and(|text| text.contains(part)), "{result}");
    }
    let query = format!("{{ runtimeOperationStatus(id: {}) {{ warnings message }} }}", result["id"]);
    assert_eq!(bench.ask(&query).send().await.data("runtimeOperationStatus")["warnings"], result["warnings"]);
}

#[tokio::test]
async fn old_names_of_fields_are_read() {
    let bench = Bench::start().await;
    let changes = [
        ("nodeCount", json!(2)),
        ("zone", json!("europe-west3-b")),
        ("cidr", json!("10.9.0.0/16")),
        ("volumeSize", json!("40Gi")),
        ("diskType", json!("pd-ssd")),
    ];
    let (runtime, _) = bench.provisioned(&cluster("gcp", "old", &changes)).await;
    let stored = bench.stored(&runtime).await;
    assert_eq!((&stored["autoScalerMin"], &stored["autoScalerMax"]), (&json!(2), &json!(2)));
    assert_eq!(stored["providerConfig"]["zones"], json!(["europe-west3-b"]));
    assert_eq!(
        (&stored["workerCidr"], &stored["volumeSizeGb"], &stored["diskType"]),
        (&json!("10.9.0.0/16"), &json!(40), &json!("pd-ssd"))
    );
    let aws = json!({"awsConfig": {"vpcCidr": "10.250.0.0/16", "zone": "eu-central-1a", "publicCidr": "10.250.96.0/22", "internalCidr": "10.250.112.0/22"}});
    let (runtime, _) = bench
        .provisioned(&cluster(
            "aws",
            "old-aws",
            &[("workerCidr", json!("10.250.0.0/19")), ("providerSpecificConfig", aws)],
        ))
        .await;
    let zones = &bench.stored(&runtime).await["providerConfig"]["zones"];
    assert_eq!(
        zones,
        &json!([{"name": "eu-central-1a", "publicCidr": "10.250.96.0/22", "internalCidr": "10.250.112.0/22", "workerCidr": "10.250.0.0/19"}])
    );
}

#[tokio::test]
async fn the_oldest_clients_cluster_on_google_cloud_is_translated_where_that_is_allowed() {
    let bench = Bench::set(|settings| settings.compat.allow_direct_gcp = true).await;
    let mut config = minimal("gcp");
    config["clusterConfig"] = json!({"gcpConfig": {
        "name": "direct", "projectName": "p", "kubernetesVersion": "1.33.0", "numberOfNodes": 2, "bootDiskSizeGB": 50,
        "machineType": "n2-standard-2", "region": "europe-west3", "zone": "europe-west3-a"
    }});
    config["credentials"] = json!({"secretName": "account"});
    let (runtime, _) = bench.provisioned(&config).await;
    let stored = bench.stored(&runtime).await;
    assert_eq!(
        (&stored["name"], &stored["machineType"], &stored["autoScalerMax"]),
        (&json!("direct"), &json!("n2-standard-2"), &json!(2))
    );
    assert_eq!(stored["providerConfig"], json!({"provider": "gcp", "zones": ["europe-west3-a"]}));
}

#[tokio::test]
async fn empty_texts_of_clients_in_go_count_as_unset() {
    let bench = Bench::start().await;
    let oidc = json!({"clientID": "", "groupsClaim": "", "issuerURL": "", "signingAlgs": [], "usernameClaim": "", "usernamePrefix": ""});
    let changes = [
        ("oidcConfig", oidc),
        ("exposureClassName", json!("")),
        ("seed", json!("")),
        ("controlPlaneFailureTolerance", json!("")),
    ];
    let (runtime, _) = bench.provisioned(&cluster("openstack", "empty", &changes)).await;
    let stored = bench.stored(&runtime).await;
    assert!(stored["oidc"].is_null() && stored["seed"].is_null() && stored["controlPlaneFailureTolerance"].is_null());
    assert_eq!(stored["exposureClassName"], "converged-cloud-internet");
}

#[tokio::test]
async fn a_caller_may_bring_its_own_id_once() {
    let bench = Bench::start().await;
    let id = "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a";
    let query = "mutation($c: ProvisionRuntimeInput!, $id: String) { result: provisionRuntime(config: $c, id: $id) { runtimeID } }";
    let ask = |name: &str| bench.ask(query).variables(json!({"c": cluster("gcp", name, &[]), "id": id}));
    assert_eq!(ask("one").send().await.data("result")["runtimeID"], id);
    let reply = ask("two").send().await;
    reply.violates("id", "V14");
    assert_eq!(reply.body["errors"][0]["extensions"]["runtime_id"], id);
}

#[tokio::test]
async fn secrets_and_people_are_not_stored_in_the_open() {
    let bench = Bench::start().await;
    let mut config = cluster("gcp", "shop", &[]);
    config["clusterConfig"]["administrators"] = json!(["ann@example.com"]);
    config["kymaConfig"] =
        json!({"version": "2.20.5", "configuration": [{"key": "k", "value": "hush-hush", "secret": true}]});
    let (runtime, _) = bench.provisioned(&config).await;
    let id = runtime.parse().expect("an id");
    let stored = bench.store.config(id, None).await.expect("read").expect("stored");
    assert!(!stored.spec.as_str().contains("ann@example.com") && stored.secrets.is_some());
    let kyma = bench.store.kyma(id).await.expect("read").expect("stored");
    assert!(!kyma.spec.as_str().contains("hush-hush") && kyma.secrets.is_some());
}
