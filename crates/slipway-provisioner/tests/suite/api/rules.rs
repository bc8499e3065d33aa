//! The rules of 2.8, each by its field path.

use serde_json::{Value, json};

use super::bench::{Bench, TENANT, cluster, minimal, set};

const AT: &str = "config.clusterConfig.gardenerConfig";

/// A change of a good request, and what is wrong with it then.
struct Case {
    provider: &'static str,
    field: &'static str,
    value: Value,
    path: &'static str,
    rule: &'static str,
}

fn case(provider: &'static str, field: &'static str, value: Value, path: &'static str, rule: &'static str) -> Case {
    Case { provider, field, value, path, rule }
}

#[tokio::test]
async fn every_rule_of_a_new_cluster_names_the_field_it_is_about() {
    let bench = Bench::set(|settings| settings.networking.reserved_cidrs = vec!["172.16.0.0/12".to_owned()]).await;
    let azure_zone = |name: i32, cidr: &str| json!({"name": name, "cidr": cidr});
    let aws_zone = |name: &str, third: u8| json!({"name": name, "workerCidr": format!("10.250.{third}.0/24"), "publicCidr": format!("10.250.{}.0/24", third + 1), "internalCidr": format!("10.250.{}.0/24", third + 2)});
    let gcp = "providerSpecificConfig.gcpConfig";
    let cases = [
        // V2 image
        case("gcp", "machineImageVersion", json!("1.0.0"), "machineImageVersion", "V2"),
        // V3 disks of OpenStack
        case("openstack", "diskType", json!("ssd"), "diskType", "V3"),
        case("openstack", "volumeSizeGB", json!(50), "volumeSizeGB", "V3"),
        // V7 provider and its block
        case("ec2", "name", json!("shop"), "provider", "V7"),
        case("", "name", json!("shop"), "provider", "V7"),
        case("alicloud", "name", json!("shop"), "provider", "V7"),
        case("gcp", "providerSpecificConfig", json!({"azureConfig": {}}), "providerSpecificConfig.azureConfig", "V7"),
        // V8 ranges
        case("gcp", "workerCidr", json!("cidr"), "workerCidr", "V8"),
        case("gcp", "workerCidr", json!("10.10.10.10/255"), "workerCidr", "V8"),
        case("gcp", "workerCidr", json!("10.250.0.1/16"), "workerCidr", "V8"),
        case("gcp", "podsCidr", json!("10.250.0.0/17"), "podsCidr", "V8"),
        case("gcp", "servicesCidr", json!("10.96.0.0/16"), "servicesCidr", "V8"),
        case("gcp", "podsCidr", json!("172.16.0.0/16"), "podsCidr", "V8"),
        case("gcp", "workerCidr", json!("172.31.0.0/16"), "workerCidr", "V8"),
        case(
            "azure",
            "providerSpecificConfig.azureConfig",
            json!({"vnetCidr": "10.250.0.0/16", "azureZones": [azure_zone(1, "10.9.0.0/24")]}),
            "providerSpecificConfig.azureConfig.azureZones[0].cidr",
            "V8",
        ),
        case(
            "azure",
            "providerSpecificConfig.azureConfig",
            json!({"vnetCidr": "10.250.0.0/16", "azureZones": [azure_zone(1, "10.250.0.0/24"), azure_zone(2, "10.250.0.0/25")]}),
            "providerSpecificConfig.azureConfig.azureZones[1].cidr",
            "V8",
        ),
        case(
            "aws",
            "providerSpecificConfig.awsConfig",
            json!({"vpcCidr": "10.250.0.0/16", "awsZones": [aws_zone("a", 0), aws_zone("b", 1)]}),
            "providerSpecificConfig.awsConfig.awsZones[1].workerCidr",
            "V8",
        ),
        case(
            "aws",
            "providerSpecificConfig.awsConfig",
            json!({"vpcCidr": "vpc"}),
            "providerSpecificConfig.awsConfig.vpcCidr",
            "V8",
        ),
        // V9 zones
        case("gcp", gcp, json!({"zones": ["a", "a"]}), "providerSpecificConfig.gcpConfig.zones[1]", "V9"),
        case("gcp", gcp, json!({"zones": []}), "providerSpecificConfig.gcpConfig.zones", "V9"),
        case(
            "gcp",
            gcp,
            json!({"zones": ["a","b","c","d","e","f","g","h","i"]}),
            "providerSpecificConfig.gcpConfig.zones",
            "V9",
        ),
        case(
            "aws",
            "providerSpecificConfig.awsConfig",
            json!({"awsZones": []}),
            "providerSpecificConfig.awsConfig.awsZones",
            "V9",
        ),
        case(
            "openstack",
            "providerSpecificConfig.openStackConfig",
            json!({"zones": []}),
            "providerSpecificConfig.openStackConfig.zones",
            "V9",
        ),
        case(
            "azure",
            "providerSpecificConfig.azureConfig",
            json!({"vnetCidr": "10.250.0.0/16", "azureZones": [azure_zone(0, "10.250.0.0/24")]}),
            "providerSpecificConfig.azureConfig.azureZones[0].name",
            "V9",
        ),
        // V10 numbers
        case("gcp", "autoScalerMin", json!(0), "autoScalerMin", "V10"),
        case("gcp", "autoScalerMin", json!(-5), "autoScalerMin", "V10"),
        case("gcp", "size", json!(0), "autoScalerMin", "V10"),
        case("gcp", "maxSurge", json!(-1), "maxSurge", "V10"),
        case("gcp", "maxUnavailable", json!(-1), "maxUnavailable", "V10"),
        case("gcp", "maxSurge", json!(0), "maxSurge", "V10"),
        case("gcp", "volumeSizeGB", json!(0), "volumeSizeGB", "V10"),
        case(
            "azure",
            "providerSpecificConfig.azureConfig",
            json!({"zones": ["1"], "enableNatGateway": true, "idleConnectionTimeoutMinutes": 3}),
            "providerSpecificConfig.azureConfig.idleConnectionTimeoutMinutes",
            "V10",
        ),
        // V11 versions
        case("gcp", "kubernetesVersion", json!("latest"), "kubernetesVersion", "V11"),
        case("gcp", "kubernetesVersion", json!("1.x"), "kubernetesVersion", "V11"),
        // V12 tolerance
        case("gcp", "controlPlaneFailureTolerance", json!("region"), "controlPlaneFailureTolerance", "V12"),
        // V13 login
        case("gcp", "oidcConfig", oidc("http://a.b", "RS256"), "oidcConfig.issuerURL", "V13"),
        case("gcp", "oidcConfig", oidc("https://", "RS256"), "oidcConfig.issuerURL", "V13"),
        case("gcp", "oidcConfig", oidc("https://a.b", "none"), "oidcConfig.signingAlgs[0]", "V13"),
        // V16 what a cloud needs
        case(
            "aws",
            "providerSpecificConfig.awsConfig",
            json!({"vpcCidr": "10.250.0.0/28"}),
            "providerSpecificConfig.awsConfig.awsZones",
            "V16",
        ),
        case(
            "aws",
            "providerSpecificConfig.awsConfig",
            json!({"zone": "a"}),
            "providerSpecificConfig.awsConfig.zone",
            "V16",
        ),
        // Names that would break out of their place
        case("gcp", "name", json!("Shop"), "name", "name"),
        case("gcp", "name", json!("a-very-long-name-indeed"), "name", "name"),
        case("gcp", "name", json!("x'; drop table operations; --"), "name", "name"),
        case("gcp", "name", json!("../../etc/passwd"), "name", "name"),
        case("gcp", "name", json!(""), "name", "name"),
        case("gcp", "region", json!("eu\"}},{\"a\":1"), "region", "text"),
        case("gcp", "targetSecret", json!("a/../b"), "targetSecret", "text"),
        case("gcp", "machineType", json!("$(reboot)"), "machineType", "text"),
        case("gcp", "seed", json!("seed\u{0}"), "seed", "text"),
        case("gcp", "purpose", json!("infrastructure"), "purpose", "purpose"),
        case("gcp", "memory", json!("lots"), "memory", "memory"),
        case("gcp", "memory", json!("9999Gi"), "memory", "memory"),
        case("gcp", "dnsConfig", json!({"domain": "a b"}), "dnsConfig.domain", "text"),
    ];
    for Case { provider, field, value, path, rule } in cases {
        let config = cluster(provider, "shop", &[(field, value.clone())]);
        let reply = bench.provision(&config).await;
        assert_eq!(reply.status, 200, "{field} {value}: {reply:?}");
        assert_eq!(reply.error(), (400, "err_validation".to_owned()), "{field} {value}: {reply:?}");
        reply.violates(&format!("{AT}.{path}"), rule);
    }
}

