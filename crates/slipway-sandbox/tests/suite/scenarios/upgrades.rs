//! `upgradeShoot`, field by field of its table: what was asked for stands where it must arrive.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use slipway_sandbox::{Options, World, world::gcp};

/// A change that the garden takes, where the Shoot shows it, and as what.
struct Row {
    change: Value,
    look: fn(&Value) -> &Value,
    arrives: Value,
}

/// Fields without a row, and why.
const WITHOUT_ROW: &[(&str, &str)] = &[
    ("name", "cannot change"),
    ("provider", "cannot change"),
    ("targetSecret", "cannot change unless the operator allows it"),
    ("region", "cannot change"),
    ("seed", "cannot change"),
    ("workerCidr", "cannot change while there are nodes"),
    ("exposureClassName", "Gardener lets no cluster change it"),
    ("oidcConfig", "arrives in the cluster, not in the Shoot: a story of its own"),
];

fn worker(shoot: &Value) -> &Value {
    &shoot["spec"]["provider"]["workers"][0]
}

fn updates(shoot: &Value) -> &Value {
    &shoot["spec"]["maintenance"]["autoUpdate"]
}

fn filter(shoot: &Value) -> &Value {
    let all = shoot["spec"]["extensions"].as_array().expect("extensions");
    let found = all.iter().find(|extension| extension["type"] == "shoot-networking-filter");
    found.map_or(&Value::Null, |extension| &extension["disabled"])
}

fn rows() -> Vec<Row> {
    let row = |change, look, arrives| Row { change, look, arrives };
    let zones = ["europe-west3-a", "europe-west3-b"];
    let ubuntu = "22.4.20260101";
    vec![
        row(json!({"machineType": "n2-standard-2"}), |it| &worker(it)["machine"]["type"], json!("n2-standard-2")),
        row(json!({"volumeSizeGB": 80}), |it| &worker(it)["volume"]["size"], json!("80Gi")),
        row(json!({"diskType": "pd-ssd"}), |it| &worker(it)["volume"]["type"], json!("pd-ssd")),
        row(json!({"autoScalerMax": 9}), |it| &worker(it)["maximum"], json!(9)),
        row(json!({"autoScalerMin": 4}), |it| &worker(it)["minimum"], json!(4)),
        row(json!({"maxSurge": 7}), |it| &worker(it)["maxSurge"], json!(7)),
        row(json!({"maxUnavailable": 2}), |it| &worker(it)["maxUnavailable"], json!(2)),
        row(
            json!({"providerSpecificConfig": {"gcpConfig": {"zones": zones}}}),
            |it| &worker(it)["zones"],
            json!(zones),
        ),
        row(
            json!({"machineImageVersion": "1877.9.0"}),
            |it| &worker(it)["machine"]["image"]["version"],
            json!("1877.9.0"),
        ),
        row(
            json!({"machineImage": "ubuntu", "machineImageVersion": ubuntu}),
            |it| &worker(it)["machine"]["image"],
            json!({"name": "ubuntu", "version": ubuntu}),
        ),
        row(json!({"purpose": "production"}), |it| &it["spec"]["purpose"], json!("production")),
        row(json!({"shootNetworkingFilterDisabled": false}), filter, json!(false)),
        row(json!({"kubernetesVersion": "1.34.5"}), |it| &it["spec"]["kubernetes"]["version"], json!("1.34.5")),
        // The last two, because Gardener itself changes the Shoot from here on.
        row(json!({"enableKubernetesVersionAutoUpdate": true}), |it| &updates(it)["kubernetesVersion"], json!(true)),
        row(
            json!({"enableMachineImageVersionAutoUpdate": true}),
            |it| &updates(it)["machineImageVersion"],
            json!(true),
        ),
    ]
}

#[test]
fn every_field_of_the_contract_has_a_row_or_a_reason_to_have_none() {
    let schema = include_str!("../../../../slipway-provisioner/schema.graphql");
    let input = schema.split("input GardenerUpgradeInput {").nth(1).and_then(|rest| rest.split('}').next());
    let field = |line: &str| line.rsplit_once(':').and_then(|(head, _)| head.rsplit(' ').next()).map(str::to_owned);
    let wanted: BTreeSet<String> = input.expect("the input type").lines().filter_map(field).collect();
    assert!(wanted.len() > 20, "{wanted:?}");
    let mut found: BTreeSet<String> = WITHOUT_ROW.iter().map(|(field, _)| (*field).to_owned()).collect();
    found.extend(rows().iter().flat_map(|row| row.change.as_object().expect("fields").keys().cloned()));
    assert_eq!(found, wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_field_that_can_change_arrives_in_the_shoot() {
    let world = World::start(Options::for_tests()).await;
    let new = gcp("shop")
        .with("kubernetesVersion", json!("1.33.9"))
        .with("machineImage", json!("gardenlinux"))
        .with("machineImageVersion", json!("1877.8.0"))
        .with("providerSpecificConfig", json!({"gcpConfig": {"zones": ["europe-west3-a"]}}));
    let shop = world.provision(new).await;
    shop.until_ready().await;
    let uid = shop.shoot().expect("a Shoot")["metadata"]["uid"].clone();
    for Row { change, look, arrives } in rows() {
        assert_ne!(*look(&shop.shoot().expect("a Shoot")), arrives, "{change}: the row changes nothing");
        shop.upgrade(change.clone()).await.until_succeeded().await;
        let shoot = shop.shoot().expect("a Shoot");
        assert_eq!(*look(&shoot), arrives, "{change} did not arrive");
        assert_eq!(shoot["status"]["observedGeneration"], shoot["metadata"]["generation"], "{change}: told too early");
    }
    assert_eq!(shop.shoot().expect("a Shoot")["metadata"]["uid"], uid, "the Shoot was made anew");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_come_in_arrives_in_the_cluster() {
    let world = World::start(Options::for_tests()).await;
    let shop = world.provision(gcp("shop")).await;
    shop.until_ready().await;
    let inside = shop.inside().expect("a cluster");
    let issuer = "https://people.example.com";
    let oidc = json!({"clientID": "c", "groupsClaim": "groups", "issuerURL": issuer, "signingAlgs": ["RS256"],
        "usernameClaim": "sub", "usernamePrefix": "-"});
    shop.upgrade(json!({ "oidcConfig": oidc })).await.until_succeeded().await;
    let logins = inside.list("authentication.gardener.cloud", "openidconnects", "");
    assert!(logins.iter().any(|login| login["spec"]["issuerURL"] == issuer), "{logins:?}");

    shop.set_administrators(&["eve@example.com"]).await.until_succeeded().await;
    let bindings = inside.list("rbac.authorization.k8s.io", "clusterrolebindings", "");
    let may = |person: &str| bindings.iter().any(|binding| binding["subjects"][0]["name"] == person);
    assert!(may("eve@example.com") && !may("ann@example.com"), "{bindings:?}");
}
