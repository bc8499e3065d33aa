//! `upgradeShoot`, field by field of its table: what was asked for stands in the Shoot.

use serde_json::{Value, json};
use slipway_sandbox::{Options, World, world::gcp};

/// A field of `upgradeShoot`, a value that the garden takes, where it must stand in the Shoot, and as what.
struct Row(&'static str, Value, &'static str, Value);

fn rows() -> Vec<Row> {
    let same = |field, value: Value, path| Row(field, value.clone(), path, value);
    let worker = "/spec/provider/workers/0";
    let at = |path: &str| -> &'static str { Box::leak(format!("{worker}/{path}").into_boxed_str()) };
    vec![
        same("machineType", json!("n2-standard-2"), at("machine/type")),
        Row("volumeSizeGB", json!(80), at("volume/size"), json!("80Gi")),
        same("autoScalerMax", json!(9), at("maximum")),
        same("autoScalerMin", json!(4), at("minimum")),
        same("maxSurge", json!(7), at("maxSurge")),
        same("maxUnavailable", json!(2), at("maxUnavailable")),
        same("machineImageVersion", json!("1877.9.0"), at("machine/image/version")),
        same("purpose", json!("production"), "/spec/purpose"),
        same("enableKubernetesVersionAutoUpdate", json!(true), "/spec/maintenance/autoUpdate/kubernetesVersion"),
        same("enableMachineImageVersionAutoUpdate", json!(true), "/spec/maintenance/autoUpdate/machineImageVersion"),
        same("kubernetesVersion", json!("1.34.5"), "/spec/kubernetes/version"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_field_that_can_change_arrives_in_the_shoot() {
    let world = World::start(Options::for_tests()).await;
    let new = gcp("shop").with("kubernetesVersion", json!("1.33.9")).with("machineImageVersion", json!("1877.8.0"));
    let shop = world.provision(new.with("machineImage", json!("gardenlinux"))).await;
    shop.until_ready().await;
    let uid = shop.shoot().expect("a Shoot")["metadata"]["uid"].clone();
    for Row(field, value, path, arrives) in rows() {
        let before = shop.shoot().expect("a Shoot").pointer(path).cloned();
        assert_ne!(before.as_ref(), Some(&arrives), "{field}: the row changes nothing");
        shop.upgrade(json!({ field: value })).await.until_succeeded().await;
        let shoot = shop.shoot().expect("a Shoot");
        assert_eq!(shoot.pointer(path), Some(&arrives), "{field} did not arrive at {path}");
        assert_eq!(shoot["status"]["lastOperation"]["state"], "Succeeded", "{field}");
        assert_eq!(shoot["status"]["observedGeneration"], shoot["metadata"]["generation"], "{field}: told too early");
    }
    assert_eq!(shop.shoot().expect("a Shoot")["metadata"]["uid"], uid, "the Shoot was made anew");
}