fn oidc(issuer: &str, alg: &str) -> Value {
    json!({"clientID": "c", "groupsClaim": "g", "issuerURL": issuer, "signingAlgs": [alg], "usernameClaim": "u", "usernamePrefix": "-"})
}

#[tokio::test]
async fn all_violations_are_told_at_once() {
    let bench = Bench::start().await;
    let changes = [
        ("autoScalerMin", json!(0)),
        ("workerCidr", json!("cidr")),
        ("kubernetesVersion", json!("x")),
        ("purpose", json!("fun")),
    ];
    let mut config = cluster("gcp", "shop", &changes);
    set(&mut config, "clusterConfig.administrators", json!(["a", "a"]));
    set(&mut config, "kymaConfig", json!({"version": "newest"}));
    let reply = bench.provision(&config).await;
    let paths: Vec<String> = reply.violations().into_iter().map(|(path, _)| path).collect();
    for wanted in [
        "config.clusterConfig.gardenerConfig.autoScalerMin",
        "config.clusterConfig.gardenerConfig.workerCidr",
        "config.clusterConfig.gardenerConfig.kubernetesVersion",
        "config.clusterConfig.gardenerConfig.purpose",
        "config.clusterConfig.administrators[1]",
        "config.kymaConfig.version",
    ] {
        assert!(paths.contains(&wanted.to_owned()), "{wanted}: {paths:?}");
        assert!(reply.message().contains(wanted), "{}", reply.message());
    }
    assert!(reply.body["data"]["result"].is_null());
}

