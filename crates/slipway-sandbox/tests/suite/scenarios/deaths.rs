//! Our own services die in the middle of their work, and the cluster is made, changed and removed all the same.

use serde_json::json;
use slipway_sandbox::{
    Options, World,
    world::{Pace, gcp},
};

/// A garden slow enough to die in the middle of what it does: a cluster takes about two seconds.
fn slowly() -> Options {
    Options { pace: Pace::Scale(240.0), ..Options::for_tests() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provisioner_that_dies_in_the_middle_goes_on_after_its_restart() {
    let world = World::start(slowly()).await;
    let shop = world.provision(gcp("shop")).await;
    world.until("the Runtime is written", async || shop.runtime()).await;
    world.kill_provisioner().await;
    // Nobody is needed to make the cluster, only to tell of it.
    let uid = world.until("the Shoot is asked for", async || shop.shoot()).await["metadata"]["uid"].clone();
    world.start_provisioner().await.expect("another provisioner");
    shop.until_ready().await;
    assert_eq!(world.systems().director.runtimes().len(), 1, "registered once");

    let removal = shop.deprovision().await;
    world.kill_provisioner().await;
    assert_eq!(shop.shoot().map(|shoot| shoot["metadata"]["uid"].clone()).unwrap_or(uid.clone()), uid, "made once");
    world.start_provisioner().await.expect("another provisioner");
    removal.until_succeeded().await;
    assert!(shop.shoot().is_none() && shop.runtime().is_none() && !shop.is_registered());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_dies_in_the_middle_goes_on_after_its_restart() {
    let world = World::start(slowly()).await;
    let shop = world.provision(gcp("shop")).await;
    let begun = |state: &str| {
        let shoot = shop.shoot().filter(|shoot| shoot["status"]["lastOperation"]["type"] == state)?;
        Some(shoot["metadata"]["uid"].clone())
    };
    let uid = world.until("the Shoot is being made", async || begun("Create")).await;
    world.kill_manager().await;
    world
        .until("Gardener has made it", async || {
            shop.shoot().filter(|shoot| shoot["status"]["lastOperation"]["state"] == "Succeeded")
        })
        .await;
    assert_ne!(shop.runtime().expect("a Runtime")["status"]["state"], "Ready", "nobody was there to say so");
    world.start_manager().await.expect("another manager");
    shop.until_ready().await;

    world.stop_manager().await;
    let change = shop.upgrade(json!({"autoScalerMax": 9})).await;
    world.start_manager().await.expect("another manager");
    change.until_succeeded().await;
    let shoot = shop.shoot().expect("a Shoot");
    assert_eq!(shoot["spec"]["provider"]["workers"][0]["maximum"], 9);
    assert_eq!(shoot["metadata"]["uid"], uid, "the Shoot of the first manager");

    let removal = shop.deprovision().await;
    world.until("the Shoot is going", async || begun("Delete")).await;
    world.kill_manager().await;
    world.start_manager().await.expect("another manager");
    removal.until_succeeded().await;
    assert!(shop.shoot().is_none() && shop.runtime().is_none() && !shop.is_registered());
}
