//! A cluster sleeps and wakes up.

use serde_json::{Value, json};
use slipway_sandbox::{
    Options, World,
    world::{LiveCluster, gcp},
};

fn sleeps(cluster: &LiveCluster<'_>) -> (Value, Value) {
    let shoot = cluster.shoot().expect("a Shoot");
    (shoot["spec"]["hibernation"]["enabled"].clone(), shoot["status"]["hibernated"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_sleeps_and_wakes_up() {
    let world = World::start(Options::for_tests()).await;
    let shop = world.provision(gcp("shop")).await;
    shop.until_ready().await;
    shop.hibernate().await.until_succeeded().await;
    assert_eq!(sleeps(&shop), (json!(true), json!(true)));
    assert_eq!(shop.status().await.hibernation_status.and_then(|status| status.hibernated), Some(true));

    shop.wake_up().await.until_succeeded().await;
    assert_eq!(sleeps(&shop), (json!(false), json!(false)));
    assert_eq!(shop.status().await.hibernation_status.and_then(|status| status.hibernated), Some(false));
    shop.client().await.apiserver_version().await.expect("it answers again");
}