#[tokio::test]
async fn v1_a_cluster_must_be_described_exactly_once() {
    let bench = Bench::start().await;
    let mut none = minimal("gcp");
    none["clusterConfig"] = json!({});
    bench.provision(&none).await.violates("config.clusterConfig.gardenerConfig", "V1");
    let mut old = minimal("gcp");
    old["clusterConfig"] = json!({"gcpConfig": {"name": "shop", "region": "europe-west3"}});
    bench.provision(&old).await.violates("config.clusterConfig.gcpConfig", "V1");
    let mut both = minimal("gcp");
    both["clusterConfig"]["gcpConfig"] = json!({});
    bench.provision(&both).await.violates("config.clusterConfig", "V1");
    let mut nameless = minimal("gcp");
    nameless["runtimeInput"]["name"] = " ".into();
    bench.provision(&nameless).await.violates("config.runtimeInput.name", "V1");
}

#[tokio::test]
async fn v4_components_are_lite_or_named_and_bring_the_agent() {
    let bench = Bench::start().await;
    let kyma = |components: Value| {
        let mut config = minimal("gcp");
        config["kymaConfig"] = json!({"version": "2.20.5", "components": components});
        config
    };
    bench.provision(&kyma(json!([]))).await.violates("config.kymaConfig.components", "V4");
    let istio = json!({"component": "istio", "namespace": "istio-system"});
    bench.provision(&kyma(json!([istio]))).await.violates("config.kymaConfig.components", "V4");
    let agent = json!({"component": "compass-runtime-agent", "namespace": "compass-system"});
    let reply = bench.provision(&kyma(json!([istio, agent]))).await;
    assert_eq!(reply.data("result")["operation"], "Provision");
    let off = Bench::set(|settings| settings.agent.enabled = false).await;
    assert_eq!(off.provision(&kyma(json!([istio]))).await.data("result")["operation"], "Provision");
}

#[tokio::test]
async fn v14_ids_are_uuids() {
    let bench = Bench::start().await;
    for bad in
        ["", "7", "00000000-0000-0000-0000-000000000000", "' or 1=1 --", "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6\u{0}"]
    {
        let id = json!({ "id": bad });
        for query in [
            "query($id: String!) { runtimeStatus(id: $id) { hibernationStatus { hibernated } } }",
            "mutation($id: String!) { deprovisionRuntime(id: $id) }",
            "mutation($id: String!) { reconnectRuntimeAgent(id: $id) }",
            "mutation($id: String!) { hibernateRuntime(id: $id) { id } }",
            "mutation($id: String!) { wakeUpRuntime(id: $id) { id } }",
            "mutation($id: String!) { rollBackUpgradeOperation(id: $id) { hibernationStatus { hibernated } } }",
            "mutation($id: String!) { cleanupRuntimeData(id: $id) { id } }",
            "mutation($id: String!) { upgradeRuntime(id: $id, config: {clusterConfig: {version: \"1.33.4\"}}) { id } }",
            "mutation($id: String!) { upgradeShoot(id: $id, config: {gardenerConfig: {}}) { id } }",
            "query($id: String!) { runtimeOperations(id: $id) { hasNextPage } }",
        ] {
            let reply = bench.ask(query).variables(id.clone()).send().await;
            assert_eq!(reply.error(), (400, "err_validation".to_owned()), "{query} {bad}: {reply:?}");
            reply.violates("id", "V14");
        }
    }
    let reply = bench.ask("{ runtimeOperationStatus(id: \"7\") { id } }").send().await;
    reply.violates("id", "V14");
    let nil = "00000000-0000-0000-0000-000000000000";
    let query =
        "mutation($config: ProvisionRuntimeInput!, $id: String) { provisionRuntime(config: $config, id: $id) { id } }";
    let reply = bench.ask(query).variables(json!({"config": minimal("gcp"), "id": nil})).send().await;
    reply.violates("id", "V14");
}

#[tokio::test]
async fn v15_administrators_are_few_short_and_different() {
    let bench = Bench::start().await;
    let with = |list: Value| {
        let mut config = minimal("gcp");
        config["clusterConfig"]["administrators"] = list;
        config
    };
    let at = "config.clusterConfig.administrators";
    bench.provision(&with(json!([""]))).await.violates(&format!("{at}[0]"), "V15");
    bench.provision(&with(json!(["x".repeat(254)]))).await.violates(&format!("{at}[0]"), "V15");
    bench.provision(&with(json!(["a", "b", "a"]))).await.violates(&format!("{at}[2]"), "V15");
    let many: Vec<String> = (0..101).map(|n| format!("user-{n}")).collect();
    bench.provision(&with(json!(many))).await.violates(at, "V15");
    let fine: Vec<String> = (0..100).map(|n| format!("user-{n}")).collect();
    bench.provision(&with(json!(fine))).await.data("result");
}

#[tokio::test]
async fn lenient_ranges_are_a_switch() {
    let bench = Bench::set(|settings| settings.compat.lenient_cidr = true).await;
    let config = cluster("gcp", "shop", &[("workerCidr", json!("cidr")), ("podsCidr", json!("10.10.10.10/255"))]);
    bench.provision(&config).await.data("result");
}

#[tokio::test]
async fn credentials_must_be_given_once_or_alike() {
    let bench = Bench::start().await;
    let mut config = minimal("gcp");
    config["clusterConfig"]["gardenerConfig"]["targetSecret"] = Value::Null;
    bench.provision(&config).await.violates("config.clusterConfig.gardenerConfig.targetSecret", "credentials");
    config["credentials"] = json!({"secretName": "old-way"});
    let (runtime, _) = bench.provisioned(&config).await;
    assert_eq!(bench.stored(&runtime).await["targetSecret"], "old-way");
    config["clusterConfig"]["gardenerConfig"]["targetSecret"] = "other".into();
    bench.provision(&config).await.violates("config.credentials.secretName", "credentials");
    let _ = TENANT;
}
